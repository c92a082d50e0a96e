package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// Result is one result directory, derived from its raw files.
type Result struct {
	Run      results.Run
	Evidence collect.Evidence
	Checks   []collect.Check
}

// Name of a run. Where two runs of different names were compared, the part that
// differs has both: "ipvs → ipvs-lc".
type Name struct {
	Experiment string `json:"experiment" yaml:"experiment"`
	Scenario   string `json:"scenario" yaml:"scenario"`
}

// Name is that of the run's experiment and scenario.
func (r Result) Name() Name {
	return Name{r.Run.Experiment.Metadata.Name, r.Run.Scenario.Metadata.Name}
}

// Kind says what a difference means.
type Kind string

// The kinds of differences.
const (
	// Regression: NEW shows something else than BASE, or less.
	Regression Kind = "regression"
	// Improvement: a check passes that did not, or that BASE did not make.
	Improvement Kind = "improvement"
	// Change is neither.
	Change Kind = "change"
)

// Difference is one thing that two runs show differently.
type Difference struct {
	Kind Kind `json:"kind" yaml:"kind"`
	Name `yaml:",inline"`
	// Nodes on which it is so; none where it is no matter of a node.
	Nodes []string `json:"nodes,omitempty" yaml:"nodes,omitempty"`
	// Subject is what differs, "" for the run itself, and Text how.
	Subject string `json:"subject,omitempty" yaml:"subject,omitempty"`
	Text    string `json:"text" yaml:"text"`

	everywhere bool // Nodes are all there are
}

// Where is the node, all of several, or "every node".
func (d Difference) Where() string {
	if d.everywhere && len(d.Nodes) > 1 {
		return "every node"
	}
	return strings.Join(d.Nodes, ", ")
}

// Statement is subject and text as one sentence.
func (d Difference) Statement() string {
	return strings.TrimSpace(d.Subject + " " + d.Text)
}

// Provenance is a version, or another circumstance of runs, that has changed.
type Provenance struct {
	// Runs of which it is so.
	Runs []Name `json:"runs" yaml:"runs"`
	Text string `json:"text" yaml:"text"`
}

// Report is all that differs.
type Report struct {
	// Compared are the runs that both sides have.
	Compared    []Name       `json:"compared" yaml:"compared"`
	Differences []Difference `json:"differences" yaml:"differences"`
	Provenance  []Provenance `json:"provenance" yaml:"provenance"`
	// Notes say of a result directory that it is not what its raw files lead to.
	Notes []string `json:"notes,omitempty" yaml:"notes,omitempty"`
}

// Of are the differences of a kind.
func (r Report) Of(kind Kind) []Difference {
	return slices.DeleteFunc(slices.Clone(r.Differences), func(d Difference) bool { return d.Kind != kind })
}

// Label of a run is its scenario, with the experiment where the report has
// several of the scenario.
func (r Report) Label(name Name) string {
	other := func(n Name) bool { return n.Scenario == name.Scenario && n.Experiment != name.Experiment }
	if slices.ContainsFunc(r.Compared, other) || slices.ContainsFunc(r.Differences, func(d Difference) bool { return other(d.Name) }) {
		return name.Experiment + "/" + name.Scenario
	}
	return name.Scenario
}

// Summary counts: "6 runs compared: 1 regression, 0 improvements, 2 other changes".
func (r Report) Summary() string {
	text := count(len(r.Compared), "run") + " compared: "
	if len(r.Differences) == 0 {
		text += "no difference"
	} else {
		text += fmt.Sprintf("%s, %s, %s", count(len(r.Of(Regression)), "regression"),
			count(len(r.Of(Improvement)), "improvement"), count(len(r.Of(Change)), "other change"))
	}
	if len(r.Provenance) > 0 {
		text += "; provenance differs"
	}
	return text
}

func count(n int, thing string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Runs compares two runs, whatever their names.
func Runs(base, new Result) Report {
	a, b := base.Name(), new.Name()
	name := a
	if a.Experiment != b.Experiment {
		name.Experiment = arrow(a.Experiment, b.Experiment)
	}
	if a.Scenario != b.Scenario {
		name.Scenario = arrow(a.Scenario, b.Scenario)
	}
	r := Report{Differences: []Difference{}, Provenance: []Provenance{}}
	r.add(name, base, new)
	return r
}

// Trees compares the runs that both sides have, by their names. One that only
// BASE has is a regression, unless that is allowed.
func Trees(base, new []Result, allowMissing bool) Report {
	r := Report{Compared: []Name{}, Differences: []Difference{}, Provenance: []Provenance{}}
	byName := func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Name().Experiment, b.Name().Experiment), cmp.Compare(a.Name().Scenario, b.Name().Scenario))
	}
	find := func(all []Result, one Result) int {
		return slices.IndexFunc(all, func(other Result) bool { return other.Name() == one.Name() })
	}
	missing := Regression
	if allowMissing {
		missing = Change
	}
	for _, b := range slices.SortedFunc(slices.Values(base), byName) {
		if i := find(new, b); i >= 0 {
			r.add(b.Name(), b, new[i])
		} else {
			r.Differences = append(r.Differences, Difference{Kind: missing, Name: b.Name(), Text: "is missing in NEW"})
		}
	}
	for _, n := range slices.SortedFunc(slices.Values(new), byName) {
		if find(base, n) < 0 {
			r.Differences = append(r.Differences, Difference{Kind: Change, Name: n.Name(), Text: "is in NEW only"})
		}
	}
	return r
}

func (r *Report) add(name Name, base, new Result) {
	r.Compared = append(r.Compared, name)
	for _, d := range compare(evidence.Normalize(base.Evidence, base.Checks), evidence.Normalize(new.Evidence, new.Checks)) {
		d.Name = name
		r.Differences = append(r.Differences, d)
	}
	for _, text := range provenance(base, new) {
		i := slices.IndexFunc(r.Provenance, func(p Provenance) bool { return p.Text == text })
		if i < 0 {
			i = len(r.Provenance)
			r.Provenance = append(r.Provenance, Provenance{Text: text})
		}
		r.Provenance[i].Runs = append(r.Provenance[i].Runs, name)
	}
}
