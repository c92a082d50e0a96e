package check

import (
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

// TestCiliumModes changes what a run of Cilium shows of its mode. Rows name what
// the first finding says and on which node.
func TestCiliumModes(t *testing.T) {
	said := func(value string) collect.Observation { return collect.Observation{Value: value} }
	// beside makes the scenario one of kube-proxy beside Cilium, which runs.
	beside := func(in *subject) {
		in.expect.Mode, in.expect.Encoding = "iptables", "iptables"
		in.Mode.Declared = collect.Observation{Value: "iptables", Ref: collect.Ref{Line: collect.Line{Text: "mode: iptables"}}}
		in.Mode.Agent.Value = "false"
		for i := range in.Mode.Nodes {
			n := &in.Mode.Nodes[i]
			n.Process, n.ProxyMode, n.Log, n.Version = said(collect.Running), said("iptables"), said("iptables"), said("v1.35.0")
			n.Agent.KubeProxyReplacement, n.Agent.SocketLB = said("False"), said(collect.Disabled)
		}
	}
	tests := []struct {
		name   string
		judge  func(subject, *judgement)
		change func(in *subject)
		want   collect.Verdict
		says   string
	}{
		{"declared", declared, func(*subject) {}, collect.Pass, ""},
		{"declared otherwise", declared, func(in *subject) { in.Mode.Agent.Value = "false" }, collect.Fail, "cluster: kube-proxy-replacement is false, want true"},
		{"declaration not read", declared, func(in *subject) { in.Mode.Agent = collect.Observation{} }, collect.Inconclusive, "cluster: Cilium's ConfigMap was not read"},
		{"kube-proxy's ConfigMap beside it", declared, func(in *subject) {
			in.Mode.Declared = collect.Observation{Ref: collect.Ref{Line: collect.Line{Text: "mode: "}}}
		}, collect.Fail, "cluster: kube-proxy is configured as well, in mode iptables"},

		{"actual", actual, func(*subject) {}, collect.Pass, "Found on every node no kube-proxy and Cilium in its place (socket LB enabled, attached with tcx)."},
		{"one agent replaces nothing", actual, func(in *subject) { in.Mode.Nodes[1].Agent.KubeProxyReplacement.Value = "False" }, collect.Fail, "worker: kube-proxy replacement is False, want True"},
		{"socket LB off on one node", actual, func(in *subject) { in.Mode.Nodes[2].Agent.SocketLB.Value = collect.Disabled }, collect.Fail, "worker2: socket LB is disabled, want enabled"},
		{"attached with tc", actual, func(in *subject) { in.Mode.Nodes[2].Agent.AttachMode.Value = "tc" }, collect.Pass, "on worker2 no kube-proxy and Cilium in its place (socket LB enabled, attached with tc)"},
		{"attach mode not told", actual, func(in *subject) { in.Mode.Nodes[2].Agent.AttachMode.Value = "" }, collect.Inconclusive, "worker2: the agent does not say its attach mode"},
		{"an agent not asked", actual, func(in *subject) { in.Mode.Nodes[0].Agent = nil }, collect.Inconclusive, "control-plane: Cilium's agent was not asked"},
		{"the ConfigMap is no witness", actual, func(in *subject) { in.Mode.Agent.Value = "false" }, collect.Pass, ""},

		{"version", version, func(*subject) {}, collect.Pass, ""},
		{"another version on the second node", version, func(in *subject) { in.Mode.Nodes[1].Version.Value = "1.19.8" }, collect.Fail, "worker: version is 1.19.8, that of the scenario 1.20.2"},
		{"another version by an agent's status", version, func(in *subject) { in.Mode.Nodes[1].Agent.Version.Value = "1.19.8" }, collect.Fail, "worker: Cilium's agent is 1.19.8, the scenario names 1.20.2"},
		{"version not told", version, func(in *subject) { in.Mode.Nodes[1].Version.Value = "" }, collect.Inconclusive, "worker: does not say the version"},

		{"sole, with kubelet's and Cilium's own chains", sole, func(*subject) {}, collect.Pass, ""},
		{"a DaemonSet of kube-proxy", sole, func(in *subject) {
			in.Mode.KubeProxy = collect.Observation{Value: collect.Present, Ref: collect.Ref{Line: collect.Line{Text: "desiredNumberScheduled: 0"}}}
		}, collect.Fail, "cluster: there is a DaemonSet kube-proxy (desiredNumberScheduled: 0)"},
		{"a DaemonSet that nobody looked for", sole, func(in *subject) { in.Mode.KubeProxy = collect.Observation{} }, collect.Inconclusive, "cluster: whether"},
		{"a kube-proxy runs", sole, func(in *subject) { in.Mode.Nodes[2].Process.Value = collect.Running }, collect.Fail, "worker2: a kube-proxy is running"},
		{"processes that nobody listed", sole, func(in *subject) { in.Mode.Nodes = nil }, collect.Inconclusive, "control-plane: its processes were not read"},

		{"kube-proxy beside Cilium", actual, beside, collect.Pass, "Found on every node kube-proxy in iptables mode and Cilium that does not replace it."},
		{"declared beside Cilium", declared, beside, collect.Pass, ""},
		{"a replacement declared beside kube-proxy", declared, func(in *subject) { beside(in); in.Mode.Agent.Value = "true" }, collect.Fail, "cluster: kube-proxy-replacement is true, want false"},
		{"one agent replaces the kube-proxy beside it", actual, func(in *subject) { beside(in); in.Mode.Nodes[1].Agent.KubeProxyReplacement.Value = "True" }, collect.Fail, "worker: kube-proxy replacement is True, want False"},
		{"no kube-proxy where one is wanted", actual, func(in *subject) { beside(in); in.Mode.Nodes[1].Process.Value = collect.Absent }, collect.Fail, "worker: no process is kube-proxy"},
		{"no kube-proxy configured where one is wanted", declared, func(in *subject) { beside(in); in.Mode.Declared.Value = collect.Absent }, collect.Fail, "cluster: kube-proxy has no ConfigMap"},
		{"no kube-proxy to have a version", version, func(in *subject) { beside(in); in.Mode.Nodes[0].Version.Value = collect.Absent }, collect.Fail, "control-plane: there is no kube-proxy"},
		{"another kube-proxy on the second node", version, func(in *subject) { beside(in); in.Mode.Nodes[1].Version.Value = "v1.34.0" }, collect.Fail, "worker: version is v1.34.0, that of control-plane v1.35.0"},
		{"another Cilium beside kube-proxy", version, func(in *subject) { beside(in); in.Mode.Nodes[1].Agent.Version.Value = "1.19.8" }, collect.Fail, "worker: Cilium's agent is 1.19.8"},
		{"Services in Cilium's maps beside kube-proxy", sole, func(in *subject) { beside(in); in.expect.Forbidden = nil }, collect.Pass, "Cilium's maps hold Services as well"},
		{"Services in Cilium's maps where they are forbidden", sole, func(in *subject) { beside(in); in.expect.Forbidden = []string{"cilium"} }, collect.Fail, "control-plane: 7 frontends in cilium"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			in := partial(t, func(*recorded) {})
			test.change(&in)
			if got, says := verdict(test.judge, in); got != test.want || !strings.Contains(says, test.says) {
				t.Errorf("%s: %q, want %s: %q", got, says, test.want, test.says)
			}
		})
	}
}

// TestServiceChainBesideCilium: eight KUBE-* lines are kubelet's own; one of
// kube-proxy's is one too many.
func TestServiceChainBesideCilium(t *testing.T) {
	in := partial(t, func(r *recorded) {
		r.replace("worker/"+nftSave, `^\*nat\n`, "*nat\n:KUBE-SVC-STALE - [0:0]\n")
		r.replace("worker/"+nftSave, `(^\*nat\n(?:.*\n)*?)COMMIT`, "${1}-A KUBE-SVC-STALE -m comment --comment stale -j ACCEPT\nCOMMIT")
	})
	if got, says := verdict(sole, in); got != collect.Fail || !strings.HasPrefix(says, "worker: 1 rules for Services in iptables") {
		t.Errorf("%s: %q", got, says)
	}
}
