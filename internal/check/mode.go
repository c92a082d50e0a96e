package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/iptables"
)

func modeChecks() []Definition {
	return []Definition{
		{"mode.declared", "What is configured is the mode of the scenario: in kube-proxy's ConfigMap, and in what Cilium or Calico is configured by where it is installed.", declared},
		{"mode.actual", "On every node what runs is in the mode of the scenario: kube-proxy by its process, its endpoint and its log, Cilium by its agent's status, Calico by its operator's status and its programs at the nodes' cgroups.", actual},
		{"mode.version", "Every node runs the same version of what implements Services, and of Cilium and Calico the one the scenario names.", version},
		{"mode.sole", "No node's kernel holds Services in an encoding the scenario forbids, or twice in one; where something replaces kube-proxy, no node has or is meant to have a kube-proxy.", sole},
	}
}

func declared(in subject, j *judgement) {
	if in.dataPlane.Cilium != nil || in.expect.Mode == cilium.Encoding {
		declaredReplacement(in, j)
	}
	if in.dataPlane.Calico != nil || in.expect.Mode == calico.Encoding {
		declaredCalico(in, j)
	}
	if !j.usable(in, evidence.ConfigMapFile) {
		return
	}
	got := in.Mode.Declared
	// kube-proxy's default on Linux.
	mode := cmp.Or(got.Value, "iptables")
	switch {
	case got.Ref.Line.Text == "":
		j.undecided("cluster", got.Ref, "was not read")
	case got.Value == collect.Absent && in.replaced():
		j.quote("cluster", got.Ref, "kube-proxy has no ConfigMap")
	case got.Value == collect.Absent:
		j.contradict("cluster", got.Ref, "kube-proxy has no ConfigMap, want mode %s", in.expect.Mode)
	case in.expect.Mode == calico.Encoding:
		// The operator leaves it: kube-proxy comes back when Calico's eBPF goes.
		j.quote("cluster", got.Ref, "kube-proxy is configured in mode %s; on how many nodes is in mode.sole", mode)
	case in.replaced():
		j.contradict("cluster", got.Ref, "kube-proxy is configured as well, in mode %s", mode)
	case mode != in.expect.Mode:
		j.contradict("cluster", got.Ref, "mode is %q, which means %s, want %s", got.Value, mode, in.expect.Mode)
	default:
		j.quote("cluster", got.Ref, "mode is %q", got.Value)
	}
}

func actual(in subject, j *judgement) {
	if in.dataPlane.Calico != nil || in.expect.Mode == calico.Encoding {
		operatorSatisfied(in, j)
	}
	var found []string
	for _, role := range spec.Roles {
		node := in.mode(role)
		if node == nil {
			j.undecided(role, collect.Ref{}, "what runs there was not recorded")
			continue
		}
		if !in.replaced() {
			proxyRuns(in, *node, j)
		}
		if in.dataPlane.Cilium != nil || in.expect.Mode == cilium.Encoding {
			agentAgrees(in, *node, j)
		}
		if in.expect.Mode == calico.Encoding {
			hooksAttached(in, *node, j)
		}
		found = append(found, runs(*node))
	}
	if len(found) == len(spec.Roles) {
		j.note = "Found " + perNode(found) + "."
	}
}

// proxyRuns judges kube-proxy on one node.
func proxyRuns(in subject, node collect.NodeMode, j *judgement) {
	judge := func(got collect.Observation, want, what, absent string) {
		switch {
		case !j.usable(in, got.Ref.File):
		case got.Value == "":
			j.undecided(node.Node, got.Ref, "does not say the %s", what)
		case got.Value == collect.Absent:
			j.contradict(node.Node, got.Ref, "%s, want %s %s", absent, what, want)
		case got.Value != want:
			j.contradict(node.Node, got.Ref, "%s is %s, want %s", what, got.Value, want)
		default:
			j.quote(node.Node, got.Ref, "%s is %s", what, got.Value)
		}
	}
	judge(node.Process, collect.Running, "kube-proxy process", "no process is kube-proxy")
	judge(node.ProxyMode, in.expect.Mode, "mode", "nothing answers at kube-proxy's endpoint")
	judge(node.Log, in.expect.Mode, "mode", "the node has no kube-proxy pod")
}

