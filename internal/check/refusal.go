package check

import (
	"fmt"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

func refusalChecks() []Definition {
	return []Definition{
		{"refusal.stated", "The operator does not carry out the installation, and its status says why.", stated},
		{"refusal.untouched", "kube-proxy implements Services on every node as it did before the installation was asked for.", untouched},
	}
}

// stated looks for the reason in the status of the component it concerns.
func stated(in subject, j *judgement) {
	want := in.experiment.Refusal
	if want == nil {
		j.skip = "the experiment asks for nothing that is to be refused"
		return
	}
	if !j.usable(in, evidence.TigeraStatusFile) {
		return
	}
	if in.Mode.Calico == nil {
		j.undecided("cluster", collect.Ref{File: evidence.TigeraStatusFile}, "what the operator says was not read")
		return
	}
	i := slices.IndexFunc(in.Mode.Calico.Components, func(c collect.Component) bool { return c.Name == want.Component })
	if i < 0 {
		j.contradict("cluster", collect.Ref{File: evidence.TigeraStatusFile}, "the operator says nothing of %s", want.Component)
		return
	}
	switch got := in.Mode.Calico.Components[i].State; {
	case got.Value != "degraded":
		j.contradict("cluster", got.Ref, "%s is %s, want degraded", want.Component, got.Value)
	case !strings.Contains(got.Ref.Line.Text, want.Message):
		j.contradict("cluster", got.Ref, "%s is degraded for another reason: %s", want.Component, got.Ref.Line.Text)
	default:
		j.quote("cluster", got.Ref, "%s is degraded: %s", want.Component, got.Ref.Line.Text)
	}
}

// untouched judges kube-proxy by its DaemonSet and on every node.
func untouched(in subject, j *judgement) {
	if in.experiment.Refusal == nil {
		j.skip = "the experiment asks for nothing that is to be refused"
		return
	}
	if j.usable(in, evidence.DaemonSetFile) {
		c := in.Mode.Calico
		switch {
		case c == nil || c.ProxyNodes.Value == "":
			j.undecided("cluster", collect.Ref{File: evidence.DaemonSetFile}, "how many nodes are meant to have a kube-proxy was not read")
		case c.ProxyNodes.Value == collect.Absent:
			j.contradict("cluster", c.ProxyNodes.Ref, "there is no DaemonSet kube-proxy any more")
		case c.ProxyNodes.Value != fmt.Sprint(len(spec.Roles)):
			j.contradict("cluster", c.ProxyNodes.Ref, "the DaemonSet kube-proxy is meant for %s nodes, want %d", c.ProxyNodes.Value, len(spec.Roles))
		case c.ProxySelector.Value == collect.Present:
			j.contradict("cluster", c.ProxySelector.Ref, "the operator's selector keeps kube-proxy off the nodes")
		default:
			j.quote("cluster", c.ProxyNodes.Ref, "the DaemonSet kube-proxy is meant for %s nodes", c.ProxyNodes.Value)
		}
	}
	in.expect.Mode = in.cluster.KubeProxyMode
	for _, role := range spec.Roles {
		if node := in.mode(role); node != nil {
			proxyRuns(in, *node, j)
		} else {
			j.undecided(role, collect.Ref{}, "what runs there was not recorded")
		}
	}
}
