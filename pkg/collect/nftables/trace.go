package nftables

import (
	"cmp"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// Trace walks kube-proxy's table of the packet's family in a listing of either
// form, whose name file is put before its lines: the base chains of each hook that
// the packet meets in the order of their priority, with every verdict map on the
// way. An expression, verdict or element that is not understood stops the walk. A
// match on an interface is tried both ways, see Trace.Stopped.
//
// Tables of others are not walked; kubelet's and the container engine's say
// nothing about Services. An error is as of Decode.
func Trace(file string, raw []byte, p collect.Packet) (collect.Trace, error) {
	read := readText
	if isJSON(raw) {
		read = readJSON
	}
	r, err := read(raw)
	if err != nil {
		return collect.Trace{}, err
	}
	family := "ip"
	if p.Destination.Addr().Is6() {
		family = "ip6"
	}
	w := &walker{table: r.find(family, "kube-proxy"), file: file}
	t, err := walk.Decide(func(m *walk.Machine) ([]walk.State, error) {
		if w.table == nil {
			return []walk.State{walk.Start(p)}, nil
		}
		return w.walk(m, p)
	})
	t.Encoding, t.Packet, t.Selection = "nftables", p, collect.SelectRandom
	t.Finish()
	return t, err
}

// walker walks one table.
type walker struct {
	*table
	file string
}

// walk takes the packet through its hooks.
func (w *walker) walk(m *walk.Machine, p collect.Packet) ([]walk.State, error) {
	for _, l := range w.unknown {
		return nil, walk.StopAt(w.hop(w.String(), l.line()), "this says something of the whole table that is not understood")
	}
	chains := w.chains()
	states := []walk.State{walk.Start(p)}
	if p.Origin == collect.FromProcess {
		states, err := w.hook(m, chains, "output", states)
		if err != nil {
			return nil, err
		}
		return w.hook(m, chains, "postrouting", states)
	}
	states, err := w.hook(m, chains, "prerouting", states)
	if err != nil {
		return nil, err
	}
	var in, forward []walk.State
	for _, s := range states {
		if s.Delivered = p.IsLocal(s.Destination.Addr()); s.Delivered {
			in = append(in, s)
		} else {
			forward = append(forward, s)
		}
	}
	if in, err = w.hook(m, chains, "input", in); err != nil {
		return nil, err
	}
	if forward, err = w.hook(m, chains, "forward", forward); err != nil {
		return nil, err
	}
	forward, err = w.hook(m, chains, "postrouting", forward)
	return append(in, forward...), err
}

// hook takes states through the base chains of one hook.
func (w *walker) hook(m *walk.Machine, t *walk.Table, hook string, states []walk.State) (_ []walk.State, err error) {
	for _, c := range w.base(hook) {
		if c.unknown {
			return nil, walk.StopAt(w.hop(w.String(), c.src.line()), "the priority of this chain is not understood")
		}
		if states, err = m.Hook(t, c.name, states); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// base are the base chains of a hook in the order of their priority.
func (w *walker) base(hook string) []*chain {
	var found []*chain
	for _, c := range w.table.chains {
		if f := strings.Fields(c.base); len(f) == 3 && f[1] == hook {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b *chain) int { return cmp.Compare(a.priority, b.priority) })
	return found
}

// chains are all chains of the table, to be walked.
func (w *walker) chains() *walk.Table {
	t := &walk.Table{Name: w.family, File: w.file, Chains: map[string]*walk.Chain{}, Marks: true}
	for _, c := range w.table.chains {
		policy := walk.Drop
		if strings.HasSuffix(c.base, " accept") {
			policy = walk.Accept
		}
		wc := &walk.Chain{Name: c.name, Policy: policy, Line: c.src.line()}
		for _, r := range c.rules {
			wc.Rules = append(wc.Rules, walk.Rule{Line: r.src.line(), Meet: func(s walk.State) (walk.Effect, error) {
				return w.meet(r, s)
			}})
		}
		t.Chains[c.name] = wc
	}
	return t
}

func (w *walker) hop(where string, line collect.Line) collect.Hop {
	return collect.Hop{Where: where, File: w.file, Line: line}
}
