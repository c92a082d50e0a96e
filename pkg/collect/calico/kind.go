package calico

import (
	"net/netip"

	"service-dataplane/pkg/collect"
)

// The flags of a row that tell its kind and policy (felix/bpf/nat/maps.go).
const (
	flagExternalLocal = "external-local"
	flagInternalLocal = "internal-local"
	flagExclude       = "nat-exclude"
)

// isWildcard tells the address that means a node's: rows at 255.255.255.255, in
// IPv6 ffff:…:ffff. Felix writes it beside a row for each address of this node
// (felix/bpf/proxy/kube-proxy.go, podNPIP). A lookup that finds no row tries it
// where the destination is a node of the cluster, so that a pod's connection to
// another node's port is translated here, and where a packet was forwarded here by
// the node it came to (felix/bpf-gpl/nat_lookup.h).
func isWildcard(addr netip.Addr) bool {
	for _, b := range addr.AsSlice() {
		if b != 0xff {
			return false
		}
	}
	return addr.IsValid()
}

// group are the rows of one number: of one Service port (felix/bpf/proxy/syncer.go,
// apply and applyDerived).
type group struct {
	rows []row
	// nodePort is the port of the wildcard row; 0 without one.
	nodePort uint16
	// ports are the ports of all rows.
	ports map[uint16]bool
}

// kinds tells what a row implements.
type kinds struct {
	groups map[uint32]*group
	// node holds the addresses seen at a NodePort, the same for all of them.
	node map[netip.Addr]bool
	// unwild are the NodePorts that have no wildcard row.
	unwild map[address]bool
}

func newKinds(rows []row) kinds {
	k := kinds{groups: map[uint32]*group{}, node: map[netip.Addr]bool{}, unwild: map[address]bool{}}
	for _, r := range rows {
		g, ok := k.groups[r.id]
		if !ok {
			g = &group{ports: map[uint16]bool{}}
			k.groups[r.id] = g
		}
		g.rows = append(g.rows, r)
		g.ports[r.port] = true
		if isWildcard(r.addr) {
			g.nodePort = r.port
		}
	}
	for _, g := range k.groups {
		for _, r := range g.rows {
			if g.nodePort == r.port && len(g.ports) > 1 && !isWildcard(r.addr) {
				k.node[r.addr] = true
			}
		}
	}
	for _, r := range rows {
		if k.groups[r.id].nodePort == 0 && k.isNodePort(r) {
			k.unwild[address{port: r.port, protocol: r.protocol}] = true
		}
	}
	return k
}

// isNodePort tells a row of a NodePort. A NodePort has no wildcard row where the
// internal traffic policy is Local; it is then known by the node's addresses. They
// tell as well where a Service has the same number for port and NodePort.
func (k kinds) isNodePort(r row) bool {
	g := k.groups[r.id]
	switch {
	case isWildcard(r.addr):
		return true
	case g.nodePort == 0:
		return r.has(flagInternalLocal) && k.node[r.addr]
	}
	return r.port == g.nodePort && (len(g.ports) > 1 || k.node[r.addr])
}

// of is the kind of a row, "" where the maps do not tell. Every number has one
// ClusterIP: it is the row that is left when there is one. External addresses stay
// without a kind, and the ClusterIP beside them, but for a load balancer that has
// the flag no ExternalIP gets, and for addresses with source ranges.
//
// A NodePort with internal traffic policy Local has one row more for each other
// node with a backend, at that node's address and with a number of its own
// (applyExpandedNP). It looks like a ClusterIP and is told by the NodePort of the
// same port; a ClusterIP at such a port would stay without a kind.
func (k kinds) of(r row) collect.FrontendKind {
	switch {
	case k.isNodePort(r):
		return collect.NodePort
	case r.has(flagExternalLocal):
		if r.has(flagInternalLocal) && k.groups[r.id].nodePort == 0 && len(k.node) == 0 {
			return "" // or a NodePort
		}
		return collect.LoadBalancer
	case r.has(flagInternalLocal) && k.unwild[address{port: r.port, protocol: r.protocol}]:
		return ""
	}
	left := map[netip.Addr]bool{}
	outside := map[netip.Addr]bool{}
	for _, other := range k.groups[r.id].rows {
		switch {
		case k.isNodePort(other) || other.has(flagExternalLocal):
		case other.count == blackhole || other.source.IsValid():
			outside[other.addr] = true
		default:
			left[other.addr] = true
		}
	}
	for addr := range outside {
		delete(left, addr)
	}
	if len(left) == 1 && left[r.addr] {
		return collect.ClusterIP
	}
	return ""
}

// policy is for whom the row's backends are counted: connections from outside the
// cluster at a NodePort or a load balancer, those from inside at a ClusterIP. Where
// the kind is not known and the two differ, it is "".
func policy(kind collect.FrontendKind, r row) collect.Policy {
	local := r.has(flagExternalLocal)
	switch {
	case kind == collect.ClusterIP:
		local = r.has(flagInternalLocal)
	case kind == "" && local != r.has(flagInternalLocal):
		return ""
	}
	if local {
		return collect.PolicyLocal
	}
	return collect.PolicyCluster
}
