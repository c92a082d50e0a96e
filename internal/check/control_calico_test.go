package check

import (
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
)

// calicoControls change the run in which Calico is in kube-proxy's place.
func calicoControls() []control {
	return slices.Concat(calicoModeControls(), calicoSoleControls(), calicoTrafficControls(), calicoTableControls(), calicoConntrackControls())
}

func calicoModeControls() []control {
	replace := func(file, pattern, with string) func(*recorded) {
		return func(r *recorded) { r.replace(file, pattern, with) }
	}
	declared := func(verdict collect.Verdict, file string) []turn { return []turn{{"mode.declared", verdict, "", file}} }
	actual := func(verdict collect.Verdict, file string) []turn { return []turn{{"mode.actual", verdict, "", file}} }
	// component changes a condition of one of the operator's components.
	component := func(name, from, to string) func(*recorded) {
		return replace(evidence.TigeraStatusFile, `("name":"`+name+`",[^{]*\},"spec":\{\},"status":\{"conditions":\[.*?)`+from, "${1}"+to)
	}
	return []control{
		{"Felix is not configured for eBPF", "calico-ebpf", replace(evidence.FelixFile, `"bpfEnabled":true`, `"bpfEnabled":false`), declared(collect.Fail, evidence.FelixFile)},
		{"Felix has no word of eBPF", "calico-ebpf", replace(evidence.FelixFile, `"bpfEnabled":true,`, ""), declared(collect.Fail, evidence.FelixFile)},
		{"another data plane asked for", "calico-ebpf", replace(evidence.InstallationFile, `"linuxDataplane":"BPF"`, `"linuxDataplane":"Iptables"`), declared(collect.Fail, evidence.InstallationFile)},
		{"kube-proxy not managed", "calico-ebpf", replace(evidence.InstallationFile, `"kubeProxyManagement":"Enabled"`, `"kubeProxyManagement":"Disabled"`), declared(collect.Fail, evidence.InstallationFile)},
		{"no bootstrap", "calico-ebpf", replace(evidence.InstallationFile, `"bpfNetworkBootstrap":"Enabled"`, `"bpfNetworkBootstrap":"Disabled"`), declared(collect.Fail, evidence.InstallationFile)},
		{"nothing said of kube-proxy's management", "calico-ebpf", replace(evidence.InstallationFile, `"kubeProxyManagement":"Enabled",`, ""), declared(collect.Inconclusive, evidence.InstallationFile)},
		{"what the operator has computed is no word of what was asked for", "calico-ebpf", replace(evidence.InstallationFile, `("computed":.*"linuxDataplane":)"BPF"`, `$1"Iptables"`), nil},
		{"the mode in kube-proxy's ConfigMap is no witness", "calico-ebpf", replace(evidence.ConfigMapFile, `\\nmode: iptables`, `\nmode: nftables`), nil},
		{"kube-proxy has no ConfigMap beside Calico", "calico-ebpf", func(r *recorded) {
			r.outcome(evidence.ConfigMapFile, collect.NotThere, `configmaps "kube-proxy" not found`)
		}, nil},

		{"a component is degraded", "calico-ebpf", component("ippools", `"status":"False","type":"Degraded"`, `"status":"True","type":"Degraded"`), actual(collect.Fail, evidence.TigeraStatusFile)},
		{"a component is still progressing", "calico-ebpf", component("calico", `"status":"False","type":"Progressing"`, `"status":"True","type":"Progressing"`), actual(collect.Fail, evidence.TigeraStatusFile)},
		{"a component of which nothing holds", "calico-ebpf", component("calico", `"status":"True","type":"Available"`, `"status":"Unknown","type":"Available"`), actual(collect.Inconclusive, evidence.TigeraStatusFile)},
		{"nobody keeps kube-proxy off", "calico-ebpf", replace(evidence.TigeraStatusFile, `"name":"kubeproxy-monitor"`, `"name":"apiserver"`), actual(collect.Inconclusive, evidence.TigeraStatusFile)},
		{"the operator says nothing at all", "calico-ebpf", func(r *recorded) {
			r.raw[evidence.TigeraStatusFile].Data = []byte(`{"apiVersion":"operator.tigera.io/v1","kind":"TigeraStatusList","items":[]}`)
		}, actual(collect.Inconclusive, evidence.TigeraStatusFile)},
		{"the operator's words are not known", "calico-ebpf", func(r *recorded) {
			r.outcome(evidence.TigeraStatusFile, collect.Failed, "connection refused")
		}, []turn{
			{"mode.actual", collect.Inconclusive, "cluster", evidence.TigeraStatusFile},
			{"collect.complete", collect.Inconclusive, "cluster", evidence.TigeraStatusFile},
		}},
		{"bpftool lists no program", "calico-ebpf", func(r *recorded) {
			r.raw["worker/"+calico.CgroupFile].Data = []byte("[]")
		}, actual(collect.Inconclusive, "worker/"+calico.CgroupFile)},
		{"bpftool lists programs of devices and of others alone", "calico-ebpf", func(r *recorded) {
			r.raw["worker/"+calico.CgroupFile].Data = []byte(`[{"id":1,"attach_type":"tcx_ingress","attach_flags":"","name":"cali_tc_preamble"},{"id":2,"attach_type":"cgroup_inet4_connect","attach_flags":"multi","name":"cil_sock4_connect"}]`)
		}, actual(collect.Inconclusive, "worker/"+calico.CgroupFile)},
		{"no bpftool", "calico-ebpf", func(r *recorded) {
			r.outcome("worker2/"+calico.CgroupFile, collect.NotThere, `exec: "bpftool": executable file not found in $PATH`)
		}, append(actual(collect.Inconclusive, "worker2/"+calico.CgroupFile), turn{"traffic.traced", collect.Inconclusive, "worker2", ""})},
		{"connect() of IPv6 alone", "calico-ebpf", func(r *recorded) {
			edit(r, "worker/"+calico.CgroupFile, func(all []map[string]any) []map[string]any {
				return slices.DeleteFunc(all, func(p map[string]any) bool { return p["attach_type"] == "cgroup_inet4_connect" })
			})
		}, actual(collect.Inconclusive, "worker/"+calico.CgroupFile)},

		{"another Calico on one node", "calico-ebpf", replace("worker2/"+calico.VersionFile, `v3\.31\.7`, "v3.30.0"), []turn{{"mode.version", collect.Fail, "", "worker2/" + calico.VersionFile}}},
		{"another Calico than the scenario's on every node", "calico-ebpf", func(r *recorded) {
			r.scenario.Spec.DataPlane.Calico.Version = "v3.30.0"
		}, []turn{{"mode.version", collect.Fail, "", "control-plane/" + calico.VersionFile}}},
		{"the operator has installed another Calico", "calico-ebpf", replace(evidence.InstallationFile, `"calicoVersion":"v3\.31\.7"`, `"calicoVersion":"v3.30.0"`), []turn{{"mode.version", collect.Fail, "cluster", evidence.InstallationFile}}},
		{"the operator does not say what it has installed", "calico-ebpf", replace(evidence.InstallationFile, `"calicoVersion":"v3\.31\.7",`, ""), []turn{{"mode.version", collect.Inconclusive, "cluster", evidence.InstallationFile}}},
		{"Calico does not say its version", "calico-ebpf", func(r *recorded) {
			r.raw["worker/"+calico.VersionFile].Data = []byte("Build date:   2026-11-29\n")
		}, []turn{
			{"mode.version", collect.Inconclusive, "", "worker/" + calico.VersionFile},
			{"collect.complete", collect.Inconclusive, "", "worker/" + calico.VersionFile},
		}},
	}
}

