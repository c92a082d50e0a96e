package cilium

import (
	"errors"
	"fmt"
	"slices"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// judge reads the flags of slot 0: why a connection is dropped there, or an error
// that says what of them is not understood.
func (w *walker) judge(k key, m master, how path, p collect.Packet) (refusal string, err error) {
	kind, reason := frontendKind(k.address, m.flags[0])
	if reason != "" {
		return "", errors.New(reason)
	}
	for _, flag := range m.flags {
		if reason := flagReason(flag); reason != "" {
			return "", errors.New(reason)
		}
	}
	switch {
	case !how.inside && slices.Contains(m.flags, "check source-range"):
		return "", errors.New("the source ranges are in another map, which is not among the dumps")
	case how.place == atConnect && kind == collect.ExternalIP && !p.IsLocal(k.addr):
		return "", errors.New("connect() leaves external IPs to the packet, which is not followed")
	case how.place == atDevice && slices.Contains(m.flags, flagNonRoutable):
		return "not routable: nothing enters here from outside", nil
	}
	return "", nil
}

// count is how many slots take new connections: what slot 0 of the Frontends dump
// says or, without that dump, all there are.
func (w *walker) count(k key, frontend collect.Hop) (count, *collect.Hop, error) {
	if w.counters == nil {
		n := count{known: false}
		for k.slot = 1; len(w.rows[k]) > 0; k.slot++ {
			n.active++
		}
		return n, nil, nil
	}
	r, hop, ok, err := w.row(FrontendsFile, w.counters, k)
	switch {
	case err != nil:
		return count{}, nil, err
	case !ok:
		return count{}, nil, walk.StopAt(frontend, "%s has no row for it; take both dumps again", FrontendsFile)
	}
	c, ok := parseCounters(r.entry)
	if !ok {
		return count{}, nil, walk.StopAt(hop, "not a row of the services map")
	}
	hop.Depth, hop.Probability = 1, collect.Whole()
	hop.Note = fmt.Sprintf("%d slots take new connections, %d others do not", c.active, c.others)
	return count{c, true}, &hop, nil
}

// slots spreads connections over the slots from 1 to the count, each as likely as
// the others; Maglev's table comes near that.
func (w *walker) slots(m *walk.Machine, s walk.State, k key, frontend master, n count) ([]walk.State, error) {
	var states []walk.State
	for number := uint16(1); number <= n.active && number != 0; number++ {
		k.slot = number
		r, hop, ok, err := w.row(LBFile, w.rows, k)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, walk.StopAt(m.Hops[len(m.Hops)-1], "%s has no row for slot %d; take both dumps again", LBFile, number)
		}
		b, ok := parseBackend(r.entry)
		switch {
		case !ok:
			return nil, walk.StopAt(hop, "not a backend")
		case b.slot != number || b.revNAT != frontend.revNAT || b.protocol != k.protocol || b.Port() == 0:
			return nil, walk.StopAt(hop, "slot, number, protocol or port do not fit the frontend")
		}
		part := s.To(b.AddrPort, collect.Part(1, int64(n.active)))
		hop.Depth, hop.Probability = 1, part.Share
		m.Hops = append(m.Hops, hop)
		states = append(states, part)
	}
	return states, nil
}
