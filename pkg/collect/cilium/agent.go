package cilium

import (
	"fmt"
	"net/netip"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// agentEntry is one service of the agent's list: the parts of
// api/v1/models/service_spec.go that the table needs, with their lines.
type agentEntry struct {
	id       int64
	at       agentAddress
	flags    agentFlags
	backends []agentBackend
	line     collect.Line
}

type agentFlags struct {
	Name             string `json:"name"`
	Namespace        string `json:"namespace"`
	Type             string `json:"type"`
	ExtTrafficPolicy string `json:"extTrafficPolicy"`
	IntTrafficPolicy string `json:"intTrafficPolicy"`
}

type agentAddress struct {
	IP       string `json:"ip"`
	Port     uint16 `json:"port"`
	Protocol string `json:"protocol"`
	// Scope of a frontend is "external", or "internal" for connections from
	// inside. A backend has none.
	Scope string `json:"scope"`
}

type agentBackend struct {
	agentAddress
	State string `json:"state"`
	line  collect.Line
}

func newAgentEntry(service jsonlines.Value) (agentEntry, error) {
	if service.Raw[0] != '{' {
		return agentEntry{}, service.InsteadOf("a service")
	}
	spec, found, _ := service.Get("spec")
	if status, ok, _ := service.Get("status"); ok {
		// A status that is no object says nothing, and the spec counts.
		if realized, ok, _ := status.Get("realized"); ok {
			spec, found = realized, true
		}
	}
	entry := agentEntry{line: collect.Line{Number: service.Line}}
	if !found {
		entry.line.Text = service.Short()
		return entry, nil
	}
	members, err := spec.Members()
	if err != nil {
		return agentEntry{}, err
	}
	for _, m := range members {
		switch m.Name {
		case "id":
			err = m.Decode(&entry.id)
		case "frontend-address":
			entry.line.Number = m.NameLine
			err = m.Decode(&entry.at)
		case "flags":
			err = m.Decode(&entry.flags)
		case "backend-addresses":
			err = entry.addBackends(m.Value)
		}
		if err != nil {
			return agentEntry{}, err
		}
	}
	entry.line.Text = fmt.Sprintf("%d: %s %s %s %s/%s",
		entry.id, entry.at, entry.at.Scope, entry.flags.Type, entry.flags.Namespace, entry.flags.Name)
	return entry, nil
}

// addBackends reads the list, which is null where there are none.
func (e *agentEntry) addBackends(list jsonlines.Value) error {
	elements, err := list.ElementsOrNull()
	if err != nil {
		return err
	}
	for _, element := range elements {
		var b agentBackend
		if err := element.Decode(&b); err != nil {
			return err
		}
		b.line = collect.Line{Number: element.Line, Text: fmt.Sprintf("%s %s", b.agentAddress, b.State)}
		e.backends = append(e.backends, b)
	}
	return nil
}

// frontend makes the entry's frontend, or says why the table cannot hold it.
// Backends that cannot be read go to rest.
func (e agentEntry) frontend(rest *unparsed) (frontend collect.Frontend, at address, refusal string) {
	addr, ok := e.at.addr()
	at = address{addr, e.at.Port, strings.ToUpper(e.at.Protocol), e.at.Scope == "internal"}
	var kind collect.FrontendKind
	switch {
	case !ok:
		refusal = "no address"
	case e.at.Scope != "internal" && e.at.Scope != "external":
		refusal = "not a known scope"
	default:
		kind, refusal = frontendKind(at, e.flags.Type)
	}
	frontend = collect.Frontend{
		Kind:     kind,
		Port:     at.port,
		Protocol: at.protocol,
		Service:  e.flags.Namespace + "/" + e.flags.Name,
		Policy:   collect.PolicyCluster,
		Backends: e.tableBackends(at.protocol, rest),
		Line:     e.line,
	}
	if !addr.IsUnspecified() {
		frontend.Address = addr
	}
	local := e.flags.ExtTrafficPolicy
	if at.internal || kind == collect.ClusterIP {
		local = e.flags.IntTrafficPolicy
	}
	if local == "Local" {
		frontend.Policy = collect.PolicyLocal
	}
	return frontend, at, refusal
}

// tableBackends gives a probability to those that take new connections: the
// active ones or, without any, the terminating ones (pkg/loadbalancer/reconciler,
// updateFrontend).
func (e agentEntry) tableBackends(protocol string, rest *unparsed) []collect.Backend {
	backends := []collect.Backend{}
	serving := map[string][]int{}
	for _, b := range e.backends {
		addr, ok := b.addr()
		state, known := backendState(b.State)
		switch {
		case !ok || b.Port == 0:
			rest.add(b.line, "no address")
		case strings.ToUpper(b.Protocol) != protocol:
			rest.add(b.line, "another protocol than the frontend's")
		case !known:
			rest.add(b.line, "not a known state")
		default:
			serving[b.State] = append(serving[b.State], len(backends))
			backends = append(backends, collect.Backend{Address: addr, Port: b.Port, State: state, Line: b.line})
		}
	}
	takes := serving["active"]
	if len(takes) == 0 {
		takes = serving["terminating"]
	}
	for _, i := range takes {
		backends[i].Probability = 1 / float64(len(takes))
	}
	return backends
}

func backendState(name string) (collect.BackendState, bool) {
	switch name {
	case "active":
		return collect.Active, true
	case "terminating", "terminating-not-serving":
		return collect.Terminating, true
	case "quarantined", "maintenance":
		return collect.Quarantined, true
	}
	return "", false
}

func (a agentAddress) addr() (netip.Addr, bool) {
	at, ok := parseAddrPort(a.IP, "0")
	return at.Addr(), ok
}

func (a agentAddress) String() string {
	host := a.IP
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s:%d/%s", host, a.Port, a.Protocol)
}
