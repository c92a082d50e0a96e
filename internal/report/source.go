package report

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// seen are whose addresses the backends saw, by how the Service was dialled and
// by whom, or by anybody where none is named.
func seen(e collect.Evidence, nodePort bool, from ...string) string {
	var all, local, remote []string
	known := true // where each backend is
	for _, p := range e.Traffic {
		if (p.To == spec.ToNodePort) != nodePort || len(from) > 0 && !slices.Contains(from, p.From) {
			continue
		}
		for _, a := range answered(p) {
			name := relation(e, p, a)
			all = append(all, name)
			switch node := backendNode(e, a); {
			case node == "" || p.Node == "":
				known = false
			case node == p.Node:
				local = append(local, name)
			default:
				remote = append(remote, name)
			}
		}
	}
	all, local, remote = distinct(all), distinct(local), distinct(remote)
	if known && len(all) == 2 && len(local) == 1 && len(remote) == 1 {
		return fmt.Sprintf("%s where the backend is on the dialled node, else %s", local[0], remote[0])
	}
	return strings.Join(all, ", ")
}

// backendNode is the role of the node whose backend answered; "" where the
// endpoint is not known.
func backendNode(e collect.Evidence, a traffic.Attempt) string {
	for _, p := range e.Objects.Endpoints {
		if p.Address == a.Backend.PodIP {
			return p.Node
		}
	}
	return ""
}

// relation is what a source address is to its connection.
func relation(e collect.Evidence, p collect.EntryPoint, a traffic.Attempt) string {
	seen := a.SourceSeen.Addr()
	onNode := func(n collect.Node) bool {
		return n.Role == p.Node && (n.InternalIP == seen || slices.ContainsFunc(n.Addresses, func(x netip.Addr) bool { return x == seen }))
	}
	switch {
	case seen == a.LocalAddress.Addr():
		return "the client's own"
	case slices.ContainsFunc(e.Nodes, onNode):
		return "the dialled node's"
	}
	return Owner(e, p, seen)
}
