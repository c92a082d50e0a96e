package check

import (
	"service-dataplane/pkg/collect"
)

// kernelControls change what was read on the nodes, and whether it was.
func kernelControls() []control {
	return []control{
		{"a backend missing on one node", "iptables", func(r *recorded) {
			r.replace("worker/"+nftSave, `^-A KUBE-SVC-\S+ .*kube-dns:dns -> .* --probability .*\n`, "")
		}, []turn{{"kernel.table", collect.Fail, "", "worker/" + nftSave}}},
		{"a backend missing that answered through this node", "iptables", func(r *recorded) {
			r.replace("worker/"+nftSave, `^-A KUBE-SVC-\S+ .*echo-server:http -> .* --probability .*\n`, "")
		}, []turn{
			{"kernel.table", collect.Fail, "", "worker/" + nftSave},
			{"traffic.selection", collect.Fail, "", "client/nodeport-worker.jsonl"},
			{"traffic.traced", collect.Fail, "", "client/nodeport-worker.jsonl"},
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
		}, []turn{
			{"kernel.table", collect.Fail, "", "worker/" + nftSave},
			{"traffic.traced", collect.Fail, "", "client/nodeport-worker.jsonl"},
		}},
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
			{"traffic.traced", collect.Inconclusive, "", "worker/" + nftSave},
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
		}, []turn{
			{"traffic.translation", collect.Fail, "", "worker2/conntrack-clusterip.txt"},
			{"kernel.conntrack", collect.Inconclusive, "", "worker2/conntrack-clusterip.txt"},
		}},
		{"connection tracking cannot be read", "iptables", func(r *recorded) {
			r.outcome("worker2/conntrack-clusterip.txt", collect.Failed, "conntrack: Operation failed")
		}, []turn{
			{"kernel.conntrack", collect.Skip, "", ""},
			{"collect.complete", collect.Inconclusive, "", "worker2/conntrack-clusterip.txt"},
		}},
		{"a dump failed", "iptables", func(r *recorded) {
			r.outcome("worker/"+nftSave, collect.Failed, "iptables-nft-save: Permission denied")
		}, []turn{
			{"mode.sole", collect.Inconclusive, "", "worker/" + nftSave},
			{"traffic.selection", collect.Inconclusive, "", "worker/" + nftSave},
			{"kernel.table", collect.Inconclusive, "", "worker/" + nftSave},
			{"kernel.unparsed", collect.Inconclusive, "", "worker/" + nftSave},
			{"collect.complete", collect.Inconclusive, "", "worker/" + nftSave},
			{"traffic.traced", collect.Inconclusive, "", "worker/" + nftSave},
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
			{"mode.version", collect.Inconclusive, "", "cluster/pods.json"},
			{"traffic.source", collect.Inconclusive, "", "cluster/pods.json"},
			{"kernel.table", collect.Inconclusive, "", "cluster/pods.json"},
			{"collect.complete", collect.Inconclusive, "", "cluster/pods.json"},
			{"traffic.traced", collect.Inconclusive, "", "cluster/pods.json"},
		}},
	}
}
