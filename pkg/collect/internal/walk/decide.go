package walk

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"service-dataplane/pkg/collect"
)

// Stop is an error that stops the walk at a hop, whose Note says why.
type Stop struct{ Hop collect.Hop }

func (s *Stop) Error() string { return s.Hop.String() }

// Stopf is a Stop at the rule that is being met.
func Stopf(format string, args ...any) error {
	return &Stop{collect.Hop{Note: fmt.Sprintf(format, args...)}}
}

// StopAt is a Stop elsewhere than at that rule.
func StopAt(hop collect.Hop, format string, args ...any) error {
	hop.Note = fmt.Sprintf(format, args...)
	return &Stop{hop}
}

// undecided asks for an assumption.
type undecided struct{ hop collect.Hop }

func (u *undecided) Error() string { return u.hop.String() }

func key(hop collect.Hop) string { return fmt.Sprint(hop.File, hop.Line) }

// assume decides whether a rule matches that asks for something unknown.
func (m *Machine) assume(hop collect.Hop, e Effect) (Effect, error) {
	hop.Note = "the evidence does not tell " + e.Unknown
	matches, known := m.assumed[key(hop)]
	if !known {
		return Effect{}, &undecided{hop}
	}
	e.Note = hop.Note
	if !matches {
		e.Branches = nil
	}
	return e, nil
}

// maxUndecided bounds the rules of one walk that ask what is not known, since all
// ways are tried.
const maxUndecided = 8

// Decide makes a trace of what run walks. Where a rule asks for something that the
// evidence does not tell, the walk is made both ways. If both give the connections
// to the same backends, it goes on, with the question whether a rule masquerades
// left open where the two differ; otherwise the walk stops at that rule.
func Decide(run func(*Machine) ([]State, error)) (collect.Trace, error) {
	return decide(run, map[string]bool{})
}

func decide(run func(*Machine) ([]State, error), assumed map[string]bool) (collect.Trace, error) {
	m := &Machine{assumed: assumed}
	states, err := run(m)
	t := collect.Trace{Hops: m.Hops, Backends: []collect.TracedBackend{}, Endings: m.Endings}
	var stop *Stop
	var open *undecided
	switch {
	case errors.As(err, &stop):
		return stopped(t, stop.Hop), nil
	case errors.As(err, &open) && len(assumed) == maxUndecided:
		return stopped(t, open.hop), nil
	case errors.As(err, &open):
		return bothWays(run, t, open.hop, assumed)
	case err != nil:
		return t, err
	}
	for _, s := range states {
		if s.Translated {
			t.Backends = append(t.Backends, s.Backend())
			continue
		}
		t.Endings = append(t.Endings, collect.Ending{
			Probability: s.Share, Fate: collect.Untranslated,
			By: collect.Hop{Note: "no rule translates " + s.Packet.Destination.String()},
		})
	}
	t.Finish()
	return t, nil
}

// stopped is the trace up to a hop. What follows from the rest is not known.
func stopped(t collect.Trace, hop collect.Hop) collect.Trace {
	t.Stopped = &hop
	t.Backends, t.Endings = []collect.TracedBackend{}, nil
	unknown := collect.Answer{Decision: collect.Depends, Reason: "the walk stopped", By: &hop}
	t.Marked, t.Masqueraded = unknown, unknown
	return t
}

func bothWays(run func(*Machine) ([]State, error), soFar collect.Trace, at collect.Hop, assumed map[string]bool) (collect.Trace, error) {
	var ways [2]collect.Trace
	for i, matches := range []bool{false, true} {
		assumed := maps.Clone(assumed)
		assumed[key(at)] = matches
		var err error
		if ways[i], err = decide(run, assumed); err != nil || ways[i].Stopped != nil {
			return ways[i], err
		}
	}
	t, other := ways[0], ways[1]
	if !sameEnds(t, other) {
		at.Note += ", and it decides where the connection ends"
		return stopped(soFar, at), nil
	}
	open := func(mine, others collect.Answer) collect.Answer {
		if mine.Decision == others.Decision {
			return mine
		}
		return collect.Answer{Decision: collect.Depends, Reason: at.Note, By: &at}
	}
	for i := range t.Backends {
		t.Backends[i].Marked = open(t.Backends[i].Marked, other.Backends[i].Marked)
		t.Backends[i].Masqueraded = open(t.Backends[i].Masqueraded, other.Backends[i].Masqueraded)
	}
	t.Finish()
	return t, nil
}

// sameEnds says whether connections end in the same places.
func sameEnds(a, b collect.Trace) bool {
	return slices.EqualFunc(a.Backends, b.Backends, func(a, b collect.TracedBackend) bool {
		return a.Backend == b.Backend && a.Probability.Compare(b.Probability) == 0
	}) && slices.EqualFunc(a.Endings, b.Endings, func(a, b collect.Ending) bool {
		return a.Fate == b.Fate && a.Probability.Compare(b.Probability) == 0
	})
}
