package report

import (
	"strings"
	"testing"
	"time"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// imported is evidence that was recorded elsewhere, without a log of worker.
func imported(t *testing.T) *fixture {
	f := newFixture(t, "iptables")
	f.run = results.Run{
		Imported: &results.Imported{
			Map: "by-hand", SHA256: strings.Repeat("0f", 32),
			Recorded: time.Date(2026, 11, 29, 15, 4, 0, 0, time.UTC), On: "a cluster of three",
		},
		Scenario: f.run.Scenario, Experiment: f.run.Experiment,
	}
	delete(f.raw, "worker/kube-proxy.log")
	f.e.Mode.Nodes[1].Log = collect.Observation{Ref: collect.Ref{File: "worker/kube-proxy.log"}}
	f.checks[0].Findings = nil
	f.e.Problems = []collect.Problem{{Node: "worker", File: "worker/kube-proxy.log", Text: evidence.NeverCollected}}
	for i := range f.e.Nodes {
		f.e.Nodes[i].KernelRelease = ""
	}
	return f
}

// TestImportedPage: it says first what it is, and nothing of what is not known.
func TestImportedPage(t *testing.T) {
	f := imported(t)
	page := f.page()
	f.linksHold(page)
	head, _, _ := strings.Cut(page, "## What was run")
	for _, want := range []string{
		"\n\n> **Recorded elsewhere.** No run of this program made this evidence.",
		" on 2026-11-29 at 15:04:00 UTC on a cluster of three, and imported by the map `by-hand`",
	} {
		if i := strings.Index(head, want); i < 0 || i > strings.Index(head, "implements Service") {
			t.Errorf("the page does not begin with %q:\n%s", want, head)
		}
	}
	for _, want := range []string{"| Map | `by-hand` |", "| Recorded | 2026-11-29 15:04:00 UTC |", strings.Repeat("0f", 32), "does not say (`worker/kube-proxy.log`)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, not := range []string{"(empty)", "0001-01-01", "0 CPUs", "Node image", "make experiment", "| CNI |", "| Kernel |", "Revision", "| Seconds |"} {
		if strings.Contains(page, not) {
			t.Errorf("the page says %q", not)
		}
	}
}

// TestPagesOfRunsSayNothingOfImports: nor do they lose a row.
func TestPagesOfRunsSayNothingOfImports(t *testing.T) {
	page := newFixture(t, "iptables").page()
	for _, want := range []string{"| Node image |", "| Host |", "| CNI |", "| Repeat |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a run lacks %q", want)
		}
	}
	if strings.Contains(page, "Recorded elsewhere") || strings.Contains(page, "SHA-256 of the map") {
		t.Error("the page of a run says that it was recorded elsewhere")
	}
}

func TestImportedInIndex(t *testing.T) {
	f, run := imported(t), newFixture(t, "iptables")
	page := string(Index([]IndexEntry{
		{Run: run.run, Evidence: run.e, Checks: run.checks, Dir: "service-path/iptables"},
		{Run: f.run, Evidence: f.e, Checks: f.checks, Dir: "service-path/by-hand"},
	}))
	for _, want := range []string{
		"|  | [iptables, recorded](service-path/by-hand/README.md) | [iptables](service-path/iptables/README.md) |",
		"| Kernel | – | `6.18.44` |",
		"| Date | 2026-11-29 | 2026-11-29 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
