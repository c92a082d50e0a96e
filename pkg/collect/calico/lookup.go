package calico

import (
	"fmt"
	"net/netip"
	"slices"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// walker looks rows up by their key.
type walker struct {
	rows []row
	// strange are the rows that could not be read.
	strange unparsed
	file    string
	connect *Program
}

// forwarded says that another node has sent a packet on through its tunnel: how else
// would one from outside get here that is for that node.
func forwarded(p collect.Packet) bool {
	to := p.Destination.Addr()
	return p.Origin == collect.FromOutside && p.IsNode(to) && !p.IsLocal(to)
}

// place is where the connection meets the maps.
func (w walker) place(p collect.Packet) string {
	switch {
	case forwarded(p):
		return "the tunnel from the node that was dialled"
	case w.connect != nil:
		return "connect()"
	case p.Origin == collect.FromPod:
		return "the pod's interface"
	case p.Origin == collect.FromProcess:
		return "the device a process of the node sends to"
	}
	return "the node's device"
}

// lookup sends a connection to the backends of its frontend.
func (w walker) lookup(m *walk.Machine, s walk.State) ([]walk.State, error) {
	if len(w.strange) > 0 {
		return nil, walk.StopAt(w.hop("nat map", w.strange[0]), "this may be the row that is looked for")
	}
	if w.connect != nil {
		hop := w.program()
		hop.Probability, hop.Note = s.Share, "translates at connect()"
		m.Hops = append(m.Hops, hop)
	}
	r, err := w.frontend(s.Packet)
	if err != nil || r == nil {
		return []walk.State{s}, err
	}
	hop := w.hop(fmt.Sprintf("nat map %s", r.address), r.line)
	hop.Probability, hop.Note = s.Share, "looked up at "+w.place(s.Packet)
	for _, flag := range r.flags {
		if !slices.Contains([]string{flagExternalLocal, flagInternalLocal, flagExclude}, flag) {
			return nil, walk.StopAt(hop, "flag %q is not known", flag)
		}
	}
	n := r.count
	if local := w.localOnly(*r, s.Packet); local != "" && n != blackhole {
		n = int64(r.local)
		hop.Note += ": " + local
	}
	fate, why := collect.Fate(""), ""
	switch {
	case r.count == blackhole:
		fate, why = collect.Dropped, "a blackhole"
	case r.has(flagExclude):
		m.Hops = append(m.Hops, hop)
		return []walk.State{s}, nil
	case n == 0 && w.connect != nil:
		fate, why = collect.Rejected, "no backend, connect() fails with EPERM"
	case n == 0:
		fate, why = collect.Rejected, "no backend, answered with port unreachable"
	}
	if fate != "" {
		hop.Note += ": " + why
		m.Hops = append(m.Hops, hop)
		m.Endings = append(m.Endings, collect.Ending{Probability: s.Share, Fate: fate, By: hop})
		return nil, nil
	}
	m.Hops = append(m.Hops, hop)
	return w.slots(m, s, *r, n, hop)
}

// slots spreads connections over the first n backends of a row.
func (w walker) slots(m *walk.Machine, s walk.State, r row, n int64, frontend collect.Hop) ([]walk.State, error) {
	if int64(len(r.slots)) < n {
		return nil, walk.StopAt(frontend, "of %d backends here are %d", n, len(r.slots))
	}
	var states []walk.State
	for ordinal, slot := range r.slots[:n] {
		hop := w.hop(fmt.Sprintf("backend %d:%d", r.id, ordinal), slot.line)
		part := s.To(slot.AddrPort, collect.Part(1, n))
		hop.Depth, hop.Probability = 1, part.Share
		switch {
		case slot.IsValid() && slot.Port() == 0:
			return nil, walk.StopAt(hop, "no port")
		case !slot.IsValid():
			hop.Note = "not in the backend map: the connection is refused"
			m.Endings = append(m.Endings, collect.Ending{Probability: part.Share, Fate: collect.Rejected, By: hop})
		default:
			states = append(states, part)
		}
		m.Hops = append(m.Hops, hop)
	}
	return states, nil
}

// localOnly says why only the backends of this node serve a connection; "" where
// all do. What comes from a node or a pod has the internal policy.
func (w walker) localOnly(r row, p collect.Packet) string {
	inside := p.Origin != collect.FromOutside || p.IsNode(p.Source) || slices.Contains(p.Pods, p.Source)
	switch {
	case forwarded(p):
		return "of this node, to which that node has sent it"
	case inside && r.has(flagInternalLocal):
		return "internal traffic policy Local, of this node"
	case !inside && r.has(flagExternalLocal):
		return "external traffic policy Local, of this node"
	}
	return ""
}

// frontend finds the row of a destination, then that of any node's address: for
// what begins on the node and goes to a node, and for what a node has sent on.
func (w walker) frontend(p collect.Packet) (*row, error) {
	at := address{p.Destination.Addr(), p.Destination.Port(), p.Protocol}
	r, err := w.longest(at, p)
	if r != nil || err != nil || !p.IsNode(at.addr) || p.Origin == collect.FromOutside && !forwarded(p) {
		return r, err
	}
	at.addr = wildcard(at.addr)
	return w.longest(at, p)
}

func wildcard(addr netip.Addr) netip.Addr {
	ones := addr.AsSlice()
	for i := range ones {
		ones[i] = 0xff
	}
	all, _ := netip.AddrFromSlice(ones)
	return all
}

// longest is the row of an address with the longest source prefix that has the
// client, which is 0.0.0.0 at connect().
func (w walker) longest(at address, p collect.Packet) (*row, error) {
	source := p.Source
	if w.connect != nil {
		source = netip.IPv4Unspecified()
		if at.addr.Is6() {
			source = netip.IPv6Unspecified()
		}
	}
	var best *row
	for i, r := range w.rows {
		if r.address != at || r.source.IsValid() && !r.source.Contains(source) {
			continue
		}
		if best != nil && bits(*best) == bits(r) {
			return nil, walk.StopAt(w.hop("nat map", r.line), "a second row of one key")
		}
		if best == nil || bits(r) > bits(*best) {
			best = &w.rows[i]
		}
	}
	return best, nil
}

// bits is the length of a row's source prefix.
func bits(r row) int {
	if !r.source.IsValid() {
		return 0
	}
	return r.source.Bits()
}

func (w walker) hop(where string, line collect.Line) collect.Hop {
	return collect.Hop{Where: where, File: w.file, Line: line}
}

func (a address) String() string {
	return fmt.Sprintf("%s/%s", netip.AddrPortFrom(a.addr, a.port), a.protocol)
}
