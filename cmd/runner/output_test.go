package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"service-dataplane/internal/host"
	"service-dataplane/internal/lab"
	"service-dataplane/pkg/collect"
)

// TestVerify is `runner verify` on a copy of a committed result.
func TestVerify(t *testing.T) {
	repo := tree(t)
	dir := filepath.Join(repo, "results", "service-path", "iptables")
	if err := os.CopyFS(dir, os.DirFS("../../results/service-path/iptables")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(repo)
	verify := func(form string) (string, int) {
		out, err := runner(t.Context(), "verify", "results", "--output", form)
		return out, exitCode(err)
	}
	// The page follows the report's words; what matters here is what is said.
	if err := os.WriteFile("results/README.md", []byte("# Good news\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, code := verify("table")
	if code != exitFailed || !strings.Contains(out, "results: NOT verified\n  README.md: line 1 is \"# Good news\"") {
		t.Errorf("an edited page: exit code %d\n%s", code, out)
	}
	if err := os.Remove("results/README.md"); err != nil {
		t.Fatal(err)
	}
	out, code = verify("table")
	if code != exitFailed || !strings.Contains(out, "results: NOT verified\n  README.md: is missing") {
		t.Errorf("a missing page: exit code %d\n%s", code, out)
	}

	replace(t, "results/service-path/iptables/raw/worker/uname.txt", ".", ",")
	out, code = verify("table")
	for _, want := range []string{"results/service-path/iptables: NOT verified\n", "  raw/worker/uname.txt: changed since it was recorded", "kernel.table"} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("a raw file changed: exit code %d, want %q\n%s", code, want, out)
		}
	}
	for form, decode := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal} {
		out, code := verify(form)
		var verified []lab.Verified
		if err := decode([]byte(out), &verified); err != nil || code != exitFailed || len(verified) != 2 {
			t.Fatalf("%s: exit code %d, %d directories, %v", form, code, len(verified), err)
		}
		if v := verified[0]; v.Dir != "results/service-path/iptables" || !v.Failed() || len(v.Checks) == 0 || v.Differences[0].File != "raw/worker/uname.txt" {
			t.Errorf("%s: %s, %+v", form, v.Dir, v.Differences)
		}
	}
}

func TestPrintVerified(t *testing.T) {
	var out strings.Builder
	printVerified(&out, []lab.Verified{
		{Dir: "results/a", Checks: []collect.Check{{ID: "mode.actual", Statement: "As declared.", Verdict: collect.Pass}}},
		{Dir: "results", Differences: []lab.Difference{{File: "README.md", Text: "line 1 is new"}}},
	})
	const want = `results/a: verified
✓ mode.actual  pass  As declared.
1 passed, 0 failed, 0 skipped, 0 inconclusive

results: NOT verified
  README.md: line 1 is new

`
	if out.String() != want {
		t.Errorf("got:\n%s", out.String())
	}
}

func TestPrintOutcomes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var out strings.Builder
	printOutcomes(&out, []lab.Outcome{
		{Experiment: "service-path", Scenario: "iptables", Verdict: collect.Pass, Seconds: 88.04, Dir: filepath.Join(dir, "results/service-path/iptables"),
			Checks: []collect.Check{{ID: "mode.actual", Statement: "As declared.", Verdict: collect.Pass}}},
		{Experiment: "service-path", Scenario: "ipvs", Verdict: collect.Skip, Reason: "ip_vs: not in this kernel. modprobe ip_vs\n"},
	})
	const want = `service-path on iptables: pass (88.0 s)
✓ mode.actual  pass  As declared.
1 passed, 0 failed, 0 skipped, 0 inconclusive
results: results/service-path/iptables

service-path on ipvs: skip
ip_vs: not in this kernel. modprobe ip_vs

`
	if out.String() != want {
		t.Errorf("got:\n%s", out.String())
	}
}

func TestPrintFindings(t *testing.T) {
	var out strings.Builder
	ok := host.Finding{Subject: "engine", State: host.OK, Text: "Docker 28.0.0"}
	lacks := host.Finding{Subject: "ip_vs", State: host.Missing, Text: "not in this kernel", Cure: "modprobe ip_vs"}
	printFindings(&out, "host: "+verdict([]host.Finding{ok}), []host.Finding{ok})
	printFindings(&out, "scenario ipvs: "+verdict([]host.Finding{ok, lacks}), []host.Finding{ok, lacks})
	const want = `host: can run
  ok       engine          Docker 28.0.0

scenario ipvs: cannot run here
  ok       engine          Docker 28.0.0
  missing  ip_vs           not in this kernel
                         → modprobe ip_vs

`
	if out.String() != want {
		t.Errorf("got:\n%s", out.String())
	}
}

func TestRelative(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for path, want := range map[string]string{
		filepath.Join(dir, "results"): "results",
		dir:                           ".",
		"/":                           "/",
		"results":                     "results",
	} {
		if got := relative(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
