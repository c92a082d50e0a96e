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

// Schema is the version of Normalized's form.
const Schema = 1

// Normalized is evidence with a symbol for every value that differs between
// two runs of one scenario, and without times, counters, ephemeral ports, line
// numbers and versions. Two runs marshal to the same bytes.
type Normalized struct {
	Schema     int                  `json:"schema"`
	Scenario   string               `json:"scenario"`
	Experiment string               `json:"experiment"`
	Mode       NormalizedMode       `json:"mode"`
	Service    NormalizedService    `json:"service"`
	Endpoints  []NormalizedEndpoint `json:"endpoints"`
	Nodes      []NormalizedNode     `json:"nodes"`
	Traffic    []NormalizedTraffic  `json:"traffic"`
	Checks     []NormalizedCheck    `json:"checks"`
}

// NormalizedMode is the mode declared and what each node says, by node.
type NormalizedMode struct {
	Declared  string            `json:"declared"`
	ProxyMode map[string]string `json:"proxyMode"`
	Log       map[string]string `json:"log"`
}

// NormalizedService is the Service under test.
type NormalizedService struct {
	collect.Service
	ClusterIP string `json:"clusterIP"`
}

// NormalizedEndpoint is one of its endpoints.
type NormalizedEndpoint struct {
	collect.Endpoint
	Address string  `json:"address"`
	Pod     *string `json:"pod,omitempty"` // nil: the name ends in a random part
}

// NormalizedNode is what one node's kernel holds.
type NormalizedNode struct {
	Node         string            `json:"node"`
	LiveIptables string            `json:"liveIptables"`
	Tables       []NormalizedTable `json:"tables"`
}

// NormalizedTable is a service table. Frontends that look the same are one: a
// NodePort may be listed for each address of the node, and how many it has
// depends on where pods landed.
type NormalizedTable struct {
	Encoding  string               `json:"encoding"`
	File      string               `json:"file"`
	Frontends []NormalizedFrontend `json:"frontends"`
	Unparsed  int                  `json:"unparsed,omitempty"` // lines
}

// NormalizedFrontend is a frontend.
type NormalizedFrontend struct {
	collect.Frontend
	Address  string              `json:"address"`
	Backends []NormalizedBackend `json:"backends"`
	Line     *collect.Line       `json:"line,omitempty"` // nil
}

// NormalizedBackend is a backend; its probability has four digits.
type NormalizedBackend struct {
	collect.Backend
	Address string        `json:"address"`
	Line    *collect.Line `json:"line,omitempty"` // nil
}

// NormalizedTraffic is what came of an entry point. Which backends answered
// is chance, and so is not here: only whether all of them were endpoints.
type NormalizedTraffic struct {
	Name          string   `json:"name"`
	Sent          int      `json:"sent"`
	Answered      int      `json:"answered"`
	Failed        int      `json:"failed"`
	Sources       []string `json:"sources"`
	EndpointsOnly bool     `json:"endpointsOnly"`
}

// NormalizedCheck is a check's verdict.
type NormalizedCheck struct {
	ID      string          `json:"id"`
	Verdict collect.Verdict `json:"verdict"`
}

// Normalize replaces what differs between runs.
func Normalize(e collect.Evidence, checks []collect.Check) Normalized {
	names := symbols(e)
	n := Normalized{
		Schema: Schema, Scenario: e.Scenario, Experiment: e.Experiment,
		Mode:      NormalizedMode{Declared: e.Mode.Declared.Value, ProxyMode: map[string]string{}, Log: map[string]string{}},
		Service:   NormalizedService{Service: e.Objects.Service, ClusterIP: names.of(e.Objects.Service.ClusterIP)},
		Endpoints: []NormalizedEndpoint{}, Nodes: []NormalizedNode{}, Traffic: []NormalizedTraffic{}, Checks: []NormalizedCheck{},
	}
	n.Service.Service.ClusterIP = netip.Addr{}
	for _, m := range e.Mode.Nodes {
		n.Mode.ProxyMode[m.Node], n.Mode.Log[m.Node] = m.ProxyMode.Value, m.Log.Value
	}
	ready := map[netip.Addr]bool{}
	for _, p := range e.Objects.Endpoints {
		ready[p.Address] = p.Ready
		endpoint := NormalizedEndpoint{Endpoint: p, Address: names.of(p.Address)}
		endpoint.Endpoint.Address, endpoint.Endpoint.Pod = netip.Addr{}, ""
		n.Endpoints = append(n.Endpoints, endpoint)
	}
	inOrder(n.Endpoints)
	for _, state := range e.Kernel {
		node := NormalizedNode{Node: state.Node, LiveIptables: state.LiveIptables, Tables: []NormalizedTable{}}
		for _, t := range state.Tables {
			node.Tables = append(node.Tables, NormalizedTable{t.Encoding, t.File, names.frontends(t.Frontends), len(t.Unparsed)})
		}
		n.Nodes = append(n.Nodes, node)
	}
	for _, p := range e.Traffic {
		n.Traffic = append(n.Traffic, names.traffic(p, ready))
	}
	for _, c := range checks {
		n.Checks = append(n.Checks, NormalizedCheck{c.ID, c.Verdict})
	}
	return n
}

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

func (n names) traffic(p collect.EntryPoint, ready map[netip.Addr]bool) NormalizedTraffic {
	t := NormalizedTraffic{Name: p.Name, Sent: p.Sent, Sources: []string{}, EndpointsOnly: true}
	for _, a := range p.Attempts {
		if a.Error != "" {
			t.Failed++
			continue
		}
		t.Answered++
		t.Sources = append(t.Sources, n.of(a.SourceSeen.Addr()))
		t.EndpointsOnly = t.EndpointsOnly && ready[a.Backend.PodIP]
	}
	slices.Sort(t.Sources)
	t.Sources = slices.Compact(t.Sources)
	return t
}
