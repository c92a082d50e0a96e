package check

import (
	"regexp"
	"slices"

	"service-dataplane/pkg/collect"
)

const (
	lbList      = "cilium-bpf-lb-list.json"
	lbFrontends = "cilium-bpf-lb-frontends.json"
	agentList   = "cilium-service-list.json"
	agentStatus = "cilium-status.json"
	bpfTracked  = "cilium-bpf-ct-list.txt"
)

// ciliumControls change runs in which Cilium is installed.
func ciliumControls() []control {
	return slices.Concat(ciliumModeControls(), ciliumTrafficControls(), ciliumKernelControls())
}

func ciliumModeControls() []control {
	return []control{
		{"a replacement that is not declared", "cilium", func(r *recorded) {
			r.replace("cluster/cilium-config.json", `("kube-proxy-replacement": ?)"true"`, `$1"false"`)
		}, []turn{{"mode.declared", collect.Fail, "", "cluster/cilium-config.json"}}},
		{"socket LB in the ConfigMap is no witness", "cilium", func(r *recorded) {
			r.replace("cluster/cilium-config.json", `("bpf-lb-sock": ?)"false"`, `$1"true"`)
		}, nil},
		{"kube-proxy configured beside Cilium", "cilium", func(r *recorded) {
			r.outcome("cluster/kube-proxy-configmap.json", collect.Captured, "")
			r.copyFrom(record(r.T, "iptables"), "cluster/kube-proxy-configmap.json")
		}, []turn{{"mode.declared", collect.Fail, "", "cluster/kube-proxy-configmap.json"}}},
		{"one agent replaces nothing", "cilium", func(r *recorded) {
			r.replace("worker/"+agentStatus, `"mode": "True"`, `"mode": "False"`)
		}, []turn{
			{"mode.actual", collect.Fail, "", "worker/" + agentStatus},
			{"traffic.traced", collect.Fail, "", "host/host-nodeport-worker.jsonl"},
		}},
		{"one agent without socket LB", "cilium", func(r *recorded) {
			r.replace("worker2/"+agentStatus, `("socketLB": \{)\s*"enabled": true`, "$1")
		}, []turn{{"mode.actual", collect.Fail, "", "worker2/" + agentStatus}}},
		{"one agent attached in another way", "cilium", func(r *recorded) {
			r.replace("worker2/"+agentStatus, `"attach-mode": "\w+"`, `"attach-mode": "xdp"`)
		}, []turn{{"mode.actual", collect.Fail, "", "worker2/" + agentStatus}}},
		{"one agent does not say how it is attached", "cilium", func(r *recorded) {
			r.replace("worker2/"+agentStatus, `"attach-mode": "\w+",`, "")
		}, []turn{{"mode.actual", collect.Inconclusive, "", "worker2/" + agentStatus}}},
		{"another version on one node", "cilium", func(r *recorded) {
			r.replace("worker2/cilium-version.json", `(?s)("Daemon".*?"Version": )"[^"]*"`, `$1"1.0.0"`)
		}, []turn{{"mode.version", collect.Fail, "", "worker2/cilium-version.json"}}},
		{"another version by one agent's status", "cilium", func(r *recorded) {
			r.replace("worker/"+agentStatus, `("msg": ")[0-9.]+( \(v)`, "${1}1.0.0$2")
		}, []turn{{"mode.version", collect.Fail, "", "worker/" + agentStatus}}},
		{"another version than the scenario's on every node", "cilium", func(r *recorded) {
			r.scenario.Spec.DataPlane.Cilium.Version = "1.0.0"
		}, []turn{{"mode.version", collect.Fail, "", "control-plane/cilium-version.json"}}},
		{"a DaemonSet of kube-proxy", "cilium", func(r *recorded) {
			r.outcome("cluster/kube-proxy-daemonset.json", collect.Captured, "")
			r.copyFrom(record(r.T, "iptables"), "cluster/kube-proxy-daemonset.json")
		}, []turn{{"mode.sole", collect.Fail, "", "cluster/kube-proxy-daemonset.json"}}},
		{"a kube-proxy runs on one node", "cilium", func(r *recorded) {
			r.replace("worker/processes.txt", `\z`, "  999 kube-proxy      /usr/local/bin/kube-proxy --config=/var/lib/kube-proxy/config.conf\n")
		}, []turn{{"mode.sole", collect.Fail, "", "worker/processes.txt"}}},
		{"a stale chain of iptables mode beside Cilium", "cilium", func(r *recorded) {
			r.replace("worker/"+nftSave, `^\*nat\n`, "*nat\n:KUBE-SVC-STALE - [0:0]\n:KUBE-SEP-STALE - [0:0]\n")
			r.replace("worker/"+nftSave, `(^\*nat\n(?:.*\n)*?)COMMIT`, "${1}-A KUBE-SVC-STALE -j KUBE-SEP-STALE\nCOMMIT")
		}, []turn{{"mode.sole", collect.Fail, "", "worker/" + nftSave}}},
		{"nftables programmed beside Cilium", "cilium", func(r *recorded) {
			r.outcome("worker2/nft-ruleset.json", collect.Captured, "")
			r.copyFrom(record(r.T, "nftables"), "worker2/nft-ruleset.json")
		}, []turn{{"mode.sole", collect.Fail, "", "worker2/nft-ruleset.json"}}},

		// Cilium that is the pod network alone.
		{"a replacement declared where kube-proxy is wanted", "cilium-kube-proxy", func(r *recorded) {
			r.replace("cluster/cilium-config.json", `("kube-proxy-replacement": ?)"false"`, `$1"true"`)
		}, []turn{{"mode.declared", collect.Fail, "", "cluster/cilium-config.json"}}},
		{"one agent replaces the kube-proxy that is wanted", "cilium-kube-proxy", func(r *recorded) {
			r.replace("worker/"+agentStatus, `"mode": "False"`, `"mode": "True"`)
		}, []turn{{"mode.actual", collect.Fail, "", "worker/" + agentStatus}}},
		{"another Cilium on one node beside kube-proxy", "cilium-kube-proxy", func(r *recorded) {
			r.replace("worker/"+agentStatus, `("msg": ")[0-9.]+( \(v)`, "${1}1.0.0$2")
		}, []turn{{"mode.version", collect.Fail, "", "worker/" + agentStatus}}},
		{"Services in the maps where they are forbidden", "cilium-kube-proxy", func(r *recorded) {
			r.scenario.Spec.Expect.Forbidden = append(r.scenario.Spec.Expect.Forbidden, "cilium")
		}, []turn{{"mode.sole", collect.Fail, "", "worker/" + lbList}}},
	}
}

