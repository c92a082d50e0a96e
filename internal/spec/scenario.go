package spec

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
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
	// Variants are further scenarios of the same file.
	Variants []Variant `yaml:"variants,omitempty" json:"variants,omitempty"`
}

// Variant is a scenario that differs from its file's in some fields.
type Variant struct {
	// Metadata names it: the file's name, a dash and more.
	Metadata Metadata `yaml:"metadata" json:"metadata"`
	// Spec has the fields that differ. Lists take the place of the file's,
	// fields within fields are merged.
	Spec ScenarioSpec `yaml:"spec" json:"spec"`
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
	PodSubnet     string `yaml:"podSubnet" json:"podSubnet"`
	ServiceSubnet string `yaml:"serviceSubnet" json:"serviceSubnet"`
	// CNI is the pod network: ptp for the plugin of that name and a route
	// for each other node's pods, or the data plane that brings its own.
	CNI string `yaml:"cni" json:"cni"`
	// KubeadmConfigPatches are merged into kubeadm's configuration.
	KubeadmConfigPatches []string `yaml:"kubeadmConfigPatches,omitempty" json:"kubeadmConfigPatches,omitempty"`
}

// DataPlane is what is installed into the cluster beside kube-proxy, or in
// its place.
type DataPlane struct {
	Cilium *Cilium `yaml:"cilium,omitempty" json:"cilium,omitempty"`
	Calico *Calico `yaml:"calico,omitempty" json:"calico,omitempty"`
}

// The charts that data planes are installed with, as charts/lock.yaml names
// them.
const (
	CiliumChart = "cilium"
	CalicoChart = "tigera-operator"
)

// Chart names the chart to install and its version; both are "" where
// kube-proxy is the data plane.
func (d DataPlane) Chart() (name, version string) {
	switch {
	case d.Cilium != nil:
		return CiliumChart, d.Cilium.Version
	case d.Calico != nil:
		return CalicoChart, d.Calico.Version
	}
	return "", ""
}

// Cilium is an installation of its Helm chart.
type Cilium struct {
	// Version of chart and images, one that charts/lock.yaml pins.
	Version string `yaml:"version" json:"version"`
	// Values of the chart. Addresses, images and capabilities that depend on
	// cluster and host are added when it is installed.
	Values map[string]any `yaml:"values" json:"values"`
}

// KubeProxyReplacement says whether the values make Cilium implement Services.
func (c *Cilium) KubeProxyReplacement() bool {
	value := c.Values["kubeProxyReplacement"]
	return value == true || value == "true"
}

// Calico is an installation of the Tigera operator's chart.
type Calico struct {
	// Version of Calico and of the chart, one that charts/lock.yaml pins.
	Version string `yaml:"version" json:"version"`
	// Values of the chart. Their installation is the spec of the object that the
	// operator acts on.
	Values map[string]any `yaml:"values" json:"values"`
}

// KubeProxyReplacement says whether the values make Calico implement Services.
func (c *Calico) KubeProxyReplacement() bool {
	return c.network()["linuxDataplane"] == "BPF"
}

// network is installation.calicoNetwork of the values.
func (c *Calico) network() map[string]any {
	installation, _ := c.Values["installation"].(map[string]any)
	network, _ := installation["calicoNetwork"].(map[string]any)
	return network
}

// Pools are the subnets of the IP pools, in the order of the values.
func (c *Calico) Pools() []string {
	var cidrs []string
	pools, _ := c.network()["ipPools"].([]any)
	for _, pool := range pools {
		fields, _ := pool.(map[string]any)
		cidrs = append(cidrs, textOf(fields["cidr"]))
	}
	return cidrs
}

