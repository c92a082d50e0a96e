package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"service-dataplane/internal/diff"
)

// different is a report with one of each, and a name that tries to get out.
func different() diff.Report {
	ipvs, pool := diff.Name{Experiment: "service-path", Scenario: "ipvs"}, diff.Name{Experiment: "wrong-pool", Scenario: "calico"}
	return diff.Report{
		Compared: []diff.Name{ipvs, pool},
		Differences: []diff.Difference{
			{Kind: diff.Regression, Name: ipvs, Nodes: []string{"worker", "worker2"}, Subject: "svc:echo-server NodePort 30081:", Text: "backend pod:echo-server@worker2 is missing"},
			{Kind: diff.Improvement, Name: pool, Subject: "check refusal.message:", Text: "fail → pass"},
			{Kind: diff.Change, Name: diff.Name{Experiment: "service-path", Scenario: "a|b`\x1b[31m"}, Text: "is in NEW only"},
		},
		Provenance: []diff.Provenance{
			{Runs: []diff.Name{ipvs, pool}, Text: "Kubernetes v1.35.0 → v1.36.0"},
			{Runs: []diff.Name{pool}, Text: "chart a → b"},
		},
		Notes: []string{"NEW: results/ipvs/normalized.json is not what the raw files lead to"},
	}
}

func TestDiffTable(t *testing.T) {
	var out strings.Builder
	DiffTable(&out, different())
	const want = `✗ ipvs worker, worker2: svc:echo-server NodePort 30081: backend
    pod:echo-server@worker2 is missing
✓ calico: check refusal.message: fail → pass
– a|b` + "`\ufffd" + `[31m is in NEW only
provenance:
  every run: Kubernetes v1.35.0 → v1.36.0
  calico: chart a → b
note: NEW: results/ipvs/normalized.json is not what the raw files lead to
`
	if out.String() != want {
		t.Errorf("got:\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > columns {
			t.Errorf("wider than %d columns: %s", columns, line)
		}
	}
}

func TestDiffTableIsEmpty(t *testing.T) {
	var out strings.Builder
	DiffTable(&out, diff.Report{Compared: make([]diff.Name, 3)})
	if out.String() != "" {
		t.Errorf("nothing differs: %q", out.String())
	}
}

func TestDiffMarkdown(t *testing.T) {
	var out strings.Builder
	DiffMarkdown(&out, different())
	const want = `**2 runs compared: 1 regression, 1 improvement, 1 other change; provenance differs**

|  | Scenario | Node | Difference |
| --- | --- | --- | --- |
| ✗ regression | ` + "`ipvs`" + ` | worker, worker2 | svc:echo-server NodePort 30081: backend pod:echo-server@worker2 is missing |
| ✓ improvement | ` + "`calico`" + ` | – | check refusal.message: fail → pass |
| – change | <code>a&#124;b&#96;` + "\ufffd" + `\[31m</code> | – | is in NEW only |

| Runs | Provenance |
| --- | --- |
| every run | Kubernetes v1.35.0 → v1.36.0 |
| calico | chart a → b |

NEW: results/ipvs/normalized.json is not what the raw files lead to
`
	if out.String() != want {
		t.Errorf("got:\n%s", out.String())
	}
}
