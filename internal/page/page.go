package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode"

	"service-dataplane/internal/report"
	"service-dataplane/pkg/collect"
)

var (
	//go:embed page.html
	layout string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// document is what the template is given.
type document struct {
	Policy      string
	Style       template.CSS
	Script      template.JS
	Facts       []fact
	Overall     verdict
	Tally       []tally
	Experiments []experiment
}

// fact is a line of a list: what, and what of it.
type fact struct {
	Name   string
	Values []string
	// Verbatim values are names as a program writes them.
	Verbatim bool
}

// experiment is the runs of one, side by side.
type experiment struct {
	ID, Name, Title string
	Refusal         bool
	Rows            []report.Row
	Runs            []run
}

// Page is results/index.html. The Dir of each run is its way from there.
func Page(runs []report.IndexEntry) ([]byte, error) {
	runs = slices.SortedFunc(slices.Values(runs), func(a, b report.IndexEntry) int { return cmp.Compare(a.Dir, b.Dir) })
	d := document{Policy: policy(), Style: template.CSS(style), Script: template.JS(script), Facts: facts(runs)}
	var checks []collect.Check
	known := map[string]bool{}
	of := map[string][]report.IndexEntry{}
	for _, r := range runs {
		checks = append(checks, r.Checks...)
		of[r.Evidence.Experiment] = append(of[r.Evidence.Experiment], r)
	}
	d.Overall, d.Tally = overall(checks), tallies(checks)
	for _, r := range runs {
		name := r.Evidence.Experiment
		if of[name] == nil {
			continue
		}
		x := experiment{ID: unique(known, "x-"+name), Name: name, Title: r.Run.Experiment.Metadata.Title, Refusal: r.Run.Experiment.Spec.Refusal != nil}
		shown := report.Shown(of[name])
		recorded := report.Recorded(of[name])
		if !x.Refusal {
			x.Rows = slices.Concat(shown, recorded)
		}
		for i, r := range of[name] {
			x.Runs = append(x.Runs, runOf(r, unique(known, r.Dir), ofRun(shown, i), ofRun(recorded, i)))
		}
		d.Experiments = append(d.Experiments, x)
		delete(of, name)
	}
	// What one reads first is what was measured, not what was refused.
	slices.SortStableFunc(d.Experiments, func(a, b experiment) int { return boolean(a.Refusal) - boolean(b.Refusal) })
	parsed, err := template.New("page").Parse(layout)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, d); err != nil {
		return nil, err
	}
	return bytes.Map(visible, out.Bytes()), nil
}

// policy lets a browser use the style and the script of the page and nothing
// else, whoever wrote it.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'", hash(style), hash(script))
}

// visible shows what would move a cursor or the reading direction as U+FFFD.
func visible(r rune) rune {
	if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
		return unicode.ReplacementChar
	}
	return r
}

// facts are what all runs have in common, or between which they are.
func facts(runs []report.IndexEntry) []fact {
	var days, kubernetes, kernels, revisions []string
	for _, r := range runs {
		days = append(days, report.RecordedAt(r).UTC().Format("2006-01-02"))
		for _, n := range r.Evidence.Nodes {
			kubernetes, kernels = append(kubernetes, n.KubeletVersion), append(kernels, n.KernelRelease)
		}
		if r.Run.Imported == nil {
			revisions = append(revisions, short(r.Run.Harness.Revision))
		}
	}
	span := sorted(days)
	if len(span) > 1 {
		span = []string{span[0] + " to " + span[len(span)-1]}
	}
	all := []fact{{"Recorded", span, false}, {"Kubernetes", sorted(kubernetes), true}, {"Kernel", sorted(kernels), true}, {"Revision", sorted(revisions), true}}
	return slices.DeleteFunc(all, func(f fact) bool { return len(f.Values) == 0 })
}

func ofRun(rows []report.Row, i int) []fact {
	var all []fact
	for _, r := range rows {
		if len(r.Cells[i]) > 0 {
			all = append(all, fact{r.Name, r.Cells[i], r.Verbatim})
		}
	}
	return all
}

// unique makes a name an identifier that no other element has.
func unique(known map[string]bool, name string) string {
	id := strings.Trim(strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return '-'
	}, name), "-")
	for n := 2; known[id] || id == ""; n++ {
		id = fmt.Sprintf("%s-%d", strings.TrimSuffix(id, fmt.Sprintf("-%d", n-1)), n)
	}
	known[id] = true
	return id
}

// sorted has each text once, and none that is empty.
func sorted(all []string) []string {
	all = slices.DeleteFunc(slices.Clone(all), func(text string) bool { return text == "" })
	slices.Sort(all)
	return slices.Compact(all)
}

// short is as much of a revision as names it.
func short(revision string) string { return revision[:min(len(revision), 12)] }

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