// textOf is a chart's value as it stands in a file, "" where there is none.
func textOf(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// Expectation is what a run of the scenario has to show.
type Expectation struct {
	// Mode is what implements Services: a mode of kube-proxy, cilium or calico.
	Mode string `yaml:"mode" json:"mode"`
	// Encoding is the kernel encoding that must hold the service table.
	Encoding string `yaml:"encoding" json:"encoding"`
	// Forbidden encodings must hold no Service on any node.
	Forbidden []string `yaml:"forbidden" json:"forbidden"`
	// Selection is how backends are chosen: random or round-robin.
	Selection   string      `yaml:"selection" json:"selection"`
	Source      Source      `yaml:"source" json:"source"`
	Translation Translation `yaml:"translation" json:"translation"`
}

// Source is whose address a backend must see, by the kind of entry point.
type Source struct {
	ClusterIP string `yaml:"clusterIP" json:"clusterIP"`
	NodePort  string `yaml:"nodePort" json:"nodePort"`
	// NodePortFromHost is for connections from outside of the cluster, where
	// they differ from those of a pod.
	NodePortFromHost string `yaml:"nodePortFromHost,omitempty" json:"nodePortFromHost,omitempty"`
}

// Whose source address a backend sees.
const (
	// SourceClient is the prober's own address.
	SourceClient = "client"
	// SourceEntryNode is any address of the node whose NodePort was dialled.
	SourceEntryNode = "entry-node"
	// SourceEntryNodeIfRemote is the prober's own address where the backend is
	// on the node whose NodePort was dialled, an address of that node if not.
	SourceEntryNodeIfRemote = "entry-node-if-remote"
)

// Translation is where the address that a pod dials becomes a backend's, by
// the kind of entry point. Connections from outside of the nodes' cgroups are
// never translated at the socket.
type Translation struct {
	ClusterIP string `yaml:"clusterIP" json:"clusterIP"`
	NodePort  string `yaml:"nodePort" json:"nodePort"`
	// Peername is what getpeername() tells the application of a connection that
	// was translated at the socket: the address it dialled, unless it says
	// backend.
	Peername string `yaml:"peername,omitempty" json:"peername,omitempty"`
}

// Where a connection is translated.
const (
	// TranslatedAtSocket: connect() is given another address, and no packet
	// ever carries the dialled one.
	TranslatedAtSocket = "socket"
	// TranslatedInPacket: packets carry the dialled address until a DNAT.
	TranslatedInPacket = "packet"
)

// What getpeername() tells of a connection that was translated at the socket.
const (
	PeernameDialled = "dialled"
	PeernameBackend = "backend"
)

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

// variants checks each variant as the scenario it is: the file's tree with the
// variant's fields laid over it. A mistake keeps the line of its field.
func (s *Scenario) variants(v *validation, known Known) []Scenario {
	list, exact := v.at("variants")
	if !exact {
		return nil
	}
	var all []Scenario
	names := map[string]bool{}
	for i, variant := range s.Variants {
		own, exact := v.at("variants", strconv.Itoa(i))
		if !exact || list.Kind != yaml.SequenceNode {
			continue
		}
		whole := &validation{fileName: variant.Metadata.Name, root: overlay(v.root, own), mistyped: v.mistyped, incomplete: v.incomplete}
		name := variant.Metadata.Name
		switch {
		case name != "" && !strings.HasPrefix(name, s.Metadata.Name+"-"):
			v.fault("does not begin with "+s.Metadata.Name+"-", name, "variants", strconv.Itoa(i), "metadata", "name")
		case names[name]:
			v.fault("is there twice", name, "variants", strconv.Itoa(i), "metadata", "name")
		}
		names[name] = true
		var merged Scenario
		if err := whole.root.Decode(&merged); err != nil {
			continue // a type that the strict decoder has named already
		}
		merged.Variants = nil
		merged.check(whole, known)
		v.faults = append(v.faults, whole.faults...)
		all = append(all, merged)
	}
	return all
}

// overlay returns a mapping with the fields of over laid on those of base.
func overlay(base, over *yaml.Node) *yaml.Node {
	if base.Kind == yaml.AliasNode {
		base = base.Alias
	}
	if over.Kind == yaml.AliasNode {
		over = over.Alias
	}
	if base.Kind != yaml.MappingNode || over.Kind != yaml.MappingNode {
		return over
	}
	merged := *base
	merged.Content = slices.Clone(base.Content)
	merged.Line = over.Line // where what is missing is missing
	fields := fieldsOf(over)
	for i := 0; i+1 < len(fields); i += 2 {
		key, value := fields[i], fields[i+1]
		at := -1
		for j := 0; j+1 < len(merged.Content); j += 2 {
			if merged.Content[j].Value == key.Value {
				at = j
			}
		}
		if at < 0 {
			merged.Content = append(merged.Content, key, value)
			continue
		}
		merged.Content[at], merged.Content[at+1] = key, overlay(merged.Content[at+1], value)
	}
	return &merged
}

// fieldsOf are the keys and values of a mapping, those that it merges in (<<)
// before its own, so that what stands later wins.
func fieldsOf(mapping *yaml.Node) []*yaml.Node {
	if mapping.Kind == yaml.AliasNode {
		mapping = mapping.Alias
	}
	var merged, own []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		switch {
		case key.Tag != "!!merge":
			own = append(own, key, value)
		case value.Kind == yaml.SequenceNode:
			// The first of several wins.
			for _, one := range slices.Backward(value.Content) {
				merged = append(merged, fieldsOf(one)...)
			}
		default:
			merged = append(merged, fieldsOf(value)...)
		}
	}
	return append(merged, own...)
}

