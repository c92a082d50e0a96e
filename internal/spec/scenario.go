package spec

import (
	"slices"
	"strconv"
)

// APIVersion of scenario and experiment files.
const APIVersion = "service-dataplane/v1alpha1"

// Scenario is one data plane under test: how to make it, what must be seen
// and what must not. It is a file of scenarios/.
type Scenario struct {
	APIVersion string       `yaml:"apiVersion" json:"apiVersion"`
	Kind       string       `yaml:"kind" json:"kind"`
	Metadata   Metadata     `yaml:"metadata" json:"metadata"`
	Spec       ScenarioSpec `yaml:"spec" json:"spec"`
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
	// Requires lists kernel features the host must have (see package host).
	Requires []string    `yaml:"requires" json:"requires"`
	Expect   Expectation `yaml:"expect" json:"expect"`
}

// ClusterSpec is how the three-node cluster is made.
type ClusterSpec struct {
	// KubeProxyMode as kind spells it: iptables, nftables, ipvs, none.
	KubeProxyMode string `yaml:"kubeProxyMode" json:"kubeProxyMode"`
	PodSubnet     string `yaml:"podSubnet" json:"podSubnet"`
	ServiceSubnet string `yaml:"serviceSubnet" json:"serviceSubnet"`
	// CNI is the pod network: ptp for the plugin of that name and a route
	// for each other node's pods.
	CNI string `yaml:"cni" json:"cni"`
	// KubeadmConfigPatches are merged into kubeadm's configuration.
	KubeadmConfigPatches []string `yaml:"kubeadmConfigPatches,omitempty" json:"kubeadmConfigPatches,omitempty"`
}

// Expectation is what a run of the scenario has to show.
type Expectation struct {
	// Mode is kube-proxy's mode: in its ConfigMap, at /proxyMode of every
	// node, and in its log.
	Mode string `yaml:"mode" json:"mode"`
	// Encoding is the kernel encoding that must hold the service table.
	Encoding string `yaml:"encoding" json:"encoding"`
	// Forbidden encodings must hold no Service on any node.
	Forbidden []string `yaml:"forbidden" json:"forbidden"`
	// Selection is how backends are chosen: random or round-robin.
	Selection string `yaml:"selection" json:"selection"`
	Source    Source `yaml:"source" json:"source"`
}

// Source is whose address a backend must see, by the kind of entry point:
// client (the prober's own address) or entry-node (any address of the node
// whose NodePort was dialled).
type Source struct {
	ClusterIP string `yaml:"clusterIP" json:"clusterIP"`
	NodePort  string `yaml:"nodePort" json:"nodePort"`
}

// Whose source address a backend sees.
const (
	SourceClient    = "client"
	SourceEntryNode = "entry-node"
)

// LoadScenario reads one scenario file. features are the kernel features that
// can be required.
func LoadScenario(file string, features []string) (Scenario, error) {
	var s Scenario
	err := load(file, &s, func(v *validation) { s.check(v, features) })
	return s, err
}

func (s *Scenario) check(v *validation, features []string) {
	v.header(s.APIVersion, s.Kind, "Scenario", s.Metadata)
	c := s.Spec.Cluster
	v.oneOf(c.KubeProxyMode, []string{"iptables", "nftables", "ipvs"}, "spec", "cluster", "kubeProxyMode")
	v.subnet(c.PodSubnet, "spec", "cluster", "podSubnet")
	v.subnet(c.ServiceSubnet, "spec", "cluster", "serviceSubnet")
	v.disjoint(c.PodSubnet, c.ServiceSubnet, "spec", "cluster", "serviceSubnet")
	v.oneOf(c.CNI, []string{"ptp"}, "spec", "cluster", "cni")
	v.set(s.Spec.Requires, features, "spec", "requires")
	e := s.Spec.Expect
	encodings := []string{"iptables", "nftables", "ipvs"}
	v.oneOf(e.Mode, encodings, "spec", "expect", "mode")
	v.oneOf(e.Encoding, encodings, "spec", "expect", "encoding")
	v.set(e.Forbidden, encodings, "spec", "expect", "forbidden")
	if i := slices.Index(e.Forbidden, e.Encoding); i >= 0 && e.Encoding != "" {
		v.fault("is expected and forbidden at once", e.Encoding, "spec", "expect", "forbidden", strconv.Itoa(i))
	}
	v.oneOf(e.Selection, []string{"random", "round-robin"}, "spec", "expect", "selection")
	sources := []string{SourceClient, SourceEntryNode}
	v.oneOf(e.Source.ClusterIP, sources, "spec", "expect", "source", "clusterIP")
	v.oneOf(e.Source.NodePort, sources, "spec", "expect", "source", "nodePort")
}
