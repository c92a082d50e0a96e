package check

import (
	"fmt"
	"slices"
	"strings"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
)

// Definition is one check.
type Definition struct {
	ID string
	// Statement is what passing means.
	Statement string
	judge     func(subject, *judgement)
}

// Definitions are all checks there are, in the order of a report.
func Definitions() []Definition {
	return slices.Concat(modeChecks(), objectChecks(), trafficChecks(), kernelChecks(), refusalChecks(), collectChecks())
}

// IDs are those an experiment may list.
func IDs() []string {
	var ids []string
	for _, d := range Definitions() {
		ids = append(ids, d.ID)
	}
	return ids
}

// Run makes the checks the experiment lists, in its order.
func Run(e collect.Evidence, s spec.Scenario, x spec.Experiment) []collect.Check {
	definitions := Definitions()
	in := subject{e, s.Spec.Cluster, s.Spec.Expect, s.Spec.DataPlane, x.Spec}
	checks := []collect.Check{}
	for _, id := range x.Spec.Checks {
		i := slices.IndexFunc(definitions, func(d Definition) bool { return d.ID == id })
		if i < 0 {
			checks = append(checks, collect.Check{ID: id, Verdict: collect.Inconclusive, Reason: "there is no such check"})
			continue
		}
		var j judgement
		definitions[i].judge(in, &j)
		checks = append(checks, j.check(definitions[i]))
	}
	return checks
}

// subject is what a check judges.
type subject struct {
	collect.Evidence
	cluster    spec.ClusterSpec
	expect     spec.Expectation
	dataPlane  spec.DataPlane
	experiment spec.ExperimentSpec
}

// judgement gathers what a check finds.
type judgement struct {
	against []collect.Finding // contradicts the statement
	open    []collect.Finding // leaves it undecided
	quotes  []collect.Finding // bears it out
	skip    string            // why it was not asked
	note    string            // what a pass shows and what not
}

func (j *judgement) contradict(node string, ref collect.Ref, format string, args ...any) {
	j.against = append(j.against, collect.Finding{Node: node, Text: fmt.Sprintf(format, args...), Ref: ref})
}

func (j *judgement) undecided(node string, ref collect.Ref, format string, args ...any) {
	j.open = append(j.open, collect.Finding{Node: node, Text: fmt.Sprintf(format, args...), Ref: ref})
}

func (j *judgement) quote(node string, ref collect.Ref, format string, args ...any) {
	j.quotes = append(j.quotes, collect.Finding{Node: node, Text: fmt.Sprintf(format, args...), Ref: ref})
}

// usable says whether all the files can be built on. Those that cannot leave
// the check undecided.
func (j *judgement) usable(in subject, files ...string) bool {
	ok := true
	for _, p := range in.Problems {
		if slices.Contains(files, p.File) {
			j.undecided(p.Node, collect.Ref{File: p.File}, "%s", p.Text)
			ok = false
		}
	}
	return ok
}

// check gives the verdict: what contradicts the statement outweighs what is
// missing, and what is missing outweighs what bears it out.
func (j *judgement) check(d Definition) collect.Check {
	c := collect.Check{ID: d.ID, Statement: d.Statement}
	switch {
	case len(j.against) > 0:
		c.Verdict, c.Findings = collect.Fail, slices.Concat(j.against, j.open)
		c.Reason = summary(j.against)
	case len(j.open) > 0:
		c.Verdict, c.Findings = collect.Inconclusive, j.open
		c.Reason = summary(j.open)
	case j.skip != "":
		c.Verdict, c.Reason = collect.Skip, j.skip
	default:
		c.Verdict, c.Findings, c.Reason = collect.Pass, j.quotes, j.note
	}
	return c
}

// summary is the first finding and how many more there are.
func summary(findings []collect.Finding) string {
	f := findings[0]
	var where []string
	for _, part := range []string{f.Node, f.Ref.File} {
		if part != "" && !strings.HasPrefix(f.Ref.File, part+"/") {
			where = append(where, part)
		}
	}
	text := strings.Join(append(where, f.Text), ": ")
	if more := len(findings) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// state is what a node's kernel holds, as far as it was read.
func (in subject) state(role string) collect.NodeState {
	for _, s := range in.Kernel {
		if s.Node == role {
			return s
		}
	}
	return collect.NodeState{Node: role}
}

// node is a node by its role; the zero Node where there is none.
func (in subject) node(role string) collect.Node {
	for _, n := range in.Nodes {
		if n.Role == role {
			return n
		}
	}
	return collect.Node{}
}

// mode is what runs on a node; nil where that was not recorded.
func (in subject) mode(role string) *collect.NodeMode {
	for i := range in.Mode.Nodes {
		if in.Mode.Nodes[i].Node == role {
			return &in.Mode.Nodes[i]
		}
	}
	return nil
}

// replaced says whether something is to implement Services in kube-proxy's place.
func (in subject) replaced() bool {
	return in.expect.Mode == cilium.Encoding || in.expect.Mode == calico.Encoding
}

// by names a tracker, or what implements Services in kube-proxy's place.
func by(name string) string {
	switch name {
	case collect.TrackedByCilium:
		return "Cilium"
	case collect.TrackedByCalico:
		return "Calico"
	}
	return "the kernel"
}
