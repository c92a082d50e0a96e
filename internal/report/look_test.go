package report

import (
	"os"
	"testing"

	"service-dataplane/internal/check"
	"service-dataplane/internal/evidence"
	"service-dataplane/internal/host"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
)

func TestLook(t *testing.T) {
	for _, s := range []string{"iptables", "nftables"} {
		var run results.Run
		run.Scenario, _ = spec.LoadScenario("../../scenarios/"+s+".yaml", host.Known())
		run.Experiment, _ = spec.LoadExperiment("../../experiments/service-path.yaml", check.IDs())
		raw := os.DirFS("../evidence/testdata/" + s + "/raw")
		e, err := evidence.Decode(raw, run.Scenario, run.Experiment)
		if err != nil {
			t.Fatal(err)
		}
		checks := check.Run(e, run.Scenario, run.Experiment)
		page, err := Scenario(run, e, checks, raw)
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile("/tmp/"+s+".md", page, 0o644)
		Table(os.Stdout, checks)
	}
}