// calicoSoleControls bring a second data plane back.
func calicoSoleControls() []control {
	sole := func(file string) []turn { return []turn{{"mode.sole", collect.Fail, "", file}} }
	return []control{
		{"kube-proxy is meant for every node", "calico-ebpf", func(r *recorded) {
			r.replace(evidence.DaemonSetFile, `"desiredNumberScheduled":0`, `"desiredNumberScheduled":3`)
		}, sole(evidence.DaemonSetFile)},
		{"the operator's selector is gone", "calico-ebpf", func(r *recorded) {
			r.replace(evidence.DaemonSetFile, `,"operator.tigera.io/disable-kube-proxy":"true"`, "")
		}, sole(evidence.DaemonSetFile)},
		{"the operator's selector asks for something else", "calico-ebpf", func(r *recorded) {
			r.replace(evidence.DaemonSetFile, `"operator.tigera.io/disable-kube-proxy":"true"`, `"operator.tigera.io/disable-kube-proxy":"false"`)
		}, sole(evidence.DaemonSetFile)},
		{"the DaemonSet's status is of before its last change", "calico-ebpf", func(r *recorded) {
			r.replace(evidence.DaemonSetFile, `"generation":\d+`, `"generation":9`)
		}, []turn{{"mode.sole", collect.Inconclusive, "", evidence.DaemonSetFile}}},
		{"the DaemonSet never got a status", "calico-ebpf", func(r *recorded) {
			r.replace(evidence.DaemonSetFile, `,"observedGeneration":\d+`, "")
		}, []turn{{"mode.sole", collect.Inconclusive, "", evidence.DaemonSetFile}}},
		{"kube-proxy has no DaemonSet beside Calico", "calico-ebpf", func(r *recorded) {
			r.outcome(evidence.DaemonSetFile, collect.NotThere, `daemonsets.apps "kube-proxy" not found`)
		}, nil},
		{"a kube-proxy runs beside Calico", "calico-ebpf", func(r *recorded) {
			r.replace("worker/processes.txt", `\z`, "    999 kube-proxy      /usr/local/bin/kube-proxy --config=/var/lib/kube-proxy/config.conf\n")
		}, sole("worker/processes.txt")},
		{"a Service in the chains of iptables beside Calico", "calico-ebpf", func(r *recorded) {
			r.replace("worker/"+nftSave, `^\*nat\n`, "*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-SVC-NPX46M4PTMTKRN6Y - [0:0]\n:KUBE-SEP-6GODNNVFRWQ66GUT - [0:0]\n")
			r.replace("worker/"+nftSave, `(^\*nat\n(?:.*\n)*?)COMMIT`, `$1-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SERVICES -d 10.98.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -m tcp --dport 443 -j KUBE-SVC-NPX46M4PTMTKRN6Y
-A KUBE-SVC-NPX46M4PTMTKRN6Y -m comment --comment "default/kubernetes:https -> 172.18.0.3:6443" -j KUBE-SEP-6GODNNVFRWQ66GUT
-A KUBE-SEP-6GODNNVFRWQ66GUT -p tcp -m comment --comment "default/kubernetes:https" -m tcp -j DNAT --to-destination 172.18.0.3:6443
COMMIT`)
		}, sole("worker/" + nftSave)},
		{"a stale chain of iptables mode beside Calico", "calico-ebpf", func(r *recorded) {
			r.replace("worker2/"+nftSave, `^\*nat\n`, "*nat\n:KUBE-SVC-STALE - [0:0]\n:KUBE-SEP-STALE - [0:0]\n")
			r.replace("worker2/"+nftSave, `(^\*nat\n(?:.*\n)*?)COMMIT`, "${1}-A KUBE-SVC-STALE -j KUBE-SEP-STALE\nCOMMIT")
		}, sole("worker2/" + nftSave)},
		{"nftables programmed beside Calico", "calico-ebpf", func(r *recorded) {
			r.copyFrom(record(r.T, "nftables"), "worker2/nft-ruleset.json")
		}, sole("worker2/nft-ruleset.json")},
	}
}
