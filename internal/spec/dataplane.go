package spec

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
)

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
