package ipvs

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"service-dataplane/pkg/collect"
)

// DummyDevice carries every virtual address that no other interface has.
const DummyDevice = "kube-ipvs0"

// role is what a virtual service implements, which /proc/net/ip_vs does not say.
type role struct {
	kind       collect.FrontendKind
	policy     collect.Policy
	masquerade collect.Masquerade
}

// roles knows what kube-proxy says of its virtual services elsewhere.
type roles struct {
	// sets are the members of kube-proxy's sets of frontends, by set name.
	sets map[string]map[member]bool
	// dummy holds the addresses of DummyDevice; nil where it was not read.
	dummy map[netip.Addr]bool
}

// Sets of frontends (pkg/proxy/ipvs/ipset.go in Kubernetes 1.35). The sets of
// node ports are one a protocol; SCTP's holds addresses as well.
const (
	clusterIPSet         = "KUBE-CLUSTER-IP"
	loadBalancerSet      = "KUBE-LOAD-BALANCER"
	loadBalancerLocalSet = "KUBE-LOAD-BALANCER-LOCAL"
	externalIPSet        = "KUBE-EXTERNAL-IP"
	externalIPLocalSet   = "KUBE-EXTERNAL-IP-LOCAL"
	nodePortSet          = "KUBE-NODE-PORT-"
	nodePortLocalSet     = "KUBE-NODE-PORT-LOCAL-"
)

func newRoles(ipset, dummyAddrs []byte) (roles, error) {
	all, err := Sets(ipset)
	if err != nil {
		return roles{}, err
	}
	bases := []string{clusterIPSet, loadBalancerSet, loadBalancerLocalSet, externalIPSet, externalIPLocalSet}
	for _, suffix := range []string{"TCP", "UDP", "SCTP-HASH"} {
		bases = append(bases, nodePortSet+suffix, nodePortLocalSet+suffix)
	}
	r := roles{sets: map[string]map[member]bool{}}
	for _, base := range bases {
		for _, ipv6 := range []bool{false, true} {
			set, made := all[setName(base, ipv6)]
			if !made {
				continue
			}
			if r.sets[set.Name], err = set.members(); err != nil {
				return roles{}, err
			}
		}
	}
	addresses, err := Addresses(dummyAddrs)
	if addresses != nil {
		r.dummy = make(map[netip.Addr]bool, len(addresses))
	}
	for _, a := range addresses {
		r.dummy[a] = true
	}
	return r, err
}

// of says what a virtual service implements; false where nothing tells, or where
// no Service can have its protocol.
//
// Policy and masquerade repeat what the rules that match the sets do
// (writeIptablesRules in pkg/proxy/ipvs/proxier.go, Kubernetes 1.35): members
// of KUBE-LOAD-BALANCER, KUBE-EXTERNAL-IP and the node port sets are marked,
// unless a LOCAL set takes them out first.
//
// Members of KUBE-CLUSTER-IP are marked for sources outside the pod network, the
// one of three rules kube-proxy writes when it knows that network; told to
// masquerade all, it marks every source. Only iptables says which it wrote. No
// set tells internalTrafficPolicy: a ClusterIP is reported with PolicyCluster,
// and its backends are the local ones where the policy is local.
//
// Without the sets the dummy device tells node ports from virtual addresses,
// external ones included, and policy and masquerade stay empty.
func (r roles) of(service VirtualService) (role, bool) {
	switch service.Protocol {
	case "TCP", "UDP", "SCTP":
	default:
		return role{}, false
	}
	address := service.Address.Addr()
	full := member{address: address, port: service.Address.Port(), protocol: service.Protocol}
	in := func(base string, m member) bool { return r.sets[setName(base, address.Is6())][m] }

	if r.sets[setName(clusterIPSet, address.Is6())] == nil {
		switch {
		case r.dummy == nil:
			return role{}, false
		case r.dummy[address]:
			return role{kind: collect.ClusterIP}, true
		}
		return role{kind: collect.NodePort}, true
	}
	switch {
	case in(clusterIPSet, full):
		return role{collect.ClusterIP, collect.PolicyCluster, collect.MasqueradeOffCluster}, true
	case in(loadBalancerSet, full):
		return external(collect.LoadBalancer, in(loadBalancerLocalSet, full)), true
	case in(externalIPSet, full):
		return external(collect.ExternalIP, false), true
	case in(externalIPLocalSet, full):
		return external(collect.ExternalIP, true), true
	}
	suffix, port := service.Protocol, member{port: full.port}
	if service.Protocol == "SCTP" {
		suffix, port = "SCTP-HASH", full
	}
	if in(nodePortSet+suffix, port) {
		return external(collect.NodePort, in(nodePortLocalSet+suffix, port)), true
	}
	return role{}, false
}

func external(kind collect.FrontendKind, local bool) role {
	if local {
		return role{kind, collect.PolicyLocal, collect.MasqueradeNever}
	}
	return role{kind, collect.PolicyCluster, collect.MasqueradeAlways}
}

// setName is a set's name in one address family. The kernel takes 31
// characters, and kube-proxy cuts what its IPv6 prefix makes longer.
func setName(base string, ipv6 bool) string {
	if !ipv6 {
		return base
	}
	name := "KUBE-6-" + strings.TrimPrefix(base, "KUBE-")
	return name[:min(len(name), 31)]
}

// Addresses reads the output of "ip -j addr show dev kube-ipvs0" (iproute2): the
// addresses of DummyDevice in the order of the device. It is nil where there is no
// output, and an error says that the output is no such list.
func Addresses(raw []byte) ([]netip.Addr, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var devices []struct {
		Name      string `json:"ifname"`
		Addresses []struct {
			Local netip.Addr `json:"local"`
		} `json:"addr_info"`
	}
	if err := json.Unmarshal(raw, &devices); err != nil {
		return nil, fmt.Errorf("%s: %w", DummyFile, err)
	}
	addresses := []netip.Addr{}
	for _, device := range devices {
		if device.Name != DummyDevice {
			continue
		}
		for _, a := range device.Addresses {
			addresses = append(addresses, a.Local)
		}
	}
	return addresses, nil
}
