package walk

import (
	"net/netip"

	"service-dataplane/pkg/collect"
)

// State is a part of the connections on their way.
type State struct {
	// Packet as the client sent it.
	Packet collect.Packet
	Share  collect.Share
	// Destination now; it differs from the packet's once it is Translated.
	Destination netip.AddrPort
	Translated  bool
	Mark        uint32
	// Delivered: the destination is the node itself, so nothing leaves it.
	Delivered bool
	// The rules that sent it to be marked, that gave it another source, and that
	// led out of the chain it was in last.
	marking, masquerading, returning *collect.Hop
}

// Start is the state of a packet at its first hook.
func Start(p collect.Packet) State {
	return State{Packet: p, Share: collect.Whole(), Destination: p.Destination}
}

// To is the state translated.
func (s State) To(backend netip.AddrPort, part collect.Share) State {
	s.Share = s.Share.Times(part)
	s.Destination, s.Translated = backend, true
	return s
}

// same says whether rules see no difference between two states.
func (s State) same(other State) bool {
	return s.Mark == other.Mark && s.Destination == other.Destination && s.Translated == other.Translated &&
		s.Delivered == other.Delivered && (s.masquerading == nil) == (other.masquerading == nil)
}

// merge puts states together that rules see no difference between.
func merge(states []State) []State {
	var merged []State
next:
	for _, s := range states {
		for i := range merged {
			if merged[i].same(s) {
				merged[i].Share = merged[i].Share.Plus(s.Share)
				continue next
			}
		}
		merged = append(merged, s)
	}
	return merged
}

// Backend is what a translated state has come to behind the last hook.
func (s State) Backend() collect.TracedBackend {
	b := collect.TracedBackend{
		Probability: s.Share, Backend: s.Destination,
		Marked:      collect.Answer{Decision: collect.No, Reason: "no rule on the way marks it"},
		Masqueraded: collect.Answer{Decision: collect.No, Reason: "no rule on the way gives it another source", By: s.returning},
	}
	if s.marking != nil {
		b.Marked = collect.Answer{Decision: collect.Yes, By: s.marking}
	}
	switch {
	case s.masquerading != nil:
		b.Masqueraded = collect.Answer{Decision: collect.Yes, By: s.masquerading}
	case s.Delivered:
		b.Masqueraded.Reason = "the backend has an address of the node itself: nothing leaves it"
	}
	return b
}
