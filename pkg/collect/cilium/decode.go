package cilium

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"service-dataplane/pkg/collect"
)

// Raw is the evidence of one node's maps.
type Raw struct {
	// LB is the output of `cilium-dbg bpf lb list -o json`.
	LB []byte
	// Frontends is the output of `cilium-dbg bpf lb list --frontends -o json`;
	// empty where it was not taken. It tells how many slots are in use and how
	// long session affinity lasts.
	Frontends []byte
	// Status is the output of `cilium-dbg status -o json`; empty where it was
	// not taken. It tells Maglev.
	Status []byte
}

// Decode makes the service table of the maps on one node, as Cilium 1.20.2 prints
// them (cilium-dbg/cmd/bpf_lb_list.go, pkg/loadbalancer/maps/types.go). An error
// means that a file is not JSON of that shape and names the line. A row that is
// not understood, that another dump contradicts, or that says what the table
// cannot express, is in Unparsed with the reason after "#"; rows of the Frontends
// dump that have no match have no number there.
//
// The row of a Service address for unknown ports ("10.97.0.10:0/ANY") is
// understood and no frontend. A NodePort has a row for each node address, and
// one of the zero address for sockets of the node itself and its pods: that one
// is the frontend of any node address. Where the two traffic policies differ, a
// frontend is there twice, the second time ("/i") for connections from inside.
//
// Only slots up to the active count take new connections. Those above it are
// Quarantined: unhealthy, or terminating while others are active, which the dump
// does not tell apart. Without the Frontends dump every slot counts as active.
// Probability is 1/n of the active ones, which Maglev meets only roughly.
// Selection is that of a connection from outside the node where it can come from
// there: the node's own pods and sockets get a random backend.
//
// The maps name no Service and do not say how a source is masqueraded. Without
// backends, connect() fails under socket LB, and a packet is answered or dropped
// as the agent is told (service-no-backend-response); so Service, Masquerade and
// NoBackends are empty.
func Decode(raw Raw) (collect.ServiceTable, error) {
	services, err := readServices(raw.LB)
	if err != nil {
		return collect.ServiceTable{}, err
	}
	var status Status
	if len(raw.Status) > 0 {
		if status, err = DecodeStatus(raw.Status); err != nil {
			return collect.ServiceTable{}, err
		}
	}
	counts := map[address]count{}
	if len(raw.Frontends) > 0 {
		if counts, err = services.compare(raw.Frontends); err != nil {
			return collect.ServiceTable{}, err
		}
	}
	table := collect.ServiceTable{Encoding: Encoding, Frontends: []collect.Frontend{}}
	for _, at := range slices.SortedFunc(maps.Keys(services.byAddress), address.compare) {
		s := services.byAddress[at]
		if frontend, ok := services.frontend(at, s, counts[at], status.Algorithm); ok {
			table.Frontends = append(table.Frontends, frontend)
		}
	}
	table.Unparsed = services.unparsed.sorted()
	table.Sort()
	return table, nil
}

// frontend makes the frontend of a service; false where the table cannot hold it
// and all its rows are in Unparsed.
func (s *services) frontend(at address, from *service, n count, algorithm string) (collect.Frontend, bool) {
	kind, refusal := frontendKind(at, from.flags[0])
	if refusal != "" {
		for _, line := range from.lines() {
			s.unparsed.add(line, refusal)
		}
		return collect.Frontend{}, false
	}
	for _, flag := range from.flags {
		if reason := flagReason(flag); reason != "" {
			s.unparsed.add(from.line, reason)
		}
	}
	frontend := collect.Frontend{
		Kind:     kind,
		Port:     at.port,
		Protocol: at.protocol,
		Policy:   policy(at, kind, from.flags),
		Backends: from.backends(n),
		Line:     from.line,
	}
	if !at.addr.IsUnspecified() {
		frontend.Address = at.addr
	}
	var ok bool
	if frontend.Selection, ok = selection(at, kind, from.flags, algorithm, n); !ok {
		s.unparsed.add(from.line, fmt.Sprintf("algorithm %d is not known", n.algorithm()))
	}
	if frontend.AffinitySeconds, ok = affinity(from.flags, n); !ok {
		s.unparsed.add(from.line, "the time of session affinity is not known")
	}
	return frontend, true
}

// backends lists the slots in their order.
func (s *service) backends(n count) []collect.Backend {
	backends := []collect.Backend{}
	active := 0
	for _, number := range slices.Sorted(maps.Keys(s.slots)) {
		slot := s.slots[number]
		state := collect.Quarantined
		if !n.known || number <= n.active {
			state = collect.Active
			active++
		}
		backends = append(backends, collect.Backend{
			Address: slot.Addr(),
			Port:    slot.Port(),
			State:   state,
			Line:    slot.line,
		})
	}
	for i := range backends {
		if backends[i].State == collect.Active {
			backends[i].Probability = 1 / float64(active)
		}
	}
	return backends
}

func (a address) compare(b address) int {
	internal := 0
	if a.internal != b.internal {
		internal = 1
		if b.internal {
			internal = -1
		}
	}
	return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.port, b.port), cmp.Compare(a.protocol, b.protocol), internal)
}

// unparsed gathers lines with the reason they are not in the table.
type unparsed []collect.Line

func (u *unparsed) add(line collect.Line, reason string) {
	line.Text += " # " + reason
	*u = append(*u, line)
}

func (u unparsed) sorted() []collect.Line {
	slices.SortStableFunc(u, func(a, b collect.Line) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Text, b.Text))
	})
	return u
}
