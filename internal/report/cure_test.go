package report

import (
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

func TestCure(t *testing.T) {
	tests := []struct{ id, file, want string }{
		{"mode.declared", "cluster/kube-proxy-configmap.json", "kubeProxyMode in the scenario's file"},
		{"mode.declared", "cluster/cilium-config.json", "kubeProxyReplacement and kubeProxyMode"},
		{"mode.actual", "worker/kube-proxy.log", "restart daemonset kube-proxy"},
		{"mode.actual", "worker/cilium-status.json", "restart daemonset cilium"},
		{"mode.declared", "cluster/installation.json", "linuxDataplane, bpfNetworkBootstrap and kubeProxyManagement"},
		{"mode.declared", "cluster/felixconfiguration.json", "bpfEnabled follows"},
		{"mode.actual", "cluster/tigerastatus.json", "logs deployment/tigera-operator"},
		{"mode.actual", "worker/calico-cgroup.json", "kubectl get tigerastatus"},
		{"mode.version", "worker/cilium-version.json", "rollout status"},
		{"mode.version", "worker/calico-version.txt", "-n calico-system rollout status"},
		{"mode.sole", "cluster/kube-proxy-daemonset.json", "kubectl get tigerastatus kubeproxy-monitor"},
		{"mode.sole", "worker/iptables-nft-save.txt", "kube-proxy --cleanup"},
		{"mode.sole", "worker/processes.txt", "delete daemonset,configmap kube-proxy"},
		{"mode.sole", "cluster/kube-proxy-daemonset.json", "delete daemonset,configmap kube-proxy"},
		{"objects.service", "cluster/services.json", "kubectl -n NAMESPACE get"},
		{"traffic.translation", "client/clusterip-by-name.jsonl", "kernelRemote"},
		{"traffic.translation", "client/clusterip-by-name.jsonl", "bpfConnectTimeLoadBalancing"},
		{"traffic.complete", "client/clusterip-by-name.jsonl", "each connection with its error"},
		{"kernel.table", "worker/iptables-nft-save.txt", "raw/NODE/kube-proxy.log"},
		{"kernel.table", "worker/cilium-bpf-lb-list.json", "logs daemonset/cilium"},
		{"kernel.table", "worker/cilium-service-list.json", "has not come from the API"},
		{"kernel.conntrack", "worker/cilium-bpf-ct-list.txt", "outlives"},
		{"kernel.table", "worker/calico-nat-dump.json", "logs daemonset/calico-node"},
		{"kernel.conntrack", "worker/calico-conntrack.json", "calico-nat-dump.json"},
		{"kernel.unparsed", "worker/ip_vs.txt", "raw/NODE/kube-proxy.log"},
		{"kernel.unparsed", "worker/calico-nat-dump.txt", "behind the #"},
	}
	for _, test := range tests {
		c := collect.Check{ID: test.id, Verdict: collect.Fail, Findings: []collect.Finding{{Node: "worker", Text: "x", Ref: collect.Ref{File: test.file}}}}
		if got := cure(c); !strings.Contains(got, test.want) {
			t.Errorf("%s by %s: cure = %q, want %q", test.id, test.file, got, test.want)
		}
		c.Verdict = collect.Skip
		if got := cure(c); got != "" {
			t.Errorf("%s: a skipped check has the cure %q", test.id, got)
		}
	}
}
