package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// hostile is a text with all that could get out of where it is put.
const hostile = "a]]>&\"'<b/>\x00\x1b[31m\xff\u202e\ufffe|`*\n# c"

// judged are two runs: one with a check of each verdict and hostile texts
// wherever a cluster or a file has a say, and one that passed.
func judged(t *testing.T) []IndexEntry {
	f := newFixture(t, "ipvs")
	f.run.Guest = &results.Guest{}
	f.run.Guest.Clock = "instructions"
	f.run.Image.Reference = hostile
	ref := collect.Ref{File: "worker/ip_vs.txt", Line: collect.Line{Number: 12, Text: "TCP"}}
	bad := IndexEntry{Run: f.run, Evidence: f.e, Dir: "results/service-path/ipvs", Checks: []collect.Check{
		{ID: "mode.actual", Statement: "It is so.", Verdict: collect.Pass, Reason: "a note"},
		{ID: "kernel.table", Statement: "It is as the API asks.", Verdict: collect.Fail, Reason: "worker: no backend (and 1 more)", Findings: []collect.Finding{
			{Node: "worker", Text: "no backend", Ref: ref}, {Node: "worker2", Text: hostile},
		}},
		{ID: "traffic.source", Statement: "Sources fit.", Verdict: collect.Inconclusive, Reason: hostile, Findings: []collect.Finding{{Text: "is missing", Ref: collect.Ref{File: hostile}}}},
		{ID: hostile, Statement: hostile, Verdict: collect.Skip, Reason: hostile},
	}}
	bad.Run.Scenario.Metadata.Name = hostile
	good := newFixture(t, "iptables")
	return []IndexEntry{bad, {Run: good.run, Evidence: good.e, Checks: good.checks, Dir: "results/service-path/iptables"}}
}

// element is XML as it was read back.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// junitForm is what an element may hold, in this order, and must have as attributes.
var junitForm = map[string]struct{ children, attrs []string }{
	"testsuites": {[]string{"testsuite"}, []string{"name", "tests", "failures", "errors", "skipped", "time"}},
	"testsuite":  {[]string{"properties", "testcase"}, []string{"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}},
	"properties": {[]string{"property"}, nil},
	"property":   {nil, []string{"name", "value"}},
	"testcase":   {[]string{"failure", "error", "skipped"}, []string{"name", "classname"}},
	"failure":    {nil, []string{"message", "type"}},
	"error":      {nil, []string{"message", "type"}},
	"skipped":    {nil, []string{"message"}},
}

// conform checks an element and all below it against junitForm.
func conform(t *testing.T, e element) {
	t.Helper()
	want, known := junitForm[e.XMLName.Local]
	if !known {
		t.Fatalf("<%s> is no element of JUnit", e.XMLName.Local)
	}
	var attrs []string
	for _, a := range e.Attrs {
		attrs = append(attrs, a.Name.Local)
	}
	if !slices.Equal(attrs, want.attrs) {
		t.Errorf("<%s> has attributes %q, want %q", e.XMLName.Local, attrs, want.attrs)
	}
	last := 0
	for _, child := range e.Children {
		at := slices.Index(want.children, child.XMLName.Local)
		if at < last {
			t.Errorf("<%s> in <%s>, or behind what has to follow", child.XMLName.Local, e.XMLName.Local)
		}
		last = at
		conform(t, child)
	}
	for _, a := range e.Attrs {
		if slices.Contains([]string{"tests", "failures", "errors", "skipped"}, a.Name.Local) {
			if _, err := strconv.Atoi(a.Value); err != nil {
				t.Errorf("%s=%q", a.Name.Local, a.Value)
			}
		}
	}
}

func readBack(t *testing.T, report []byte) element {
	t.Helper()
	if !utf8.Valid(report) || !bytes.HasPrefix(report, []byte(xml.Header)) {
		t.Fatalf("no UTF-8, or no header:\n%q", report)
	}
	decoder := xml.NewDecoder(bytes.NewReader(report))
	var root element
	if err := decoder.Decode(&root); err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	if _, err := decoder.Token(); err != io.EOF && err != nil {
		t.Errorf("behind the root: %v", err)
	}
	conform(t, root)
	return root
}

func TestJUnit(t *testing.T) {
	report, err := JUnit(judged(t))
	if err != nil {
		t.Fatal(err)
	}
	root := readBack(t, report)
	counts := func(e element) string {
		return strings.Join([]string{e.attr("tests"), e.attr("failures"), e.attr("errors"), e.attr("skipped"), e.attr("time")}, " ")
	}
	if got := counts(root); got != "6 1 1 1 129.080" {
		t.Errorf("all: %s", got)
	}
	ipvs, iptables := root.Children[0], root.Children[1]
	if got := counts(ipvs); got != "4 1 1 1 64.540" || ipvs.attr("timestamp") != "2026-11-29T14:08:00" {
		t.Errorf("%s at %s", got, ipvs.attr("timestamp"))
	}
	if iptables.attr("name") != "service-path/iptables" || counts(iptables) != "2 0 0 0 64.540" {
		t.Errorf("%s: %s", iptables.attr("name"), counts(iptables))
	}
	properties := map[string]string{}
	for _, p := range ipvs.Children[0].Children {
		properties[p.attr("name")] = p.attr("value")
	}
	for name, want := range map[string]string{
		"Kubernetes": "v1.35.0", "kernel": "6.18.44", "clock": "instructions", "harness": "0123456789ab, modified", "module sigs.k8s.io/kind": "v0.31.0",
		"node image": printable(hostile),
	} {
		if properties[name] != strings.ToValidUTF8(strings.ReplaceAll(want, "\ufffe", "\ufffd"), "\ufffd") {
			t.Errorf("property %s is %q, want %q", name, properties[name], want)
		}
	}
	cases := ipvs.Children[1:]
	if pass := cases[0]; pass.attr("name") != "mode.actual" || len(pass.Children) != 0 {
		t.Errorf("passed: %+v", pass)
	}
	failure := cases[1].Children[0]
	if failure.XMLName.Local != "failure" || failure.attr("message") != "worker: no backend (and 1 more)" {
		t.Errorf("failed: %+v", failure)
	}
	for _, want := range []string{"want: It is as the API asks.\n", "results/service-path/ipvs/raw/worker/ip_vs.txt:12: no backend\n", "worker2: a]]>&\"'<b/>"} {
		if !strings.Contains(failure.Text, want) {
			t.Errorf("no %q in %q", want, failure.Text)
		}
	}
	if open := cases[2].Children[0]; open.XMLName.Local != "error" || open.attr("type") != "inconclusive" {
		t.Errorf("inconclusive: %+v", open)
	}
	if skip := cases[3].Children[0]; skip.XMLName.Local != "skipped" || !strings.HasPrefix(skip.attr("message"), "a]]>&\"'<b/>\ufffd") {
		t.Errorf("skipped: %+v", skip)
	}
}

// TestJUnitImported: evidence from elsewhere has no times.
func TestJUnitImported(t *testing.T) {
	run := results.Run{Imported: &results.Imported{Map: "m", Recorded: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))}}
	run.Scenario.Metadata, run.Experiment.Metadata = spec.Metadata{Name: "s"}, spec.Metadata{Name: "x"}
	report, err := JUnit([]IndexEntry{{Run: run}})
	if err != nil {
		t.Fatal(err)
	}
	if suite := readBack(t, report).Children[0]; suite.attr("timestamp") != "2026-01-02T02:04:05" || suite.attr("time") != "0.000" {
		t.Errorf("%+v", suite)
	}
}

