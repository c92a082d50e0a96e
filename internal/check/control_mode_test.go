package check

import (
	"strings"

	"service-dataplane/pkg/collect"
)

// modeControls change what is configured, what runs, and what the API holds.
func modeControls() []control {
	return []control{
		{"another mode declared", "nftables", func(r *recorded) {
			r.replace("cluster/kube-proxy-configmap.json", `\\nmode: nftables`, `\nmode: iptables`)
		}, []turn{{"mode.declared", collect.Fail, "", "cluster/kube-proxy-configmap.json"}}},
		{"no mode declared means iptables", "nftables", func(r *recorded) {
			r.replace("cluster/kube-proxy-configmap.json", `\\nmode: nftables`, `\nmode: \"\"`)
		}, []turn{{"mode.declared", collect.Fail, "", "cluster/kube-proxy-configmap.json"}}},
		{"no mode declared where iptables is wanted", "iptables", func(r *recorded) {
			r.replace("cluster/kube-proxy-configmap.json", `\\nmode: iptables`, `\nmode: \"\"`)
		}, nil},
		{"one node answers another mode", "iptables", func(r *recorded) {
			r.replace("worker/proxyMode.txt", "iptables", "nftables")
		}, []turn{{"mode.actual", collect.Fail, "", "worker/proxyMode.txt"}}},
		{"one node logs another mode", "nftables", func(r *recorded) {
			r.replace("worker2/kube-proxy.log", "Using nftables Proxier", "Using ipvs Proxier")
		}, []turn{{"mode.actual", collect.Fail, "", "worker2/kube-proxy.log"}}},
		{"one node's log does not say", "nftables", func(r *recorded) {
			r.replace("worker2/kube-proxy.log", "Using nftables Proxier", "")
		}, []turn{{"mode.actual", collect.Inconclusive, "", "worker2/kube-proxy.log"}}},
		{"no kube-proxy configured", "iptables", func(r *recorded) {
			r.outcome("cluster/kube-proxy-configmap.json", collect.NotThere, `configmaps "kube-proxy" not found`)
		}, []turn{{"mode.declared", collect.Fail, "", "cluster/kube-proxy-configmap.json"}}},
		{"no kube-proxy answers on one node", "nftables", func(r *recorded) {
			r.outcome("worker/proxyMode.txt", collect.NotThere, "curl: (7) Failed to connect to 127.0.0.1 port 10249")
		}, []turn{{"mode.actual", collect.Fail, "", "worker/proxyMode.txt"}}},
		{"no kube-proxy runs on one node", "iptables", func(r *recorded) {
			r.replace("worker2/processes.txt", `^ *\d+ kube-proxy .*\n`, "")
		}, []turn{{"mode.actual", collect.Fail, "", "worker2/processes.txt"}}},
		{"the processes of one node are not listed", "iptables", func(r *recorded) {
			r.raw["worker2/processes.txt"].Data = nil
		}, []turn{
			{"mode.actual", collect.Inconclusive, "", "worker2/processes.txt"},
			{"collect.complete", collect.Inconclusive, "", "worker2/processes.txt"},
		}},
		{"no kube-proxy pod on one node", "iptables", func(r *recorded) {
			r.replace("cluster/pods.json", `"k8s-app":"kube-proxy"([^}]*\},"annotations|[^}]*\},"ownerReferences)`, `"k8s-app":"other"$1`)
			r.forget("worker2/kube-proxy.log")
		}, []turn{
			{"mode.actual", collect.Fail, "worker2", "cluster/pods.json"},
			{"mode.version", collect.Fail, "worker2", "cluster/pods.json"},
		}},
		{"another image of the same name on one node", "nftables", func(r *recorded) {
			r.replace("cluster/pods.json", `("image":"registry.k8s.io/kube-proxy:v1.35.0","imageID":"sha256:)\w{64}`, "${1}"+strings.Repeat("0", 64))
		}, []turn{{"mode.version", collect.Fail, "worker2", "cluster/pods.json"}}},
		{"kube-proxy's image is not told", "nftables", func(r *recorded) {
			r.replace("cluster/pods.json", `"name":"kube-proxy"(,"state":\{"running")`, `"name":"other"$1`)
		}, []turn{{"mode.version", collect.Inconclusive, "worker2", "cluster/pods.json"}}},
		{"a stale chain of iptables mode beside nftables", "nftables", func(r *recorded) {
			r.replace("worker/"+nftSave, `^\*nat\n`, "*nat\n:KUBE-SVC-STALE - [0:0]\n:KUBE-SEP-STALE - [0:0]\n")
			r.replace("worker/"+nftSave, `(^\*nat\n(?:.*\n)*?)COMMIT`, "${1}-A KUBE-SVC-STALE -j KUBE-SEP-STALE\nCOMMIT")
		}, []turn{
			{"mode.sole", collect.Fail, "", "worker/" + nftSave},
			{"traffic.traced", collect.Inconclusive, "worker", ""},
		}},
		{"a jump to a Service's chain beside nftables", "nftables", func(r *recorded) {
			r.copyFrom(record(r.T, "iptables"), "control-plane/"+nftSave)
		}, []turn{
			{"mode.sole", collect.Fail, "", "control-plane/" + nftSave},
			{"traffic.traced", collect.Inconclusive, "control-plane", ""},
		}},
		{"nftables programmed beside iptables", "iptables", func(r *recorded) {
			r.copyFrom(record(r.T, "nftables"), "worker2/nft-ruleset.json")
		}, []turn{{"mode.sole", collect.Fail, "", "worker2/nft-ruleset.json"}}},
		{"an nftables table without Services proves nothing", "iptables", func(r *recorded) {
			r.replace("worker2/nft-ruleset.json", `\]\}\s*$`, `, {"table": {"family": "ip", "name": "kube-proxy", "handle": 99}}]}`)
		}, nil},
		{"a row in ip_vs", "iptables", func(r *recorded) {
			r.outcome("worker/ip_vs.txt", collect.Captured, "")
			r.raw["worker/ip_vs.txt"].Data = []byte("IP Virtual Server version 1.2.1 (size=4096)\nProt LocalAddress:Port Scheduler Flags\n" +
				"  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\nTCP  0A600001:01BB rr\n  -> AC120004:192B      Masq    1      0          0\n")
		}, []turn{
			{"traffic.traced", collect.Inconclusive, "worker", ""}, {"mode.sole", collect.Fail, "", "worker/ip_vs.txt"}, {"kernel.unparsed", collect.Fail, "", "worker/ip_vs.txt"}}},
		{"IPVS in the kernel without a row", "iptables", func(r *recorded) {
			r.outcome("worker/ip_vs.txt", collect.Captured, "")
			r.raw["worker/ip_vs.txt"].Data = []byte("IP Virtual Server version 1.2.1 (size=4096)\nProt LocalAddress:Port Scheduler Flags\n" +
				"  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n")
		}, nil},
		{"both iptables back ends", "iptables", func(r *recorded) {
			r.raw["worker/iptables-legacy-save.txt"].Data = r.raw["worker/"+nftSave].Data
		}, []turn{
			{"mode.sole", collect.Fail, "", "worker/iptables-legacy-save.txt"},
			{"traffic.traced", collect.Inconclusive, "worker", ""},
		}},
		{"Service of another type", "iptables", func(r *recorded) {
			r.replace(servicesJSON, `"type": ?"NodePort"`, `"type":"LoadBalancer"`)
		}, []turn{{"objects.service", collect.Fail, "", servicesJSON}}},
		{"an endpoint is not ready", "iptables", func(r *recorded) {
			r.replace(slicesJSON, `("addresses": ?\["`+r.backend("worker")+`"\], ?"conditions": ?\{"ready": ?)true`, "${1}false")
		}, []turn{
			{"objects.endpoints", collect.Fail, "worker", slicesJSON},
			{"traffic.backends", collect.Fail, "", byName},
			{"traffic.selection", collect.Skip, "", ""},
			{"kernel.table", collect.Fail, "", "worker/" + nftSave},
			{"kernel.conntrack", collect.Fail, "", "worker2/conntrack-clusterip.txt"},
		}},
	}
}
