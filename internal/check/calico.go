package check

import (
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

// declaredCalico judges what the operator was asked for and what it made Felix do.
func declaredCalico(in subject, j *judgement) {
	c := in.Mode.Calico
	if c == nil {
		j.undecided("cluster", collect.Ref{File: evidence.InstallationFile}, "the objects of Calico were not read")
		return
	}
	judge := func(what string, got collect.Observation, want string) {
		switch {
		case !j.usable(in, got.Ref.File):
		case got.Value == "":
			j.undecided("cluster", got.Ref, "does not say %s", what)
		case got.Value != want:
			j.contradict("cluster", got.Ref, "%s is %s, want %s", what, got.Value, want)
		default:
			j.quote("cluster", got.Ref, "%s is %s", what, got.Value)
		}
	}
	if !in.replaced() {
		judge("bpfEnabled", c.BPF, collect.Disabled)
		return
	}
	judge("linuxDataplane", c.Dataplane, "BPF")
	judge("bpfNetworkBootstrap", c.Bootstrap, "Enabled")
	judge("kubeProxyManagement", c.KubeProxyManagement, "Enabled")
	judge("bpfEnabled", c.BPF, collect.Enabled)
}

// operatorSatisfied judges what the operator says of its components.
func operatorSatisfied(in subject, j *judgement) {
	if !j.usable(in, evidence.TigeraStatusFile) {
		return
	}
	if in.Mode.Calico == nil || len(in.Mode.Calico.Components) == 0 {
		j.undecided("cluster", collect.Ref{File: evidence.TigeraStatusFile}, "the operator says nothing of any component")
		return
	}
	needed := []string{"calico", "ippools"}
	if in.replaced() {
		needed = append(needed, "kubeproxy-monitor")
	}
	for _, c := range in.Mode.Calico.Components {
		needed = slices.DeleteFunc(needed, func(name string) bool { return name == c.Name })
		switch c.State.Value {
		case "available":
			j.quote("cluster", c.State.Ref, "component %s is available", c.Name)
		case "unknown":
			j.undecided("cluster", c.State.Ref, "the operator does not say how component %s stands", c.Name)
		default:
			j.contradict("cluster", c.State.Ref, "component %s is %s", c.Name, c.State.Value)
		}
	}
	if len(needed) > 0 {
		j.undecided("cluster", collect.Ref{File: evidence.TigeraStatusFile}, "the operator does not speak of %s", strings.Join(needed, ", "))
	}
}

// operatorVersion judges the version that the operator says it has installed.
func operatorVersion(in subject, j *judgement) {
	c, want := in.Mode.Calico, in.dataPlane.Calico
	if c == nil || want == nil || !j.usable(in, c.Version.Ref.File) {
		return
	}
	switch got := c.Version; got.Value {
	case "":
		j.undecided("cluster", got.Ref, "the operator does not say which version it has installed")
	case want.Version:
		j.quote("cluster", got.Ref, "the operator has installed %s", got.Value)
	default:
		j.contradict("cluster", got.Ref, "the operator has installed %s, the scenario names %s", got.Value, want.Version)
	}
}

// hooksAttached judges the programs that translate at connect(). That none is
// listed decides nothing: an old bpftool knows not every kind of attachment.
func hooksAttached(in subject, node collect.NodeMode, j *judgement) {
	switch got := node.Hooks; {
	case !j.usable(in, got.Ref.File):
	case got.Value == "":
		j.undecided(node.Node, got.Ref, "the programs at the node's cgroup were not listed")
	case got.Value == collect.Absent:
		j.undecided(node.Node, got.Ref, "bpftool lists no program of Calico at the node's cgroup: none is there, or this bpftool cannot list it")
	case !strings.Contains(got.Value, "inet4_connect") && !strings.Contains(got.Value, "connect4"):
		j.undecided(node.Node, got.Ref, "at the node's cgroup: %s, and none at connect() of IPv4", got.Value)
	default:
		j.quote(node.Node, got.Ref, "at the node's cgroup: %s", got.Value)
	}
}

// keptOff judges the DaemonSet of kube-proxy, which the operator keeps off all
// nodes and does not delete.
func keptOff(in subject, j *judgement) {
	if !j.usable(in, evidence.DaemonSetFile) {
		return
	}
	c := in.Mode.Calico
	if c == nil || c.ProxyNodes.Value == "" {
		j.undecided("cluster", collect.Ref{File: evidence.DaemonSetFile}, "how many nodes are meant to have a kube-proxy was not read")
		return
	}
	switch got := c.ProxyNodes; got.Value {
	case collect.Absent:
		j.quote("cluster", got.Ref, "there is no DaemonSet kube-proxy")
		return
	case "0":
		j.quote("cluster", got.Ref, "the DaemonSet kube-proxy is meant for no node")
	default:
		j.contradict("cluster", got.Ref, "the DaemonSet kube-proxy is meant for %s nodes, want 0", got.Value)
	}
	if c.ProxySelector.Value == collect.Present {
		j.quote("cluster", c.ProxySelector.Ref, "its selector is the operator's, which fits no node")
	} else {
		j.contradict("cluster", c.ProxySelector.Ref, "its selector is not the operator's")
	}
}