func (s *Scenario) check(v *validation, known Known) {
	v.header(s.APIVersion, s.Kind, "Scenario", s.Metadata)
	c := s.Spec.Cluster
	v.oneOf(c.KubeProxyMode, []string{"iptables", "nftables", "ipvs", "none"}, "spec", "cluster", "kubeProxyMode")
	v.subnet(c.PodSubnet, "spec", "cluster", "podSubnet")
	v.subnet(c.ServiceSubnet, "spec", "cluster", "serviceSubnet")
	v.disjoint(c.PodSubnet, c.ServiceSubnet, "spec", "cluster", "serviceSubnet")
	v.oneOf(c.CNI, []string{"ptp", "cilium", "calico"}, "spec", "cluster", "cni")
	s.checkDataPlane(v, known)
	v.set(s.Spec.Requires, known.Features, "spec", "requires")
	s.Spec.Expect.check(v)
}

// replacementSpelling is what the values of kubeProxyReplacement up to Cilium
// 1.13 are called since (Documentation/operations/upgrade.rst of Cilium 1.14).
var replacementSpelling = map[string]string{
	"strict":   "true",
	"probe":    "true, where the kernel has what it needs",
	"partial":  "false, with the features wanted (nodePort.enabled, socketLB.enabled, …)",
	"disabled": "false",
}

func (s *Scenario) checkDataPlane(v *validation, known Known) {
	plane, cluster := s.Spec.DataPlane, s.Spec.Cluster
	brought := map[string]bool{"cilium": plane.Cilium != nil, "calico": plane.Calico != nil}
	if there, needed := brought[cluster.CNI]; needed && !there {
		v.fault("is not installed: spec.dataPlane has no "+cluster.CNI, cluster.CNI, "spec", "cluster", "cni")
	}
	if there, needed := brought[s.Spec.Expect.Mode]; needed && !there {
		v.fault("is not installed: spec.dataPlane has no "+s.Spec.Expect.Mode, s.Spec.Expect.Mode, "spec", "expect", "mode")
	}
	switch {
	case plane.Cilium != nil && plane.Calico != nil:
		v.fault("has two pod networks: want cilium or calico", "", "spec", "dataPlane")
	case plane.Calico != nil && cluster.KubeProxyMode == "none":
		v.fault("leaves nothing that implements Services before Calico does; want the kube-proxy that its operator then takes off the nodes", cluster.KubeProxyMode, "spec", "cluster", "kubeProxyMode")
	case plane.Cilium == nil && cluster.KubeProxyMode == "none":
		v.fault("leaves nothing that implements Services", cluster.KubeProxyMode, "spec", "cluster", "kubeProxyMode")
	}
	if plane.Cilium != nil {
		s.checkCilium(v, known)
	}
	if plane.Calico != nil {
		s.checkCalico(v, known)
	}
}

// ownNetwork says that a data plane with a pod network is the cluster's only one.
func (s *Scenario) ownNetwork(v *validation, name string) {
	if cni := s.Spec.Cluster.CNI; cni == "ptp" {
		v.fault("would be a second pod network beside the data plane's; want "+name, cni, "spec", "cluster", "cni")
	}
}

func (s *Scenario) checkCilium(v *validation, known Known) {
	cilium, cluster := s.Spec.DataPlane.Cilium, s.Spec.Cluster
	at := []string{"spec", "dataPlane", "cilium"}
	v.oneOf(cilium.Version, known.Charts.Versions(CiliumChart), append(at, "version")...)
	s.ownNetwork(v, "cilium")
	field := append(at, "values", "kubeProxyReplacement")
	switch value := cilium.Values["kubeProxyReplacement"]; {
	case value == nil:
		v.fault("is missing; want true or false", "", field...)
	case value == true || value == "true" || value == false || value == "false":
		if cilium.KubeProxyReplacement() && cluster.KubeProxyMode != "none" && cluster.KubeProxyMode != "" {
			v.fault("and a kube-proxy in mode "+cluster.KubeProxyMode+" would both implement Services; want kubeProxyMode: none", "true", field...)
		}
		if !cilium.KubeProxyReplacement() && cluster.KubeProxyMode == "none" {
			v.fault("and kubeProxyMode none leave nothing that implements Services", "false", field...)
		}
	default:
		text := "is neither true nor false"
		if spelling := replacementSpelling[fmt.Sprint(value)]; spelling != "" {
			text = "is a value of Cilium 1.13 and older; since 1.14 it is " + spelling
		}
		v.fault(text, fmt.Sprint(value), field...)
	}
}

