package evidence

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// Schema is the version of Normalized's form.
const Schema = 3

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
	Declared  string                     `json:"declared"`
	Agent     string                     `json:"agent,omitempty"`
	KubeProxy string                     `json:"kubeProxy"`
	ProxyMode map[string]string          `json:"proxyMode"`
	Log       map[string]string          `json:"log"`
	Process   map[string]string          `json:"process"`
	Agents    map[string]NormalizedAgent `json:"agents,omitempty"`
	Calico    *NormalizedCalico          `json:"calico,omitempty"`
	Hooks     map[string]string          `json:"hooks,omitempty"`
}

// NormalizedCalico is what the objects of Calico and of its operator say.
type NormalizedCalico struct {
	Dataplane           string            `json:"dataplane"`
	Bootstrap           string            `json:"bootstrap"`
	KubeProxyManagement string            `json:"kubeProxyManagement"`
	BPF                 string            `json:"bpf"`
	ConnectTime         string            `json:"connectTime"`
	UsageReporting      string            `json:"usageReporting"`
	ProxyNodes          string            `json:"proxyNodes"`
	ProxySelector       string            `json:"proxySelector"`
	Components          map[string]string `json:"components"`
}

// NormalizedAgent is what Cilium's agent says of itself. Of its probes only
// whether they reach every node: how many they have come to is a matter of time.
type NormalizedAgent struct {
	KubeProxyReplacement string `json:"kubeProxyReplacement"`
	SocketLB             string `json:"socketLB"`
	AttachMode           string `json:"attachMode"`
	AllReachable         bool   `json:"allReachable"`
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
// is chance, and with it which sources were seen where a backend on the entry
// node sees another than one elsewhere. So neither is here, only whether all of
// them were as they had to be.
type NormalizedTraffic struct {
	Name     string `json:"name"`
	Sent     int    `json:"sent"`
	Answered int    `json:"answered"`
	Failed   int    `json:"failed"`
	// Source is whose address the backends were to see.
	Source     string `json:"source"`
	SourceFits bool   `json:"sourceFits"`
	// Translated is where: "packet", "socket", "elsewhere", or "unknown".
	Translated []string `json:"translated"`
	// Trackers are whose records of the entry node have the packets translated.
	Trackers      []string `json:"trackers"`
	EndpointsOnly bool     `json:"endpointsOnly"`
	// Walks are where the entry node's rules lead such connections.
	Walks []NormalizedWalk `json:"walks"`
}

// NormalizedWalk is a walk by its ends: the hops are in the evidence.
type NormalizedWalk struct {
	Node      string            `json:"node"`
	Encoding  string            `json:"encoding"`
	Selection collect.Selection `json:"selection,omitempty"`
	// Ways are parts with a backend: "1/2 to pod:demo/echo@worker at 8080, masqueraded: no".
	Ways []string `json:"ways"`
	// Endings are parts without a backend: "1/2 rejected".
	Endings []string `json:"endings,omitempty"`
	// Stopped: the walk did not come to its end.
	Stopped bool `json:"stopped,omitempty"`
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
		Mode:      normalizedMode(e.Mode),
		Service:   NormalizedService{Service: e.Objects.Service, ClusterIP: names.of(e.Objects.Service.ClusterIP)},
		Endpoints: []NormalizedEndpoint{}, Nodes: []NormalizedNode{}, Traffic: []NormalizedTraffic{}, Checks: []NormalizedCheck{},
	}
	n.Service.Service.ClusterIP = netip.Addr{}
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
		n.Traffic = append(n.Traffic, normalizedTraffic(e, p, ready, names))
	}
	for _, c := range checks {
		n.Checks = append(n.Checks, NormalizedCheck{c.ID, c.Verdict})
	}
	return n
}

func normalizedMode(m collect.Mode) NormalizedMode {
	n := NormalizedMode{
		Declared: m.Declared.Value, Agent: m.Agent.Value, KubeProxy: m.KubeProxy.Value,
		ProxyMode: map[string]string{}, Log: map[string]string{}, Process: map[string]string{}, Agents: map[string]NormalizedAgent{},
		Hooks: map[string]string{},
	}
	if c := m.Calico; c != nil {
		n.Calico = &NormalizedCalico{
			Dataplane: c.Dataplane.Value, Bootstrap: c.Bootstrap.Value, KubeProxyManagement: c.KubeProxyManagement.Value,
			BPF: c.BPF.Value, ConnectTime: c.ConnectTime.Value, UsageReporting: c.UsageReporting.Value,
			ProxyNodes: c.ProxyNodes.Value, ProxySelector: c.ProxySelector.Value, Components: map[string]string{},
		}
		for _, component := range c.Components {
			n.Calico.Components[component.Name] = component.State.Value
		}
	}
	for _, node := range m.Nodes {
		n.ProxyMode[node.Node], n.Log[node.Node], n.Process[node.Node] = node.ProxyMode.Value, node.Log.Value, node.Process.Value
		if a := node.Agent; a != nil {
			n.Agents[node.Node] = NormalizedAgent{a.KubeProxyReplacement.Value, a.SocketLB.Value, a.AttachMode.Value, AllReachable(a.Health)}
		}
		if node.Hooks.Value != "" {
			n.Hooks[node.Node] = node.Hooks.Value
		}
	}
	return n
}

func normalizedTraffic(e collect.Evidence, p collect.EntryPoint, ready map[netip.Addr]bool, names names) NormalizedTraffic {
	fit, _ := Sources(e, p)
	t := NormalizedTraffic{
		Name: p.Name, Sent: p.Sent, Source: p.ExpectedSource, SourceFits: fit != nil, Translated: []string{}, EndpointsOnly: true,
		Walks: []NormalizedWalk{},
	}
	for _, w := range p.Walks {
		t.Walks = append(t.Walks, names.walk(w))
	}
	for _, a := range p.Attempts {
		if a.Error != "" {
			t.Failed++
			continue
		}
		t.Answered++
		t.SourceFits = t.SourceFits && fit(a)
		t.EndpointsOnly = t.EndpointsOnly && ready[a.Backend.PodIP]
		switch place, known := Translated(e, a); {
		case !known:
			t.Translated = append(t.Translated, "unknown")
		default:
			t.Translated = append(t.Translated, cmp.Or(place, "elsewhere"))
		}
	}
	slices.Sort(t.Translated)
	t.Translated = slices.Compact(t.Translated)
	t.Trackers = []string{}
	if slices.Contains(t.Translated, spec.TranslatedInPacket) {
		t.Trackers = Trackers(e, p)
	}
	return t
}

func (names names) walk(w collect.Walk) NormalizedWalk {
	n := NormalizedWalk{
		Node: w.Node, Encoding: w.Trace.Encoding, Selection: w.Trace.Selection, Ways: []string{}, Stopped: w.Trace.Stopped != nil,
	}
	for _, b := range w.Trace.Backends {
		n.Ways = append(n.Ways, fmt.Sprintf("%s to %s at %d, masqueraded: %s",
			b.Probability, names.of(b.Backend.Addr()), b.Backend.Port(), b.Masqueraded.Decision))
	}
	slices.Sort(n.Ways)
	for _, e := range w.Trace.Endings {
		n.Endings = append(n.Endings, fmt.Sprintf("%s %s", e.Probability, e.Fate))
	}
	slices.Sort(n.Endings)
	return n
}
