package walk

import (
	"cmp"
	"errors"
	"slices"

	"service-dataplane/pkg/collect"
)

// maxSteps bounds the rules that one walk meets. A node of 45,000 Services has
// some 50,000 rules in a row.
const maxSteps = 1 << 17

// Machine takes packets through hooks and keeps what happens.
type Machine struct {
	Hops    []collect.Hop
	Endings []collect.Ending
	// assumed says of rules that ask what the evidence does not tell whether they
	// match.
	assumed map[string]bool
	steps   int
	// passed are the states accepted in this hook.
	passed []State
	// events counts what keeps a jump and its hops from being left out.
	events int
}

// place is a chain that a packet is in.
type place struct {
	table *Table
	chain *Chain
	// path are the names of the chains it came through, this one last.
	path []string
	// caller is the rule that led here; nil in a base chain.
	caller *collect.Hop
}

func (p place) hop(s State, line collect.Line) collect.Hop {
	return collect.Hop{
		Depth: len(p.path) - 1, Probability: s.Share, File: p.table.File, Line: line,
		Where: p.table.Name + " " + p.chain.Name,
	}
}

// Hook takes states through a base chain and returns those that get past it. What
// is the same for several of them is shown once. A table or chain that is not
// there lets everything pass.
func (m *Machine) Hook(t *Table, name string, states []State) ([]State, error) {
	if t == nil || t.Chains[name] == nil {
		return states, nil
	}
	at := place{table: t, chain: t.Chains[name], path: []string{name}}
	before := m.Hops
	m.passed = nil
	var ways [][]collect.Hop
	var err error
	for _, s := range states {
		var back []State
		m.Hops, s.returning = nil, nil
		if back, err = m.chain(s, at, 0); err == nil {
			m.policy(back, at)
		}
		ways = together(ways, m.Hops)
		if err != nil {
			break
		}
	}
	m.Hops = slices.Concat(append([][]collect.Hop{before}, ways...)...)
	return merge(m.passed), err
}

// together adds the hops of one way, or their probabilities where another went the
// same.
func together(ways [][]collect.Hop, way []collect.Hop) [][]collect.Hop {
	for _, known := range ways {
		if slices.EqualFunc(known, way, sameHop) {
			for i := range known {
				known[i].Probability = known[i].Probability.Plus(way[i].Probability)
			}
			return ways
		}
	}
	return append(ways, way)
}

func sameHop(a, b collect.Hop) bool {
	return a.Depth == b.Depth && a.Where == b.Where && a.File == b.File && a.Line == b.Line && a.Note == b.Note
}

// policy is what becomes of the states that come to the end of a base chain.
func (m *Machine) policy(states []State, at place) {
	for _, s := range states {
		if at.chain.Policy == Accept {
			m.passed = append(m.passed, s)
			continue
		}
		hop := at.hop(s, at.chain.Line)
		hop.Note = "no rule takes it, the policy of the chain does"
		m.Hops = append(m.Hops, hop)
		m.ending(s, at.chain.Policy, hop)
	}
}

func (m *Machine) ending(s State, verdict Verdict, by collect.Hop) {
	fate := collect.Dropped
	if verdict == Reject {
		fate = collect.Rejected
	}
	m.Endings = append(m.Endings, collect.Ending{Probability: s.Share, Fate: fate, By: by})
}

// chain takes a state through the rules of a chain, beginning with one of them,
// and gives what comes back from it.
func (m *Machine) chain(s State, at place, from int) (back []State, err error) {
	for i := from; i < len(at.chain.Rules); i++ {
		on, returned, err := m.rule(s, at, at.chain.Rules[i])
		if err != nil {
			return nil, err
		}
		back = append(back, returned...)
		switch on = merge(on); len(on) {
		case 0:
			return back, nil
		case 1:
			s = on[0]
		default:
			for _, part := range on {
				rest, err := m.chain(part, at, i+1)
				if err != nil {
					return nil, err
				}
				back = append(back, rest...)
			}
			return back, nil
		}
	}
	return append(back, s), nil
}

