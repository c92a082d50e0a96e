package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"service-dataplane/pkg/collect"
)

func TestTable(t *testing.T) {
	f := newFixture(t, "ipvs")
	f.everyVerdict()
	var out strings.Builder
	Table(&out, f.checks)
	golden(t, "table.txt", out.String())
}

func TestTableFitsTerminal(t *testing.T) {
	long := strings.Repeat("verylongword", 20) + " é\x1b[2J\n" + strings.Repeat("word ", 40)
	var checks []collect.Check
	for _, v := range []collect.Verdict{collect.Pass, collect.Fail, collect.Skip, collect.Inconclusive} {
		checks = append(checks, collect.Check{
			ID: "layer." + string(v), Statement: long, Verdict: v, Reason: long,
			Findings: []collect.Finding{{Node: "worker", Text: long, Ref: collect.Ref{File: strings.Repeat("x", 100), Line: collect.Line{Number: 7}}}},
		})
	}
	var out strings.Builder
	Table(&out, checks)
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
			t.Errorf("line of %d columns: %s", n, line)
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("an escape sequence reached the terminal")
	}
	if !strings.HasSuffix(out.String(), "1 passed, 1 failed, 1 skipped, 1 inconclusive\n") {
		t.Errorf("table ends without the summary:\n%s", out.String())
	}
}

func TestTableNamesHowManyFindingsAreLeft(t *testing.T) {
	findings := make([]collect.Finding, mostFindings+3)
	for i := range findings {
		findings[i].Text = "differs"
	}
	var out strings.Builder
	Table(&out, []collect.Check{{ID: "kernel.table", Verdict: collect.Fail, Reason: "differs", Findings: findings}})
	if got := strings.Count(out.String(), "differs"); got != mostFindings || !strings.Contains(out.String(), "and 3 more") {
		t.Errorf("%d findings shown:\n%s", got, out.String())
	}
}
