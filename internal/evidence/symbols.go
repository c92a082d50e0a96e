package evidence

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// inOrder sorts by everything an element holds, so that addresses, which gave
// the order before, leave no trace.
func inOrder[T any](all []T) {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// names maps addresses to symbols.
type names map[netip.Addr]string

// symbols names the addresses of the evidence. A Service's address is the
// node's as well where kube-ipvs0 holds it: there the Service's name wins.
func symbols(e collect.Evidence) names {
	n := names{}
	for _, node := range e.Nodes {
		for _, address := range append(slices.Clone(node.Addresses), node.InternalIP) {
			n[address] = "node:" + node.Role
			if address.IsLoopback() {
				n[address] = "loopback"
			}
		}
	}
	for _, p := range e.Objects.Pods {
		n[p.Address] = "pod:" + p.Namespace + "/" + cmp.Or(p.App, p.Name)
		if p.Namespace == e.Objects.Service.Namespace {
			n[p.Address] += "@" + p.Node
		}
	}
	for _, f := range e.Objects.Expected.Frontends {
		service, _, _ := strings.Cut(f.Service, ":")
		n[f.Address] = "svc:" + service
	}
	n[netip.Addr{}] = "any"
	return n
}

// of is an address's symbol. One that belongs to nothing in the cluster has no
// name that would be the same in another run.
func (n names) of(address netip.Addr) string { return cmp.Or(n[address], "outside") }

func (n names) frontends(all []collect.Frontend) []NormalizedFrontend {
	out := []NormalizedFrontend{}
	for _, f := range all {
		frontend := NormalizedFrontend{Frontend: f, Address: n.of(f.Address), Backends: []NormalizedBackend{}}
		for _, b := range f.Backends {
			backend := NormalizedBackend{Backend: b, Address: n.of(b.Address)}
			backend.Probability = math.Round(b.Probability*1e4) / 1e4
			backend.Backend.Address, backend.Backend.Line = netip.Addr{}, collect.Line{}
			frontend.Backends = append(frontend.Backends, backend)
		}
		inOrder(frontend.Backends)
		frontend.Frontend.Address, frontend.Frontend.Backends, frontend.Frontend.Line = netip.Addr{}, nil, collect.Line{}
		out = append(out, frontend)
	}
	inOrder(out)
	return slices.CompactFunc(out, func(a, b NormalizedFrontend) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
}
