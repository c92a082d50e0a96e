package page

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"service-dataplane/internal/report"
	"service-dataplane/pkg/collect"
)

// entry is what came of the connections through an entry point.
type entry struct {
	Name, Who, Dialled, Place string
	Answered, Sent            int
	File                      line
	// Order is the strip in words.
	Order string
	Strip []square
	More  int
	Rows  []count
	// Expected says what the marks are, or why there are none.
	Expected string
	Failures []string
	// Says is what the checks say of this entry point alone, Split what that of the
	// selection does.
	Says, Split []says
}

// square is one connection.
type square struct{ Letter, Class, Title string }

// count is what one backend got.
type count struct {
	Letter, Class, Backend, Node string
	Hits                         int
	// Bar and Mark in percent of the connections; Mark is "" without expectation.
	Bar, Mark string
	Expected  string
	Sources   []string
}

// says is a finding of a check.
type says struct {
	verdict
	ID, Text string
}

// mostSquares bounds a strip; the raw file has all attempts.
const mostSquares = 200

func (s source) entry(p collect.EntryPoint) entry {
	view := entry{Name: p.Name, Who: s.prober(p), Place: s.place(p), Answered: len(answered(p)), Sent: p.Sent, File: s.line(collect.Ref{File: p.File})}
	var targets []string
	letters := []string{}
	failed := map[string]int{}
	var errors []string
	for i, a := range p.Attempts {
		target := a.Target
		if dialled := a.DialedAddress; dialled.IsValid() && dialled.String() != target {
			target += " → " + dialled.String()
		}
		targets = append(targets, target)
		if a.Error != "" {
			if failed[a.Error]++; failed[a.Error] == 1 {
				errors = append(errors, a.Error)
			}
		}
		if i >= mostSquares {
			view.More++
			continue
		}
		letter := s.letters[a.Backend.PodIP]
		square := square{cmp.Or(letter, "?"), s.colour(letter), fmt.Sprintf("%d: %s", a.Sequence, a.Backend.Pod)}
		if a.Error != "" {
			square.Letter, square.Class, square.Title = "×", "k-failed", fmt.Sprintf("%d: %s", a.Sequence, a.Error)
		}
		view.Strip = append(view.Strip, square)
		letters = append(letters, square.Letter)
	}
	view.Dialled, view.Order = strings.Join(sorted(targets), ", "), strings.Join(letters, " ")
	for _, text := range errors {
		view.Failures = append(view.Failures, fmt.Sprintf("%d × %s", failed[text], text))
	}
	expected, why := expectation(p)
	view.Expected = why
	view.Rows = s.counts(p, expected)
	for _, c := range s.Checks {
		for _, f := range c.Findings {
			if f.Ref.File == p.File && f.Text != "" {
				view.Says = append(view.Says, says{verdictOf(c.Verdict), c.ID, f.Text})
				if strings.HasSuffix(c.ID, ".selection") {
					view.Split = append(view.Split, says{verdictOf(c.Verdict), c.ID, f.Text})
				}
			}
		}
	}
	return view
}

// expectation is the share of each backend by the walk, or why there is none.
func expectation(p collect.EntryPoint) (map[string]collect.Share, string) {
	switch {
	case len(p.Walks) != 1 || p.Walks[0].Trace.Stopped != nil:
		return nil, "No share is expected: the way was not walked to its end."
	case p.Walks[0].Trace.Selection == collect.SelectSourceHash, p.Walks[0].Trace.Selection == collect.SelectMaglev:
		return nil, fmt.Sprintf("No share is expected of one client: %s gives it one backend.", p.Walks[0].Trace.Selection)
	}
	shares := map[string]collect.Share{}
	for _, b := range p.Walks[0].Trace.Backends {
		address := b.Backend.Addr().String()
		shares[address] = shares[address].Plus(b.Probability)
	}
	return shares, "The mark is the share that the walk gives."
}

// counts has a row for each endpoint, and for whatever else answered.
func (s source) counts(p collect.EntryPoint, expected map[string]collect.Share) []count {
	type backend struct{ address, pod, node, letter string }
	var all []backend
	for _, e := range s.Evidence.Objects.Endpoints {
		all = append(all, backend{e.Address.String(), e.Pod, e.Node, s.letters[e.Address]})
	}
	hits := map[string]int{}
	sources := map[string][]string{}
	for _, a := range answered(p) {
		address := a.Backend.PodIP.String()
		if !slices.ContainsFunc(all, func(b backend) bool { return b.address == address }) {
			all = append(all, backend{address, a.Backend.Pod, a.Backend.Node, ""})
		}
		hits[address]++
		seen := a.SourceSeen.Addr()
		sources[address] = append(sources[address], fmt.Sprintf("%s, %s", seen, report.Owner(s.Evidence, p, seen)))
	}
	var rows []count
	for _, b := range all {
		row := count{Letter: cmp.Or(b.letter, "?"), Class: s.colour(b.letter), Backend: b.pod, Node: b.node, Hits: hits[b.address], Sources: sorted(sources[b.address])}
		row.Bar = percent(big.NewRat(int64(row.Hits), int64(max(1, len(p.Attempts)))))
		if share, ok := expected[b.address]; ok {
			row.Mark = percent(share.Rat())
			row.Expected = strings.TrimSuffix(new(big.Rat).Mul(share.Rat(), big.NewRat(int64(p.Sent), 1)).FloatString(1), ".0")
		}
		rows = append(rows, row)
	}
	return rows
}

func percent(share *big.Rat) string {
	return new(big.Rat).Mul(share, big.NewRat(100, 1)).FloatString(2)
}
