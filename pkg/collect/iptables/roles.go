package iptables

import "strings"

const (
	kubePrefix     = "KUBE-"
	servicesChain  = "KUBE-SERVICES"
	externalChain  = "KUBE-EXTERNAL-SERVICES"
	nodePortsChain = "KUBE-NODEPORTS"
	markChain      = "KUBE-MARK-MASQ"
)

// role is what a chain is for. Which chains there are and what they hold is
// kube-proxy's pkg/proxy/iptables/proxier.go, as of Kubernetes 1.35.
type role int

const (
	foreign     role = iota // PREROUTING, DOCKER_*, CILIUM_*, cali-*, extensions
	bookkeeping             // kube-proxy's or kubelet's, the same for every Service
	strange                 // KUBE-, but nothing that iptables mode writes
	services                // nat: addresses of Services
	nodePorts               // nat: ports of the node
	rejections              // filter: addresses and ports without a backend
	external                // KUBE-EXT-: entry from outside the cluster
	firewall                // KUBE-FW-: source ranges of a load balancer
	cluster                 // KUBE-SVC-: choice among all backends
	local                   // KUBE-SVL-: choice among this node's backends
	backend                 // KUBE-SEP-: translation to one backend
)

func roleOf(table, chain string) role {
	name, ok := strings.CutPrefix(chain, kubePrefix)
	if !ok {
		return foreign
	}
	switch name {
	case "POSTROUTING", "MARK-MASQ", "MARK-DROP", "FORWARD", "FIREWALL", "PROXY-FIREWALL", "IPTABLES-HINT",
		"PROXY-CANARY", "KUBELET-CANARY":
		return bookkeeping
	}
	switch table {
	case "nat":
		return roleInNAT(name)
	case "filter":
		switch name {
		case "SERVICES", "EXTERNAL-SERVICES", "NODEPORTS":
			return rejections
		}
	}
	return strange
}

func roleInNAT(name string) role {
	switch name {
	case "SERVICES":
		return services
	case "NODEPORTS":
		return nodePorts
	}
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "EXT":
		return external
	case "FW":
		return firewall
	case "SVC":
		return cluster
	case "SVL":
		return local
	case "SEP":
		return backend
	}
	return strange
}

// leads says whether frontends jump to chains of this role.
func (r role) leads() bool { return r == external || r == firewall || r == cluster || r == local }