func ciliumTrafficControls() []control {
	return []control{
		{"a pod's connection translated in the packet", "cilium", func(r *recorded) {
			r.replace(byName, `("dialedAddress":"([^"]*)".*"kernelRemote":)"[^"]*"`, `$1"$2"`)
		}, []turn{{"traffic.translation", collect.Fail, "", byName}}},
		{"rewritten to an endpoint at another port", "cilium", func(r *recorded) {
			r.replace(byName, `("kernelRemote":"[^:"]*):\d+"`, `$1:81"`)
		}, []turn{{"traffic.translation", collect.Fail, "", byName}}},
		{"getpeername shows the rewriting", "cilium", func(r *recorded) {
			r.replace(byName, `"peername":"[^"]*"(,"kernelRemote":("[^"]*"))`, `"peername":$2$1`)
		}, []turn{{"traffic.translation", collect.Fail, "", byName}}},
		{"the host's connection translated at the socket", "cilium", func(r *recorded) {
			r.replace("host/host-nodeport-worker.jsonl", `("kernelRemote":")[^"]*(".*"podIP":"([^"]*)")`, "${1}${3}:8080${2}")
		}, []turn{{"traffic.translation", collect.Fail, "", "host/host-nodeport-worker.jsonl"}}},
		{"a packet of the pod carried the ClusterIP", "cilium", func(r *recorded) {
			client := r.find(byName, `"localAddress":"([^"]*)"`)
			service := r.find(byName, `"dialedAddress":"([^"]*)"`)
			r.replace("worker2/"+bpfTracked, `^TCP SVC \S+ -> \S+:30081 (.*)$`, "$0\nTCP SVC "+client+" -> "+service+" $1")
		}, []turn{{"traffic.translation", collect.Fail, "", "worker2/" + bpfTracked}}},
		{"connections from outside that nobody tracks", "cilium", func(r *recorded) {
			r.raw["worker/"+bpfTracked].Data = nil
		}, []turn{{"traffic.translation", collect.Fail, "", "worker/" + bpfTracked}}},
		{"the address of a pod hidden on the way through a NodePort", "cilium", func(r *recorded) {
			entry := r.find("host/host-nodeport-worker.jsonl", `"dialedAddress":"([^:]*):`)
			r.replace("client/nodeport-worker.jsonl", `"sourceSeen":"[^:]*:`, `"sourceSeen":"`+entry+`:`)
		}, []turn{
			{"traffic.source", collect.Fail, "", "client/nodeport-worker.jsonl"},
			{"traffic.traced", collect.Fail, "", "client/nodeport-worker.jsonl"},
		}},
		{"a source from outside kept though the backend is elsewhere", "cilium", func(r *recorded) {
			r.replace("host/host-nodeport-control-plane.jsonl", `("localAddress":"([^:]*):.*"sourceSeen":")[^:]*:`, "$1$2:")
		}, []turn{
			{"traffic.source", collect.Fail, "", "host/host-nodeport-control-plane.jsonl"},
			{"traffic.traced", collect.Fail, "", "host/host-nodeport-control-plane.jsonl"},
		}},
	}
}