// checkCalico finds what the Tigera operator would only refuse in a cluster: the
// API server takes any pool.
func (s *Scenario) checkCalico(v *validation, known Known) {
	calico, cluster := s.Spec.DataPlane.Calico, s.Spec.Cluster
	at := func(path ...string) []string { return append([]string{"spec", "dataPlane", "calico"}, path...) }
	network := func(path ...string) []string { return append(at("values", "installation", "calicoNetwork"), path...) }
	v.oneOf(calico.Version, known.Charts.Versions(CalicoChart), at("version")...)
	s.ownNetwork(v, "calico")
	planes := []string{"BPF", "Iptables", "Nftables"}
	plane := textOf(calico.network()["linuxDataplane"])
	v.oneOf(plane, planes, network("linuxDataplane")...)
	if s.Spec.Expect.Mode == "calico" && !calico.KubeProxyReplacement() && slices.Contains(planes, plane) {
		v.fault("leaves Services to kube-proxy, and spec.expect.mode is calico; want BPF", plane, network("linuxDataplane")...)
	}
	if calico.KubeProxyReplacement() {
		// The operator takes kube-proxy off the nodes, and tells Calico where the
		// API server is before it does.
		for _, field := range []string{"bpfNetworkBootstrap", "kubeProxyManagement"} {
			v.oneOf(textOf(calico.network()[field]), []string{"Enabled"}, network(field)...)
		}
	}
	switch pools := calico.network()["ipPools"].(type) {
	case nil: // the operator makes one of the pod subnet
	case []any:
		if len(pools) == 0 {
			v.fault("lists none: the operator makes no pool then, and no pod gets an address", "", network("ipPools")...)
		}
	default:
		v.fault("is no list of pools", textOf(pools), network("ipPools")...)
	}
	pods, err := netip.ParsePrefix(cluster.PodSubnet)
	for i, cidr := range calico.Pools() {
		field := network("ipPools", strconv.Itoa(i), "cidr")
		pool, poolErr := netip.ParsePrefix(cidr)
		v.subnet(cidr, field...)
		if err == nil && poolErr == nil && (!pods.Contains(pool.Addr()) || pool.Bits() < pods.Bits()) {
			v.fault(fmt.Sprintf("is not within spec.cluster.podSubnet %s: the operator refuses an IPPool that is not within the platform's configured pod network CIDR(s)", pods), cidr, field...)
		}
	}
}

func (e Expectation) check(v *validation) {
	planes := []string{"iptables", "nftables", "ipvs", "cilium", "calico"}
	v.oneOf(e.Mode, planes, "spec", "expect", "mode")
	v.oneOf(e.Encoding, planes, "spec", "expect", "encoding")
	v.set(e.Forbidden, planes, "spec", "expect", "forbidden")
	if i := slices.Index(e.Forbidden, e.Encoding); i >= 0 && e.Encoding != "" {
		v.fault("is expected and forbidden at once", e.Encoding, "spec", "expect", "forbidden", strconv.Itoa(i))
	}
	v.oneOf(e.Selection, []string{"random", "round-robin"}, "spec", "expect", "selection")
	sources := []string{SourceClient, SourceEntryNode, SourceEntryNodeIfRemote}
	v.oneOf(e.Source.ClusterIP, sources[:2], "spec", "expect", "source", "clusterIP")
	v.oneOf(e.Source.NodePort, sources, "spec", "expect", "source", "nodePort")
	if e.Source.NodePortFromHost != "" {
		v.oneOf(e.Source.NodePortFromHost, sources, "spec", "expect", "source", "nodePortFromHost")
	}
	places := []string{TranslatedAtSocket, TranslatedInPacket}
	v.oneOf(e.Translation.ClusterIP, places, "spec", "expect", "translation", "clusterIP")
	v.oneOf(e.Translation.NodePort, places, "spec", "expect", "translation", "nodePort")
	if e.Translation.Peername != "" {
		v.oneOf(e.Translation.Peername, []string{PeernameDialled, PeernameBackend}, "spec", "expect", "translation", "peername")
	}
}
