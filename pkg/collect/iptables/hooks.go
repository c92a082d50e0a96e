package iptables

import (
	"slices"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// Through takes states through a chain of several tables.
func (r Rules) Through(m *walk.Machine, chain string, states []walk.State, tables ...string) (_ []walk.State, err error) {
	for _, t := range tables {
		if states, err = m.Hook(r.tables[t], chain, states); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// Arrive takes a packet to where its destination is translated: through OUTPUT
// from a process of the node, else through PREROUTING.
func (r Rules) Arrive(m *walk.Machine, states []walk.State) ([]walk.State, error) {
	chain := "PREROUTING"
	if len(states) > 0 && states[0].Packet.Origin == collect.FromProcess {
		chain = "OUTPUT"
	}
	return r.Through(m, chain, states, "raw", "mangle", "nat")
}

// Route takes packets on to the node itself (INPUT), to another machine or pod
// (FORWARD) or, from a process of the node, through the rest of OUTPUT.
func (r Rules) Route(m *walk.Machine, states []walk.State) ([]walk.State, error) {
	var own, in, forward []walk.State
	for _, s := range states {
		s.Delivered = s.Packet.IsLocal(s.Destination.Addr())
		switch {
		case s.Packet.Origin == collect.FromProcess:
			own = append(own, s)
		case s.Delivered:
			in = append(in, s)
		default:
			forward = append(forward, s)
		}
	}
	own, err := r.Through(m, "OUTPUT", own, "filter")
	if err != nil {
		return nil, err
	}
	if in, err = r.Through(m, "INPUT", in, "mangle", "filter", "nat"); err != nil {
		return nil, err
	}
	forward, err = r.Through(m, "FORWARD", forward, "mangle", "filter")
	return slices.Concat(own, in, forward), err
}

// Leave takes packets through POSTROUTING, which those for the node itself do not
// pass unless they come from it.
func (r Rules) Leave(m *walk.Machine, states []walk.State) ([]walk.State, error) {
	var leaving, staying []walk.State
	for _, s := range states {
		if s.Delivered && s.Packet.Origin != collect.FromProcess {
			staying = append(staying, s)
		} else {
			s.Delivered = false
			leaving = append(leaving, s)
		}
	}
	passed, err := r.Through(m, "POSTROUTING", leaving, "mangle", "nat")
	return append(passed, staying...), err
}
