package check

import (
	"net/netip"
	"os"
	"testing"
	"testing/fstest"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

// partial is what is recorded of Cilium besides whole runs: the objects, and of
// each node the agent's answers and iptables' rules. What else the checks of
// modes and tables need is made up as it would be.
func partial(t *testing.T, change func(r *recorded)) subject {
	t.Helper()
	r := &recorded{T: t, raw: fstest.MapFS{}}
	r.load("cilium")
	r.read(os.DirFS("../evidence/testdata/cilium/raw"))
	change(r)
	e, err := evidence.Decode(r.raw, r.scenario, r.experiment)
	if err != nil {
		t.Fatal(err)
	}
	e.Problems = nil
	for i := range e.Nodes {
		e.Nodes[i].Addresses = []netip.Addr{e.Nodes[i].InternalIP}
	}
	for i := range e.Mode.Nodes {
		e.Mode.Nodes[i].Process = collect.Observation{Value: collect.Absent}
	}
	expect := r.scenario.Spec.Expect
	expect.Forbidden = []string{"iptables"} // what was recorded of them
	return subject{e, r.scenario.Spec.Cluster, expect, r.scenario.Spec.DataPlane, r.experiment.Spec}
}

// verdict is what a check says, and its first finding if it does not pass.
func verdict(judge func(subject, *judgement), in subject) (collect.Verdict, string) {
	var j judgement
	judge(in, &j)
	c := j.check(Definition{})
	if c.Verdict == collect.Pass {
		return c.Verdict, c.Reason
	}
	return c.Verdict, c.Findings[0].Node + ": " + c.Findings[0].Text
}