// runs says in words what was found on a node, whatever was wanted.
func runs(node collect.NodeMode) string {
	var parts []string
	switch mode := node.ProxyMode.Value; {
	case mode == collect.Absent || mode == "" && node.Process.Value == collect.Absent:
		parts = append(parts, "no kube-proxy")
	case mode == "" && node.Process.Value == "":
		// Said below: it was not looked for.
	case mode == "":
		parts = append(parts, "kube-proxy in an unknown mode")
	default:
		parts = append(parts, fmt.Sprintf("kube-proxy in %s mode", mode))
	}
	if a := node.Agent; a != nil {
		switch a.KubeProxyReplacement.Value {
		case "True":
			parts = append(parts, fmt.Sprintf("Cilium in its place (socket LB %s, attached with %s)",
				cmp.Or(a.SocketLB.Value, "unknown"), cmp.Or(a.AttachMode.Value, "unknown")))
		case "False":
			parts = append(parts, "Cilium that does not replace it")
		default:
			parts = append(parts, "Cilium that does not say whether it replaces it")
		}
	}
	if node.Hooks.Value != "" && node.Hooks.Value != collect.Absent {
		parts = append(parts, "Calico's programs at connect()")
	}
	text := cmp.Or(strings.Join(parts, " and "), "nothing")
	if node.ProxyMode.Value == "" && node.Process.Value == "" {
		text += " (whether a kube-proxy runs was not read)"
	}
	return text
}

// perNode says once what is the same on every node.
func perNode(found []string) string {
	if len(slices.Compact(slices.Clone(found))) == 1 {
		return "on every node " + found[0]
	}
	var parts []string
	for i, text := range found {
		parts = append(parts, fmt.Sprintf("on %s %s", spec.Roles[i], text))
	}
	return strings.Join(parts, "; ")
}

func version(in subject, j *judgement) {
	want, of := "", ""
	if _, version := in.dataPlane.Chart(); in.replaced() && version != "" {
		want, of = version, "the scenario"
	}
	for _, role := range spec.Roles {
		node := in.mode(role)
		if node == nil {
			j.undecided(role, collect.Ref{}, "what runs there was not recorded")
			continue
		}
		switch got := node.Version; {
		case !j.usable(in, got.Ref.File):
		case got.Value == "":
			j.undecided(role, got.Ref, "does not say the version")
		case got.Value == collect.Absent:
			j.contradict(role, got.Ref, "there is no kube-proxy")
		case want == "":
			want, of = got.Value, role
			fallthrough
		case got.Value == want:
			j.quote(role, got.Ref, "version is %s", got.Value)
		default:
			j.contradict(role, got.Ref, "version is %s, that of %s %s", got.Value, of, want)
		}
		agentVersion(in, *node, j)
	}
	operatorVersion(in, j)
}

func sole(in subject, j *judgement) {
	if in.replaced() {
		noProxy(in, j)
	}
	for _, role := range spec.Roles {
		state := in.state(role)
		for _, encoding := range in.expect.Forbidden {
			// What was found counts, whatever else could not be looked at.
			if encoding == "iptables" {
				for _, rules := range state.IptablesRules {
					j.contradict(role, rules.Ref, "%s in iptables", rules.Value)
				}
			} else {
				programmed(state, encoding, j)
			}
			if !j.usable(in, decodedFrom(in, role, encoding)...) {
				continue
			}
			if t := state.Table(encoding); t == nil {
				j.undecided(role, collect.Ref{}, "%s was not read", encoding)
			} else {
				j.quote(role, collect.Ref{File: t.File}, "no Service in %s", encoding)
			}
		}
		if in.expect.Encoding == "iptables" && j.usable(in, decodedFrom(in, role, "iptables")...) && state.LiveIptables == iptables.LiveBoth {
			for _, rules := range state.IptablesRules {
				j.contradict(role, rules.Ref, "%s, and the other iptables back end holds some too", rules.Value)
			}
		}
		if in.dataPlane.Cilium != nil && !in.replaced() && !slices.Contains(in.expect.Forbidden, cilium.Encoding) {
			alsoInMaps(state, j)
		}
	}
}

// programmed finds Services in tables that must hold none. That a table is
// there is no Service: it can be empty, or another program's.
func programmed(state collect.NodeState, encoding string, j *judgement) {
	for _, t := range state.Tables {
		switch {
		case t.Encoding != encoding:
		case len(t.Frontends) > 0:
			f := t.Frontends[0]
			j.contradict(state.Node, collect.Ref{File: t.File, Line: f.Line}, "%d frontends in %s, the first %s", len(t.Frontends), encoding, f.Endpoint())
		case len(t.Unparsed) > 0 && encoding == "ipvs":
			// A virtual service that nothing explains is one all the same.
			j.contradict(state.Node, collect.Ref{File: t.File, Line: t.Unparsed[0]}, "%d rows in ip_vs", len(t.Unparsed))
		case len(t.Unparsed) > 0:
			j.undecided(state.Node, collect.Ref{File: t.File, Line: t.Unparsed[0]}, "%d lines in %s are not understood", len(t.Unparsed), encoding)
		}
	}
}
