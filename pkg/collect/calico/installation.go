package calico

import (
	"net/netip"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// Installation is what the Tigera operator is asked to install. The operator writes
// its defaults into the spec; a value is empty before.
type Installation struct {
	// Dataplane is "BPF", "Iptables", "Nftables" or "VPP".
	Dataplane string
	// Bootstrap is "Enabled" where the operator tells calico-node how to reach the
	// API server without kube-proxy, else "Disabled".
	Bootstrap string
	// KubeProxyManagement is "Enabled" where the operator takes kube-proxy off the
	// nodes, else "Disabled".
	KubeProxyManagement string
	// Pools in the order of the object.
	Pools []Pool
	// Version of Calico ("v3.31.7") that is installed: of the status, empty until
	// the operator is done for the first time.
	Version string
	Lines   InstallationLines
}

// InstallationLines say where a value stands.
type InstallationLines struct {
	Dataplane, Bootstrap, KubeProxyManagement, Version collect.Line
}

// Pool is an IP pool.
type Pool struct {
	// Name is empty until the operator gives one.
	Name string
	CIDR netip.Prefix
	// Encapsulation is "VXLAN", "IPIP", "VXLANCrossSubnet", "IPIPCrossSubnet" or
	// "None".
	Encapsulation string
	// Line of the CIDR.
	Line collect.Line
}

// DecodeInstallation reads the output of `kubectl get installation default -o json`
// (Tigera operator v1.40, api/v1/installation_types.go). An error names the line.
func DecodeInstallation(raw []byte) (Installation, error) {
	o := readObject("Installation", raw)
	var i Installation
	i.Dataplane, i.Lines.Dataplane = o.text("spec", "calicoNetwork", "linuxDataplane")
	i.Bootstrap, i.Lines.Bootstrap = o.text("spec", "calicoNetwork", "bpfNetworkBootstrap")
	i.KubeProxyManagement, i.Lines.KubeProxyManagement = o.text("spec", "calicoNetwork", "kubeProxyManagement")
	i.Version, i.Lines.Version = o.text("status", "calicoVersion")
	for _, item := range o.items("spec", "calicoNetwork", "ipPools") {
		pool, err := parsePool(item)
		o.keep(err)
		i.Pools = append(i.Pools, pool)
	}
	if o.err != nil {
		return Installation{}, o.err
	}
	return i, nil
}

func parsePool(item jsonlines.Value) (Pool, error) {
	var p struct {
		Name          string `json:"name"`
		CIDR          string `json:"cidr"`
		Encapsulation string `json:"encapsulation"`
	}
	if err := item.Decode(&p); err != nil {
		return Pool{}, err
	}
	pool := Pool{
		Name:          p.Name,
		Encapsulation: p.Encapsulation,
		Line:          collect.Line{Number: item.LineOf("cidr"), Text: "spec.calicoNetwork.ipPools.cidr: " + p.CIDR},
	}
	var err error
	if pool.CIDR, err = netip.ParsePrefix(p.CIDR); err != nil {
		return Pool{}, item.Errorf("cidr: %w", err)
	}
	return pool, nil
}