func TestJUnitOfNothing(t *testing.T) {
	report, err := JUnit(nil)
	if root := readBack(t, report); err != nil || root.attr("tests") != "0" {
		t.Errorf("%v\n%s", err, report)
	}
}

// FuzzJUnit: whatever a check says, the report can be read back and has it in
// its place.
func FuzzJUnit(f *testing.F) {
	for _, seed := range []string{hostile, "", "\xed\xa0\x80", "<![CDATA[", "&#0;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		report, err := JUnit([]IndexEntry{{Dir: text, Checks: []collect.Check{
			{ID: text, Statement: text, Verdict: collect.Fail, Reason: text, Findings: []collect.Finding{{Node: text, Text: text, Ref: collect.Ref{File: text}}}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		root := readBack(t, report)
		if len(root.Children) != 1 || root.attr("failures") != "1" || len(root.Children[0].Children[0].Children) != 0 {
			t.Errorf("%s", report)
		}
	})
}

func TestStepSummary(t *testing.T) {
	runs := judged(t)
	page := string(StepSummary(runs))
	for _, want := range []string{
		"| Scenario | Experiment | Verdict | Checks |\n",
		" | service-path | ✗ fail | 1 of 4 checks passed, 1 failed (`kernel.table`), 1 inconclusive (`traffic.source`), 1 skipped (",
		"| `iptables` | service-path | ✓ pass | all 2 checks passed |\n",
		"**`kernel.table` of `service-path` on ",
		": fail.** Want: It is as the API asks.\n\n- worker: no backend (`results/service-path/ipvs/raw/worker/ip_vs.txt:12`)\n- worker2: ",
		"inconclusive.** Want: Sources fit. a\\]\\]&gt;&amp;",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "#") || strings.Contains(line, "<b/>") || strings.ContainsRune(line, '\x1b') {
			t.Errorf("line %d got out of its place: %q", i+1, line)
		}
		if cells := strings.Count(line, "|"); strings.HasPrefix(line, "|") && cells != 5 {
			t.Errorf("line %d has another number of cells: %q", i+1, line)
		}
	}
	for i := range 2 * mostFindings {
		runs[0].Checks[1].Findings = append(runs[0].Checks[1].Findings, collect.Finding{Text: fmt.Sprint(i)})
	}
	if page := string(StepSummary(runs)); !strings.Contains(page, "- and 12 more, in `evidence.json`\n") {
		t.Errorf("all findings are told:\n%s", page)
	}
}
