package check

import (
	"fmt"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
)

// declaredReplacement judges what Cilium's ConfigMap says of replacing
// kube-proxy.
func declaredReplacement(in subject, j *judgement) {
	if !j.usable(in, evidence.CiliumConfigFile) {
		return
	}
	want := fmt.Sprint(in.replaced())
	switch got := in.Mode.Agent; got.Value {
	case "":
		j.undecided("cluster", got.Ref, "Cilium's ConfigMap was not read")
	case want:
		j.quote("cluster", got.Ref, "kube-proxy-replacement is %s", got.Value)
	default:
		j.contradict("cluster", got.Ref, "kube-proxy-replacement is %s, want %s", got.Value, want)
	}
}

// agentAgrees judges what the agent of a node says of itself. The ConfigMap is
// no witness: its bpf-lb-sock is false although the replacement turns that on.
func agentAgrees(in subject, node collect.NodeMode, j *judgement) {
	agent := node.Agent
	if agent == nil {
		j.undecided(node.Node, collect.Ref{}, "Cilium's agent was not asked")
		return
	}
	if !j.usable(in, agent.KubeProxyReplacement.Ref.File) {
		return
	}
	judge := func(what string, got collect.Observation, want ...string) {
		if got.Value == "" {
			j.undecided(node.Node, got.Ref, "the agent does not say its %s", what)
			return
		}
		for _, w := range want {
			if got.Value == w {
				j.quote(node.Node, got.Ref, "%s is %s", what, got.Value)
				return
			}
		}
		j.contradict(node.Node, got.Ref, "%s is %s, want %s", what, got.Value, strings.Join(want, " or "))
	}
	if !in.replaced() {
		judge("kube-proxy replacement", agent.KubeProxyReplacement, "False")
		return
	}
	judge("kube-proxy replacement", agent.KubeProxyReplacement, "True")
	judge("socket LB", agent.SocketLB, collect.Enabled)
	judge("attach mode", agent.AttachMode, "tcx", "tc")
}

// agentVersion judges the version in the agent's own status.
func agentVersion(in subject, node collect.NodeMode, j *judgement) {
	if in.dataPlane.Cilium == nil {
		return
	}
	if node.Agent == nil {
		j.undecided(node.Node, collect.Ref{}, "Cilium's agent was not asked")
		return
	}
	want := in.dataPlane.Cilium.Version
	switch got := node.Agent.Version; {
	case !j.usable(in, got.Ref.File):
	case got.Value == "":
		j.undecided(node.Node, got.Ref, "Cilium's agent does not say its version")
	case got.Value != want:
		j.contradict(node.Node, got.Ref, "Cilium's agent is %s, the scenario names %s", got.Value, want)
	default:
		j.quote(node.Node, got.Ref, "Cilium's agent is %s", got.Value)
	}
}

// noProxy finds what is left of kube-proxy.
func noProxy(in subject, j *judgement) {
	if in.expect.Mode == calico.Encoding {
		keptOff(in, j)
	} else if j.usable(in, evidence.DaemonSetFile) {
		switch got := in.Mode.KubeProxy; got.Value {
		case collect.Absent:
			j.quote("cluster", got.Ref, "there is no DaemonSet kube-proxy")
		case collect.Present:
			j.contradict("cluster", got.Ref, "there is a DaemonSet kube-proxy (%s)", got.Ref.Line.Text)
		default:
			j.undecided("cluster", got.Ref, "whether there is a DaemonSet kube-proxy was not read")
		}
	}
	for _, role := range spec.Roles {
		var got collect.Observation
		if node := in.mode(role); node != nil {
			got = node.Process
		}
		switch {
		case !j.usable(in, got.Ref.File):
		case got.Value == collect.Absent:
			j.quote(role, got.Ref, "no process is kube-proxy")
		case got.Value == collect.Running:
			j.contradict(role, got.Ref, "a kube-proxy is running")
		default:
			j.undecided(role, got.Ref, "its processes were not read")
		}
	}
}

// alsoInMaps tells of Services in Cilium's maps where it replaces nothing and
// the scenario does not forbid them: it programs ClusterIPs all the same, and
// translates them in the packets of its pods (isDatapathCandidate in
// pkg/loadbalancer/reconciler, ENABLE_PER_PACKET_LB in bpf/bpf_lxc.c, Cilium
// 1.20.2).
func alsoInMaps(state collect.NodeState, j *judgement) {
	t := state.Table(cilium.Encoding)
	if t == nil || len(t.Frontends) == 0 {
		return
	}
	kinds := map[collect.FrontendKind]int{}
	for _, f := range t.Frontends {
		kinds[f.Kind]++
	}
	var parts []string
	for _, kind := range []collect.FrontendKind{collect.ClusterIP, collect.NodePort, collect.ExternalIP, collect.LoadBalancer} {
		if kinds[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d of kind %s", kinds[kind], kind))
		}
	}
	j.quote(state.Node, collect.Ref{File: t.File, Line: t.Frontends[0].Line}, "Cilium's maps hold frontends too: %s", strings.Join(parts, ", "))
	j.note = "Cilium's maps hold Services as well, which this scenario does not forbid: without replacing kube-proxy it translates ClusterIPs in the packets of its pods. Who did is in traffic.translation."
}
