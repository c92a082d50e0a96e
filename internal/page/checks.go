package page

import (
	"cmp"
	"fmt"

	"service-dataplane/pkg/collect"
)

// verdict is a verdict for the eye: a class, a sign and a word.
type verdict struct{ Class, Sign, Word string }

func verdictOf(v collect.Verdict) verdict {
	switch v {
	case collect.Pass:
		return verdict{"pass", "✓", "passed"}
	case collect.Fail:
		return verdict{"fail", "✗", "failed"}
	case collect.Skip:
		return verdict{"skip", "–", "skipped"}
	case collect.Inconclusive:
		return verdict{"open", "?", "inconclusive"}
	}
	return verdict{"open", "?", string(v)}
}

func overall(checks []collect.Check) verdict {
	if len(checks) == 0 {
		return verdict{"open", "?", "not checked"}
	}
	return verdictOf(collect.Overall(checks))
}

// tally is how many checks have a verdict.
type tally struct {
	verdict
	Count int
}

// tallies leave out what no check has.
func tallies(checks []collect.Check) []tally {
	counts := map[collect.Verdict]int{}
	for _, c := range checks {
		counts[c.Verdict]++
	}
	var all []tally
	for _, v := range []collect.Verdict{collect.Fail, collect.Inconclusive, collect.Pass, collect.Skip} {
		if counts[v] > 0 {
			all = append(all, tally{verdictOf(v), counts[v]})
		}
	}
	return all
}

// check is one with what decided it.
type check struct {
	verdict
	ID, Statement, Reason string
	Findings              []finding
	// Open ones are those a reader looks for.
	Open bool
}

// finding is a place and what it shows.
type finding struct {
	Node, Text string
	Line       line
}

// line is a line of a raw file.
type line struct {
	// At is "FILE:LINE"; Href leads to the file and is "" where there is none.
	At, Href, Raw string
}

func (s source) line(ref collect.Ref) line {
	if ref.File == "" {
		return line{}
	}
	l := line{At: ref.File, Href: s.href(ref.File), Raw: ref.Line.Text}
	if ref.Line.Number > 0 {
		l.At = fmt.Sprintf("%s:%d", ref.File, ref.Line.Number)
	}
	return l
}

func (s source) checks(all []collect.Check) []check {
	var views []check
	for _, c := range all {
		view := check{verdict: verdictOf(c.Verdict), ID: c.ID, Statement: c.Statement, Reason: c.Reason,
			Open: c.Verdict == collect.Fail || c.Verdict == collect.Inconclusive}
		for _, f := range c.Findings {
			view.Findings = append(view.Findings, finding{cmp.Or(f.Node, "cluster"), f.Text, s.line(f.Ref)})
		}
		views = append(views, view)
	}
	return views
}