func ciliumKernelControls() []control {
	// row matches an entry of a dump of the maps that another one follows.
	row := func(key string) string { return `^ *"` + key + `": \[\s*"[^"]*"\s*\],\n` }
	return []control{
		{"a backend's row missing in the map of one node", "cilium", func(r *recorded) {
			r.replace("worker/"+lbList, row(`10\.97\.0\.10:53/UDP \(2\)`), "")
		}, []turn{{"kernel.table", collect.Fail, "", "worker/" + lbList}}},
		{"a backend's row at another port", "cilium", func(r *recorded) {
			r.replace("worker/"+lbList, `("10\.97\.0\.10:53/UDP \(1\)": \[\s*"[0-9.]+):53/UDP`, "${1}:54/UDP")
		}, []turn{{"kernel.table", collect.Fail, "", "worker/" + lbList}}},
		{"a frontend's row missing in the map", "cilium", func(r *recorded) {
			r.replace("worker/"+lbList, row(`10\.97\.0\.10:9153/TCP \(0\)`), "")
		}, []turn{{"kernel.table", collect.Fail, "", "worker/" + lbList}}},
		{"fewer slots in use than there are", "cilium", func(r *recorded) {
			r.replace("worker2/"+lbFrontends, `("10\.97\.0\.10:9153/TCP \(0\)": \[\s*"0 )2\[0\]`, "${1}1[0]")
		}, []turn{{"kernel.table", collect.Fail, "", "worker2/" + lbList}}},
		{"a NodePort that sockets do not find", "cilium", func(r *recorded) {
			for range 3 {
				r.replace("control-plane/"+lbList, row(`0\.0\.0\.0:30081/TCP \(\d\)`), "")
				r.replace("control-plane/"+lbFrontends, row(`0\.0\.0\.0:30081/TCP \(\d\)`), "")
			}
		}, []turn{{"kernel.table", collect.Fail, "", "control-plane/" + lbList}}},
		{"a NodePort that is not at the node's address", "cilium", func(r *recorded) {
			last := `,\s*"172\.\d+\.\d+\.\d+:30081/TCP \(\d\)": \[\s*"[^"]*"\s*\]`
			for range 3 {
				r.replace("control-plane/"+lbList, last, "")
				r.replace("control-plane/"+lbFrontends, last, "")
			}
		}, []turn{
			{"kernel.table", collect.Fail, "", "control-plane/" + lbList},
			{"traffic.traced", collect.Fail, "", "host/host-nodeport-control-plane.jsonl"},
		}},
		{"another backend in the list of one agent", "cilium", func(r *recorded) {
			r.replace("worker/"+agentList, `("realized": \{\s*"backend-addresses": \[\s*\{\s*"ip": ")[^"]*`, "${1}10.245.9.9")
		}, []turn{{"kernel.table", collect.Fail, "", "worker/" + agentList}}},
		{"an endpoint the API does not have", "cilium", func(r *recorded) {
			dns := r.find("worker/"+lbList, `10\.97\.0\.10:53/UDP \(1\)": \[\s*"([0-9.]+):`)
			r.replace(slicesJSON, `"`+regexp.QuoteMeta(dns)+`"`, `"10.245.9.9"`)
		}, []turn{{"kernel.table", collect.Fail, "", "worker/" + lbList}}},
		{"a row that is not understood", "cilium", func(r *recorded) {
			r.replace("worker/"+lbList, `\A\{`, `{"10.97.77.7:80/TCP (0)": ["strange"],`)
		}, []turn{
			{"kernel.unparsed", collect.Fail, "", "worker/" + lbList},
			{"kernel.table", collect.Inconclusive, "", "worker/" + lbList},
		}},
		{"an entry of the agent's list that is not understood", "cilium", func(r *recorded) {
			r.replace("worker/"+agentList, `\A\[`, `[{},`)
		}, []turn{
			{"kernel.unparsed", collect.Fail, "", "worker/" + agentList},
			{"kernel.table", collect.Inconclusive, "", "worker/" + agentList},
		}},
		{"tracked to a backend that the maps do not have", "cilium", func(r *recorded) {
			r.replace("worker/"+bpfTracked, `^(TCP SVC \S+ -> \S+:30081 .*BackendID=)\d+`, "${1}9999")
		}, []turn{{"kernel.conntrack", collect.Fail, "", "worker/" + bpfTracked}}},
		{"translated by the kernel", "cilium", func(r *recorded) {
			node := r.find("host/host-nodeport-worker.jsonl", `"dialedAddress":"([^:]*):`)
			pod := r.find("host/host-nodeport-worker.jsonl", `"podIP":"([^"]*)"`)
			r.raw["worker/conntrack-nodeport.txt"].Data = []byte("tcp      6 118 TIME_WAIT src=172.18.0.1 dst=" + node +
				" sport=49906 dport=30081 src=" + pod + " dst=172.18.0.1 sport=8080 dport=49906 [ASSURED] mark=0 use=1\n")
		}, []turn{{"kernel.conntrack", collect.Fail, "", "worker/conntrack-nodeport.txt"}}},
		{"Cilium's tracked connections cannot be read", "cilium", func(r *recorded) {
			r.outcome("worker2/"+bpfTracked, collect.Failed, "Unable to open map")
		}, []turn{
			{"kernel.conntrack", collect.Skip, "", ""},
			{"collect.complete", collect.Inconclusive, "", "worker2/" + bpfTracked},
		}},
		{"a dump of the maps failed", "cilium", func(r *recorded) {
			r.outcome("worker/"+lbList, collect.Failed, "Unable to open map")
		}, []turn{
			{"traffic.selection", collect.Inconclusive, "", "worker/" + lbList},
			{"kernel.table", collect.Inconclusive, "", "worker/" + lbList},
			{"kernel.unparsed", collect.Inconclusive, "", "worker/" + lbList},
			{"kernel.conntrack", collect.Skip, "", ""},
			{"collect.complete", collect.Inconclusive, "", "worker/" + lbList},
			{"traffic.traced", collect.Inconclusive, "", "worker/cilium-bpf-lb-list.json"},
		}},
		{"health checking switched off", "cilium", func(r *recorded) {
			r.outcome("worker/cilium-health.json", collect.NotThere, "health.sock: connect: no such file or directory")
		}, nil},
	}
}
