package check

import (
	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

// refusalControls change the run in which the operator was to refuse what it was
// asked for.
func refusalControls() []control {
	stated := func(verdict collect.Verdict) []turn {
		return []turn{{"refusal.stated", verdict, "", evidence.TigeraStatusFile}}
	}
	untouched := func(verdict collect.Verdict, file string) []turn {
		return []turn{{"refusal.untouched", verdict, "", file}}
	}
	status := func(pattern, with string) func(*recorded) {
		return func(r *recorded) { r.replace(evidence.TigeraStatusFile, pattern, with) }
	}
	const degraded = `("name":"ippools",.*?)"status":"True","type":"Degraded"`
	return []control{
		{"what was to be refused is available", wrongPool, status(degraded, `$1"status":"True","type":"Available"`), stated(collect.Fail)},
		{"what was to be refused is progressing", wrongPool, status(degraded, `$1"status":"True","type":"Progressing"`), stated(collect.Fail)},
		{"what was to be refused is not degraded any more", wrongPool, status(degraded, `$1"status":"False","type":"Degraded"`), stated(collect.Fail)},
		{"refused for another reason", wrongPool, status(`is not within the platform's configured pod network CIDR\(s\)`, "overlaps with the Services'"), stated(collect.Fail)},
		{"refused without a reason", wrongPool, status(`"message":"error filling IP pool defaults[^"]*",`, ""), stated(collect.Fail)},
		{"the reason at another component", wrongPool, func(r *recorded) {
			r.replace(evidence.TigeraStatusFile, `"name":"ippools"`, `"name":"apiserver"`)
		}, stated(collect.Fail)},
		{"the operator says nothing of any component", wrongPool, func(r *recorded) {
			r.raw[evidence.TigeraStatusFile].Data = []byte(`{"apiVersion":"operator.tigera.io/v1","kind":"TigeraStatusList","items":[]}`)
		}, stated(collect.Fail)},
		{"the operator's status is missing", wrongPool, func(r *recorded) {
			delete(r.raw, evidence.TigeraStatusFile)
		}, []turn{
			{"refusal.stated", collect.Inconclusive, "", evidence.TigeraStatusFile},
			{"collect.complete", collect.Inconclusive, "", evidence.TigeraStatusFile},
		}},
		{"the operator's status is none", wrongPool, func(r *recorded) {
			r.raw[evidence.TigeraStatusFile].Data = []byte(`{"kind":"Status","status":"Failure","reason":"NotFound"}`)
		}, []turn{
			{"refusal.stated", collect.Inconclusive, "", evidence.TigeraStatusFile},
			{"collect.complete", collect.Inconclusive, "", evidence.TigeraStatusFile},
		}},

		{"kube-proxy is meant for no node after a refusal", wrongPool, func(r *recorded) {
			r.replace(evidence.DaemonSetFile, `"desiredNumberScheduled":3`, `"desiredNumberScheduled":0`)
		}, untouched(collect.Fail, evidence.DaemonSetFile)},
		{"kube-proxy is meant for one node less", wrongPool, func(r *recorded) {
			r.replace(evidence.DaemonSetFile, `"desiredNumberScheduled":3`, `"desiredNumberScheduled":2`)
		}, untouched(collect.Fail, evidence.DaemonSetFile)},
		{"the operator's selector keeps kube-proxy off", wrongPool, func(r *recorded) {
			r.replace(evidence.DaemonSetFile, `("nodeSelector":\{)`, `$1"operator.tigera.io/disable-kube-proxy":"true",`)
		}, untouched(collect.Fail, evidence.DaemonSetFile)},
		{"kube-proxy's DaemonSet was deleted", wrongPool, func(r *recorded) {
			r.outcome(evidence.DaemonSetFile, collect.NotThere, `daemonsets.apps "kube-proxy" not found`)
		}, untouched(collect.Fail, evidence.DaemonSetFile)},
		{"a change of kube-proxy's DaemonSet that nobody has seen", wrongPool, func(r *recorded) {
			r.replace(evidence.DaemonSetFile, `"generation":\d+`, `"generation":9`)
		}, untouched(collect.Inconclusive, evidence.DaemonSetFile)},
		{"no kube-proxy runs on one node after a refusal", wrongPool, func(r *recorded) {
			r.replace("worker/processes.txt", `^ *\d+ kube-proxy .*\n`, "")
		}, untouched(collect.Fail, "worker/processes.txt")},
		{"another mode on one node after a refusal", wrongPool, func(r *recorded) {
			r.replace("worker2/proxyMode.txt", "iptables", "nftables")
		}, untouched(collect.Fail, "worker2/proxyMode.txt")},
		{"no kube-proxy answers on one node after a refusal", wrongPool, func(r *recorded) {
			r.outcome("worker/proxyMode.txt", collect.NotThere, "curl: (7) Failed to connect to 127.0.0.1 port 10249")
		}, untouched(collect.Fail, "worker/proxyMode.txt")},
		{"another mode in one node's log after a refusal", wrongPool, func(r *recorded) {
			r.replace("control-plane/kube-proxy.log", "Using iptables Proxier", "Using ipvs Proxier")
		}, untouched(collect.Fail, "control-plane/kube-proxy.log")},
		{"another mode of kube-proxy to begin with", wrongPool, func(r *recorded) {
			r.scenario.Spec.Cluster.KubeProxyMode = "nftables"
		}, untouched(collect.Fail, "worker/proxyMode.txt")},
		{"a node's processes are not known after a refusal", wrongPool, func(r *recorded) {
			r.outcome("worker/processes.txt", collect.Failed, "timeout")
		}, []turn{
			{"refusal.untouched", collect.Inconclusive, "", "worker/processes.txt"},
			{"collect.complete", collect.Inconclusive, "", "worker/processes.txt"},
		}},
		{"nothing of the operator's objects but its status", wrongPool, func(r *recorded) {
			r.outcome(evidence.FelixFile, collect.Failed, "connection refused")
		}, []turn{{"collect.complete", collect.Inconclusive, "", evidence.FelixFile}}},
	}
}