// rule takes a state through one rule: what meets the next rule, and what leaves
// the chain for where it came from.
func (m *Machine) rule(s State, at place, r Rule) (on, back []State, err error) {
	hop := at.hop(s, r.Line)
	if m.steps++; m.steps > maxSteps {
		return nil, nil, stopAt(hop, Stopf("the walk has met %d rules and does not end", maxSteps))
	}
	effect, err := r.Meet(s)
	if err != nil {
		return nil, nil, stopAt(hop, err)
	}
	if effect.Unknown != "" {
		if effect, err = m.assume(hop, effect); err != nil {
			return nil, nil, err
		}
	}
	if len(effect.Branches) == 0 {
		if hop.Note = effect.Note; hop.Note != "" {
			m.show(hop, effect.Quotes)
		}
		return []State{s}, nil, nil
	}
	return m.spread(s, at, hop, effect)
}

// spread sends parts of a state along the branches of a rule; what they leave over
// meets the next one.
func (m *Machine) spread(s State, at place, hop collect.Hop, effect Effect) (on, back []State, err error) {
	left, quotes := s, effect.Quotes
	for _, b := range effect.Branches {
		part := s
		if part.Share = s.Share.Times(b.Part); part.Share.None() {
			continue
		}
		part.Mark = s.Mark&^b.Clear ^ b.Flip
		left.Share = left.Share.Minus(part.Share)
		hop.Probability, hop.Note = part.Share, cmp.Or(b.Note, effect.Note)
		stays, leaves, err := m.branch(part, b, at, hop, quotes, s.Mark)
		if err != nil {
			return nil, nil, err
		}
		on, back, quotes = append(on, stays...), append(back, leaves...), nil
	}
	if !left.Share.None() {
		on = append(on, left)
	}
	return on, back, nil
}

// branch does what a branch of a rule says with its part of the packets, whose
// mark was another before.
func (m *Machine) branch(s State, b Branch, at place, hop collect.Hop, quotes []collect.Hop, mark uint32) (on, back []State, err error) {
	if at.table.Marks && s.Mark&^mark != 0 {
		s.marking = &hop
		if at.caller != nil {
			s.marking = at.caller
		}
	}
	switch b.Verdict {
	case Continue:
		if s.Mark != mark || hop.Note != "" {
			m.show(hop, quotes)
		}
		return []State{s}, nil, nil
	case Jump:
		on, err = m.jump(s, b.Chain, at, hop, quotes)
		return on, nil, err
	case Goto:
		back, err = m.jump(s, b.Chain, at, hop, quotes)
		return nil, back, err
	}
	m.show(hop, quotes)
	switch b.Verdict {
	case Return:
		s.returning = &hop
		return nil, []State{s}, nil
	case Drop, Reject:
		m.ending(s, b.Verdict, hop)
		return nil, nil, nil
	case Translate:
		s = s.To(b.To, collect.Whole())
	case Masquerade:
		s.masquerading = &hop
	}
	m.passed = append(m.passed, s)
	return nil, nil, nil
}

// jump takes a state through another chain and gives what comes back. Where that
// changed nothing, its hops are left out.
func (m *Machine) jump(s State, name string, at place, hop collect.Hop, quotes []collect.Hop) ([]State, error) {
	next := at.table.Chains[name]
	switch {
	case next == nil:
		return nil, stopAt(hop, Stopf("there is no chain %s in this table", name))
	case slices.Contains(at.path, name):
		return nil, stopAt(hop, Stopf("a loop: the packet is in chain %s already", name))
	}
	hops, events := len(m.Hops), m.events
	m.show(hop, quotes)
	m.events = events
	to := place{at.table, next, append(slices.Clone(at.path), name), &hop}
	back, err := m.chain(s, to, 0)
	if err != nil {
		return nil, err
	}
	passedThrough := len(back) == 1 && back[0].same(s) && back[0].Share.Compare(s.Share) == 0
	if passedThrough && m.events == events {
		m.Hops = m.Hops[:hops]
	}
	return back, nil
}

// show keeps a hop and what it quotes below it.
func (m *Machine) show(hop collect.Hop, quotes []collect.Hop) {
	if hop.Note != "" {
		m.events++
	}
	m.Hops = append(m.Hops, hop)
	for _, q := range quotes {
		q.Depth, q.Probability = hop.Depth+1, hop.Probability
		m.Hops = append(m.Hops, q)
	}
}

// stopAt completes a Stop with the hop it happened at and keeps any other error.
func stopAt(hop collect.Hop, err error) error {
	var stop *Stop
	if !errors.As(err, &stop) {
		return err
	}
	at := stop.Hop
	if at.File == "" {
		at.Where, at.File, at.Line = hop.Where, hop.File, hop.Line
	}
	at.Depth, at.Probability = hop.Depth, hop.Probability
	return &Stop{at}
}
