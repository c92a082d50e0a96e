package spec

import "reflect"

// APIVersion of scenario and experiment files.
const APIVersion = "service-dataplane/v1alpha1"

// Scenario is one data plane under test: how to make it, what must be seen
// and what must not. It is a file of scenarios/.
type Scenario struct {
	APIVersion string       `yaml:"apiVersion" json:"apiVersion"`
	Kind       string       `yaml:"kind" json:"kind"`
	Metadata   Metadata     `yaml:"metadata" json:"metadata"`
	Spec       ScenarioSpec `yaml:"spec" json:"spec"`
	// Variants are further scenarios of the same file.
	Variants []Variant `yaml:"variants,omitempty" json:"variants,omitempty"`
}

// Metadata names a file's subject.
type Metadata struct {
	// Name is the file's name without its ending: lower case, digits, dashes.
	Name string `yaml:"name" json:"name"`
	// Title is one line for people.
	Title string `yaml:"title" json:"title"`
}

// ScenarioSpec is the scenario itself.
type ScenarioSpec struct {
	Cluster ClusterSpec `yaml:"cluster" json:"cluster"`
	// DataPlane is installed into the cluster; kube-proxy alone needs none.
	DataPlane DataPlane `yaml:"dataPlane,omitempty" json:"dataPlane,omitzero"`
	// Requires lists kernel features the host must have (see package host).
	Requires []string    `yaml:"requires" json:"requires"`
	Expect   Expectation `yaml:"expect" json:"expect"`
}

// ClusterSpec is how the three-node cluster is made.
type ClusterSpec struct {
	// KubeProxyMode as kind spells it: iptables, nftables, ipvs, none.
	KubeProxyMode string `yaml:"kubeProxyMode" json:"kubeProxyMode"`
	// IPVSScheduler is what chooses a real server: rr, lc or sh; "" leaves it to
	// kube-proxy, which takes rr.
	IPVSScheduler string `yaml:"ipvsScheduler,omitempty" json:"ipvsScheduler,omitempty"`
	PodSubnet     string `yaml:"podSubnet" json:"podSubnet"`
	ServiceSubnet string `yaml:"serviceSubnet" json:"serviceSubnet"`
	// CNI is the pod network: ptp for the plugin of that name and a route
	// for each other node's pods, or the data plane that brings its own.
	CNI string `yaml:"cni" json:"cni"`
	// KubeadmConfigPatches are merged into kubeadm's configuration.
	KubeadmConfigPatches []string `yaml:"kubeadmConfigPatches,omitempty" json:"kubeadmConfigPatches,omitempty"`
}

// SharesCluster says whether kube-proxy, restarted with another scheduler, makes
// of this scenario's cluster the other's.
func (s Scenario) SharesCluster(other Scenario) bool {
	a, b := s.Spec.Cluster, other.Spec.Cluster
	a.IPVSScheduler, b.IPVSScheduler = "", ""
	return a.KubeProxyMode == "ipvs" && reflect.DeepEqual(a, b) && reflect.DeepEqual(s.Spec.DataPlane, other.Spec.DataPlane)
}

// Known is what scenario files may name beside what is in this package.
type Known struct {
	// Features of kernels (see package host).
	Features []string
	// Charts that charts/lock.yaml pins.
	Charts Lock
}

// LoadScenarios reads one scenario file: the scenario itself, and behind it its
// variants, each whole.
func LoadScenarios(file string, known Known) ([]Scenario, error) {
	var s Scenario
	var all []Scenario
	err := load(file, &s, func(v *validation) { all = s.checkAll(v, known) })
	return all, err
}

// checkAll returns the scenario and its variants. A mistake in what they share
// is named once.
func (s *Scenario) checkAll(v *validation, known Known) []Scenario {
	s.check(v, known)
	own := *s
	own.Variants = nil
	all := []Scenario{own}
	if len(v.faults) == 0 {
		all = append(all, s.variants(v, known)...)
	}
	return all
}

func (s *Scenario) check(v *validation, known Known) {
	v.header(s.APIVersion, s.Kind, "Scenario", s.Metadata)
	c := s.Spec.Cluster
	v.oneOf(c.KubeProxyMode, []string{"iptables", "nftables", "ipvs", "none"}, "spec", "cluster", "kubeProxyMode")
	if c.IPVSScheduler != "" {
		v.oneOf(c.IPVSScheduler, []string{"rr", "lc", "sh"}, "spec", "cluster", "ipvsScheduler")
		if c.KubeProxyMode != "ipvs" {
			v.fault("is for kubeProxyMode ipvs", c.IPVSScheduler, "spec", "cluster", "ipvsScheduler")
		}
	}
	v.subnet(c.PodSubnet, "spec", "cluster", "podSubnet")
	v.subnet(c.ServiceSubnet, "spec", "cluster", "serviceSubnet")
	v.disjoint(c.PodSubnet, c.ServiceSubnet, "spec", "cluster", "serviceSubnet")
	v.oneOf(c.CNI, []string{"ptp", "cilium", "calico"}, "spec", "cluster", "cni")
	s.checkDataPlane(v, known)
	v.set(s.Spec.Requires, known.Features, "spec", "requires")
	s.Spec.Expect.check(v)
}
