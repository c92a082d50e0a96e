package check

import (
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

// TestRecordedRunsPass is what every negative control starts from.
func TestRecordedRunsPass(t *testing.T) {
	for _, scenario := range []string{"iptables", "nftables"} {
		for id, c := range record(t, scenario).judge() {
			if c.Verdict != collect.Pass {
				t.Errorf("%s: %s is %s: %s", scenario, id, c.Verdict, c.Reason)
			}
		}
	}
}

const (
	servicesJSON = "cluster/services.json"
	slicesJSON   = "cluster/endpointslices.json"
	byName       = "client/clusterip-by-name.jsonl"
	nftSave      = "iptables-nft-save.txt"
)

// TestNegativeControls changes one thing in the raw files of a good run. Every
// check it must turn is listed with the place it has to name; no other may
// turn.
func TestNegativeControls(t *testing.T) {
	tests := []struct {
		name     string
		scenario string
		change   func(r *recorded)
		want     []turn
	}{
		// mode
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
		{"a stale chain of iptables mode beside nftables", "nftables", func(r *recorded) {
			r.replace("worker/"+nftSave, `^\*nat\n`, "*nat\n:KUBE-SVC-STALE - [0:0]\n:KUBE-SEP-STALE - [0:0]\n")
			r.replace("worker/"+nftSave, `(^\*nat\n(?:.*\n)*?)COMMIT`, "${1}-A KUBE-SVC-STALE -j KUBE-SEP-STALE\nCOMMIT")
		}, []turn{{"mode.sole", collect.Fail, "", "worker/" + nftSave}}},
		{"a jump to a Service's chain beside nftables", "nftables", func(r *recorded) {
			r.copyFrom(record(r.T, "iptables"), "control-plane/"+nftSave)
		}, []turn{{"mode.sole", collect.Fail, "", "control-plane/" + nftSave}}},
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
		}, []turn{{"mode.sole", collect.Fail, "", "worker/ip_vs.txt"}, {"kernel.unparsed", collect.Fail, "", "worker/ip_vs.txt"}}},
		{"IPVS in the kernel without a row", "iptables", func(r *recorded) {
			r.outcome("worker/ip_vs.txt", collect.Captured, "")
			r.raw["worker/ip_vs.txt"].Data = []byte("IP Virtual Server version 1.2.1 (size=4096)\nProt LocalAddress:Port Scheduler Flags\n" +
				"  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n")
		}, nil},
		{"both iptables back ends", "iptables", func(r *recorded) {
			r.raw["worker/iptables-legacy-save.txt"].Data = r.raw["worker/"+nftSave].Data
		}, []turn{{"mode.sole", collect.Fail, "", "worker/iptables-legacy-save.txt"}}},

		// objects
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

		// traffic
		{"a connection lost", "iptables", func(r *recorded) {
			r.replace(byName, `^(\{"sequence":3,.*)"backend":\{[^}]*\},"sourceSeen":"[^"]*"(.*)"error":""`,
				`${1}"backend":{"pod":"","node":"","podIP":""},"sourceSeen":""${2}"error":"connection refused"`)
		}, []turn{{"traffic.complete", collect.Fail, "", byName}}},
		{"the last connection not recorded", "iptables", func(r *recorded) {
			r.replace(byName, `^\{"sequence":12,.*\n`, "")
		}, []turn{{"traffic.complete", collect.Fail, "", byName}}},
		{"a sequence number repeated", "iptables", func(r *recorded) {
			r.replace(byName, `"sequence":3,`, `"sequence":2,`)
		}, []turn{
			{"traffic.complete", collect.Inconclusive, "", byName},
			{"traffic.backends", collect.Inconclusive, "", byName},
			{"traffic.selection", collect.Inconclusive, "", byName},
			{"traffic.source", collect.Inconclusive, "", byName},
			{"collect.complete", collect.Inconclusive, "", byName},
		}},
		{"connections of another entry point", "iptables", func(r *recorded) {
			r.replace(byName, `"entry":"clusterip-by-name"`, `"entry":"clusterip-by-address"`)
		}, []turn{{"traffic.complete", collect.Fail, "", byName}}},
		{"answered by a stranger", "iptables", func(r *recorded) {
			r.replace(byName, `"backend":\{"pod":"[^"]*","node":"([^"]*)","podIP":"[^"]*"`, `"backend":{"pod":"stranger","node":"$1","podIP":"10.244.9.9"`)
		}, []turn{{"traffic.backends", collect.Fail, "", byName}}},
		{"answered by another pod at an endpoint's address", "iptables", func(r *recorded) {
			r.replace(byName, `"backend":\{"pod":"[^"]*"`, `"backend":{"pod":"stranger"`)
		}, []turn{{"traffic.backends", collect.Fail, "", byName}}},
		{"12:0 at one entry point is chance", "iptables", func(r *recorded) {
			r.send(12, func(entry string, i int) int {
				if entry == "clusterip-by-name" {
					return 0
				}
				return i % 2
			})
		}, nil},
		{"12:0 at every entry point is not", "iptables", func(r *recorded) {
			r.send(12, func(string, int) int { return 0 })
		}, []turn{{"traffic.selection", collect.Fail, "", byName}}},
		{"200:0 at one entry point", "nftables", func(r *recorded) {
			r.send(200, func(entry string, i int) int {
				if entry == "clusterip-by-name" {
					return 0
				}
				return i % 2
			})
		}, []turn{{"traffic.selection", collect.Fail, "", byName}}},
		{"100:100 at every entry point", "nftables", func(r *recorded) {
			r.send(200, func(_ string, i int) int { return i % 2 })
		}, nil},
		{"source rewritten on the way to the ClusterIP", "iptables", func(r *recorded) {
			r.replace(byName, `"sourceSeen":"[^:]*:`, `"sourceSeen":"10.244.9.1:`)
		}, []turn{{"traffic.source", collect.Fail, "", byName}}},
		{"source kept on the way through a NodePort", "iptables", func(r *recorded) {
			client := r.find(byName, `"localAddress":"([^:]*):`)
			r.replace("client/nodeport-worker.jsonl", `"sourceSeen":"[^:]*:`, `"sourceSeen":"`+client+`:`)
		}, []turn{{"traffic.source", collect.Fail, "", "client/nodeport-worker.jsonl"}}},
		{"source of another node than the one entered", "iptables", func(r *recorded) {
			other := r.find("host/host-nodeport-worker2.jsonl", `"dialedAddress":"([^:]*):`)
			r.replace("host/host-nodeport-worker.jsonl", `"sourceSeen":"[^:]*:`, `"sourceSeen":"`+other+`:`)
		}, []turn{{"traffic.source", collect.Fail, "", "host/host-nodeport-worker.jsonl"}}},

		// kernel
		{"a backend missing on one node", "iptables", func(r *recorded) {
			r.replace("worker/"+nftSave, `^-A KUBE-SVC-\S+ .*kube-dns:dns -> .* --probability .*\n`, "")
		}, []turn{{"kernel.table", collect.Fail, "", "worker/" + nftSave}}},
		{"a backend missing that answered through this node", "iptables", func(r *recorded) {
			r.replace("worker/"+nftSave, `^-A KUBE-SVC-\S+ .*echo-server:http -> .* --probability .*\n`, "")
		}, []turn{
			{"kernel.table", collect.Fail, "", "worker/" + nftSave},
			{"traffic.selection", collect.Fail, "", "client/nodeport-worker.jsonl"},
		}},
		{"a backend at another port", "iptables", func(r *recorded) {
			r.replace("worker2/"+nftSave, `(kube-dns:dns".*--to-destination 10\.244\.\d+\.\d+):53`, "${1}:54")
		}, []turn{{"kernel.table", collect.Fail, "", "worker2/" + nftSave}}},
		{"a frontend missing", "iptables", func(r *recorded) {
			r.replace("worker2/"+nftSave, `^-A KUBE-SERVICES .*default/kubernetes:https cluster IP.*\n`, "")
		}, []turn{{"kernel.table", collect.Fail, "", "worker2/" + nftSave}}},
		{"an extra frontend", "iptables", func(r *recorded) {
			r.replace("control-plane/"+nftSave, `^(-A KUBE-SERVICES) -d \S+ (.*)default/kubernetes:https( cluster IP.*\n)`, "${0}${1} -d 10.96.77.7/32 ${2}old/gone:https${3}")
		}, []turn{{"kernel.table", collect.Fail, "", "control-plane/" + nftSave}}},
		{"uneven probabilities", "iptables", func(r *recorded) {
			r.replace("worker/"+nftSave, `(kube-dns:dns -> .*--probability) 0.50000000000`, "${1} 0.90000000000")
		}, []turn{{"kernel.table", collect.Fail, "", "worker/" + nftSave}}},
		{"a NodePort that does not masquerade", "iptables", func(r *recorded) {
			r.replace("worker/"+nftSave, `^-A KUBE-EXT-.* -j KUBE-MARK-MASQ\n`, "")
		}, []turn{{"kernel.table", collect.Fail, "", "worker/" + nftSave}}},
		{"an endpoint the API does not have", "nftables", func(r *recorded) {
			r.replace(slicesJSON, `"10\.244\.0\.3"`, `"10.244.0.9"`)
		}, []turn{{"kernel.table", collect.Fail, "", "worker/nft-ruleset.json"}}},
		{"NodePorts at a foreign address", "nftables", func(r *recorded) {
			r.replace("worker/nft-ruleset.json", `("name": ?"nodeport-ips".*?"elem": ?\[)`, `${1}"192.0.2.1", `)
		}, []turn{{"kernel.table", collect.Fail, "", "worker/nft-ruleset.json"}}},
		{"NodePorts not at the node's address", "nftables", func(r *recorded) {
			r.replace("worker/nft-ruleset.json", `("name": ?"nodeport-ips".*?"elem": ?\[)"[^"]*"`, `${1}"127.0.0.1"`)
		}, []turn{{"kernel.table", collect.Fail, "", "worker/nft-ruleset.json"}}},
		{"a rule that is not understood", "iptables", func(r *recorded) {
			r.replace("worker/"+nftSave, `^-A KUBE-SERVICES `, "-A KUBE-SERVICES -m strange --rule -j ACCEPT\n${0}")
		}, []turn{
			{"kernel.unparsed", collect.Fail, "", "worker/" + nftSave},
			{"kernel.table", collect.Inconclusive, "", "worker/" + nftSave},
		}},
		{"a rule that is not understood, of IPv6", "iptables", func(r *recorded) {
			r.raw["worker/ip6tables-legacy-save.txt"].Data = []byte("*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n-A KUBE-SERVICES -m strange --rule -j ACCEPT\nCOMMIT\n")
		}, []turn{{"kernel.unparsed", collect.Fail, "", "worker/ip6tables-legacy-save.txt"}}},
		{"translated to a stranger", "iptables", func(r *recorded) {
			r.replace("worker2/conntrack-clusterip.txt", `(src=\S+ dst=\S+ sport=\d+ dport=\d+ (?:\[\w+\] )?src=)\S+`, "${1}10.244.9.9")
		}, []turn{{"kernel.conntrack", collect.Fail, "", "worker2/conntrack-clusterip.txt"}}},
		{"translated to a stranger, through a NodePort", "nftables", func(r *recorded) {
			r.replace("worker/conntrack-nodeport.txt", `(src=\S+ dst=\S+ sport=\d+ dport=30081 (?:\[\w+\] )?src=)10\.244\.\S+`, "${1}10.244.9.9")
		}, []turn{{"kernel.conntrack", collect.Fail, "", "worker/conntrack-nodeport.txt"}}},
		{"not translated", "iptables", func(r *recorded) {
			r.replace("worker2/conntrack-clusterip.txt", `(src=\S+ dst=)(\S+)( sport=\d+ dport=)(\d+)( (?:\[\w+\] )?src=)\S+( dst=\S+ sport=)\d+`, "${1}${2}${3}${4}${5}${2}${6}${4}")
		}, []turn{{"kernel.conntrack", collect.Fail, "", "worker2/conntrack-clusterip.txt"}}},
		{"nothing tracked", "iptables", func(r *recorded) {
			for _, node := range []string{"control-plane", "worker", "worker2"} {
				r.raw[node+"/conntrack-clusterip.txt"].Data, r.raw[node+"/conntrack-nodeport.txt"].Data = nil, nil
			}
		}, []turn{{"kernel.conntrack", collect.Inconclusive, "", "worker2/conntrack-clusterip.txt"}}},
		{"connection tracking cannot be read", "iptables", func(r *recorded) {
			r.outcome("worker2/conntrack-clusterip.txt", collect.Failed, "conntrack: Operation failed")
		}, []turn{
			{"kernel.conntrack", collect.Skip, "", ""},
			{"collect.complete", collect.Inconclusive, "", "worker2/conntrack-clusterip.txt"},
		}},

		// collect
		{"a dump failed", "iptables", func(r *recorded) {
			r.outcome("worker/"+nftSave, collect.Failed, "iptables-nft-save: Permission denied")
		}, []turn{
			{"mode.sole", collect.Inconclusive, "", "worker/" + nftSave},
			{"traffic.selection", collect.Inconclusive, "", "worker/" + nftSave},
			{"kernel.table", collect.Inconclusive, "", "worker/" + nftSave},
			{"kernel.unparsed", collect.Inconclusive, "", "worker/" + nftSave},
			{"collect.complete", collect.Inconclusive, "", "worker/" + nftSave},
		}},
		{"JSON failed and the text is there", "nftables", func(r *recorded) {
			r.outcome("worker/nft-ruleset.json", collect.Failed, "nft: out of memory")
		}, []turn{{"collect.complete", collect.Inconclusive, "", "worker/nft-ruleset.json"}}},
		{"nft knows no JSON", "nftables", func(r *recorded) {
			r.outcome("worker/nft-ruleset.json", collect.NotThere, "JSON support not compiled")
		}, nil},
		{"what only IPVS needs failed", "iptables", func(r *recorded) {
			r.outcome("worker/ipset.txt", collect.Failed, "ipset: Operation not permitted")
		}, nil},
		{"a file that nothing reads is missing", "iptables", func(r *recorded) {
			delete(r.raw, "cluster/kube-proxy-daemonset.json")
		}, []turn{{"collect.complete", collect.Inconclusive, "", "cluster/kube-proxy-daemonset.json"}}},
		{"the API server answered with an error", "nftables", func(r *recorded) {
			r.raw["cluster/pods.json"].Data = []byte(`{"kind":"Status","status":"Failure","reason":"Forbidden"}`)
		}, []turn{
			{"traffic.source", collect.Inconclusive, "", "cluster/pods.json"},
			{"kernel.table", collect.Inconclusive, "", "cluster/pods.json"},
			{"collect.complete", collect.Inconclusive, "", "cluster/pods.json"},
		}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			r := record(t, test.scenario)
			test.change(r)
			want := map[string]turn{}
			for _, w := range test.want {
				want[w.id] = w
			}
			for id, c := range r.judge() {
				w, turned := want[id]
				switch {
				case !turned && c.Verdict != collect.Pass:
					t.Errorf("%s is %s: %s", id, c.Verdict, c.Reason)
				case turned && c.Verdict != w.verdict:
					t.Errorf("%s is %s, want %s: %s", id, c.Verdict, w.verdict, c.Reason)
				case turned && !w.found(c):
					t.Errorf("%s names neither %s nor its node: %+v", id, w.file, c.Findings)
				case turned && c.Reason == "":
					t.Errorf("%s gives no reason", id)
				}
			}
		})
	}
}
