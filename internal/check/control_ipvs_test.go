package check

import (
	"fmt"
	"regexp"

	"service-dataplane/pkg/collect"
)

// ipvsControls change a run of each of the schedulers.
func ipvsControls() []control {
	const (
		ipvsRun, lcRun, shRun = "ipvs", "ipvs-lc", "ipvs-sh"
		services              = "worker/ip_vs.txt"
		connections           = "worker2/ip_vs_conn.txt" // where the client's ClusterIP is
	)
	scheduler := func(from, to string) func(*recorded) {
		return func(r *recorded) { r.replaceAll(services, `^(\w+  \S+) `+from+` `, "${1} "+to+" ") }
	}
	return []control{
		{"a real server missing on one node", ipvsRun, func(r *recorded) {
			r.replace(services, `^  -> \w+:0035 .*\n`, "")
		}, []turn{{"kernel.table", collect.Fail, "", services}}},
		{"a real server the API does not have", ipvsRun, func(r *recorded) {
			r.replace(services, `^(  -> )\w+(:0035 .*\n)`, "${0}${1}0AF40909${2}")
		}, []turn{{"kernel.table", collect.Fail, "", services}}},
		{"another scheduler on one node", ipvsRun, scheduler("rr", "lc"), []turn{{"kernel.table", collect.Fail, "", services}}},
		{"another scheduler on one node than lc", lcRun, scheduler("lc", "rr"), []turn{{"kernel.table", collect.Fail, "", services}}},
		{"another scheduler on one node than sh", shRun, scheduler("sh", "mh"), []turn{{"kernel.table", collect.Fail, "", services}}},
		{"no virtual services on one node", ipvsRun, func(r *recorded) {
			r.replaceAll(services, `^(TCP|UDP|  -> \w+:\w+ ).*\n`, "")
		}, []turn{
			{"kernel.table", collect.Fail, "", services},
			{"traffic.traced", collect.Inconclusive, "worker", ""},
		}},
		{"a virtual service of no set", ipvsRun, func(r *recorded) {
			r.raw[services].Data = append(r.raw[services].Data, "TCP  0A604D07:0050 rr  \n"...)
		}, []turn{
			{"kernel.table", collect.Inconclusive, "", services},
			{"kernel.unparsed", collect.Fail, "", services},
		}},
		{"a node port in no set", ipvsRun, func(r *recorded) {
			r.replace("worker/ipset.txt", `^add KUBE-NODE-PORT-TCP .*\n`, "")
		}, []turn{
			{"kernel.table", collect.Fail, "", services},
			{"kernel.unparsed", collect.Fail, "", services},
			{"traffic.traced", collect.Fail, "", "client/nodeport-worker.jsonl"},
		}},
		{"no NodePort at the node's address", ipvsRun, func(r *recorded) {
			r.replace(services, `^TCP  `+hexAddress(r.decode().Nodes[1].InternalIP)+`:.*\n(  ->.*\n)+`, "")
		}, []turn{
			{"kernel.table", collect.Fail, "", services},
			{"traffic.traced", collect.Fail, "", "client/nodeport-worker.jsonl"},
		}},
		{"a backend at weight 0", ipvsRun, func(r *recorded) {
			r.replace(services, `(^TCP  \w+:7581 rr .*\n  -> \S+ +Masq +)1( +0 +0 *\n)`, "${1}0${2}")
		}, []turn{{"kernel.table", collect.Fail, "", services}}},
		{"a backend that answered at weight 0", ipvsRun, func(r *recorded) {
			r.replace(services, `(^TCP  \w+:7581 rr .*\n  -> \S+ +Masq +)1( +\d+ +[1-9]\d* *\n)`, "${1}0${2}")
		}, []turn{
			{"kernel.table", collect.Fail, "", services},
			{"traffic.traced", collect.Fail, "", "client/nodeport-worker.jsonl"},
		}},
		{"another weight, which lc does not regard", lcRun, func(r *recorded) {
			r.replace(services, `(Masq +)1 `, "${1}2 ")
		}, []turn{{"kernel.table", collect.Fail, "", services}}},

		{"two connections in another order", ipvsRun, (*recorded).swap, []turn{{"traffic.selection", collect.Fail, "", byName}}},
		{"two connections in another order, by lc", lcRun, (*recorded).swap, []turn{{"traffic.selection", collect.Fail, "", byName}}},
		{"another's connection, in turn", ipvsRun, (*recorded).another, nil},
		{"another's connection, by sh", shRun, (*recorded).another, nil},
		{"two in another order beside another's connection", ipvsRun, func(r *recorded) {
			r.swap()
			r.another()
		}, []turn{{"traffic.selection", collect.Inconclusive, "", connections}}},
		{"two in another order beside another's connection, by lc", lcRun, func(r *recorded) {
			r.swap()
			r.another()
		}, []turn{{"traffic.selection", collect.Inconclusive, "", connections}}},
		{"two in another order, and who else was there is not recorded", ipvsRun, func(r *recorded) {
			r.swap()
			r.forget(connections)
		}, []turn{{"traffic.selection", collect.Fail, "", byName}}},
		{"one source with two backends", shRun, func(r *recorded) {
			e := r.decode()
			for _, p := range e.Objects.Endpoints {
				if p.Address != e.Traffic[0].Attempts[0].Backend.PodIP {
					r.replace(byName, `"backend":\{"pod":"[^"]*",("node":"[^"]*"),"podIP":"[^"]*"`, fmt.Sprintf(`"backend":{"pod":%q,$1,"podIP":%q`, p.Pod, p.Address))
				}
			}
		}, []turn{{"traffic.selection", collect.Fail, "", byName}}},

		{"IPVS's connections cannot be read", ipvsRun, func(r *recorded) {
			r.outcome(connections, collect.Failed, "cat: /proc/net/ip_vs_conn: Permission denied")
		}, []turn{{"collect.complete", collect.Inconclusive, "", connections}}},
		{"IPVS's connections were not recorded", ipvsRun, func(r *recorded) { r.forget(connections) }, nil},
		{"a row of IPVS's connections is garbled", ipvsRun, func(r *recorded) {
			r.replace(connections, `^(TCP \w{8}) \w{4} `, "$1 ")
		}, []turn{{"collect.complete", collect.Inconclusive, "", connections}}},
		{"IPVS's counters cannot be read", ipvsRun, func(r *recorded) {
			r.outcome("worker/ip_vs_stats.txt", collect.Failed, "cat: /proc/net/ip_vs_stats: Permission denied")
		}, []turn{{"collect.complete", collect.Inconclusive, "", "worker/ip_vs_stats.txt"}}},
		{"the sets cannot be read", ipvsRun, func(r *recorded) {
			r.outcome("worker/ipset.txt", collect.Failed, "ipset: Operation not permitted")
		}, []turn{
			{"kernel.table", collect.Inconclusive, "", "worker/ipset.txt"},
			{"kernel.unparsed", collect.Inconclusive, "", "worker/ipset.txt"},
			{"collect.complete", collect.Inconclusive, "", "worker/ipset.txt"},
			{"traffic.traced", collect.Inconclusive, "", "worker/ipset.txt"},
		}},
		{"iptables programmed beside IPVS", ipvsRun, func(r *recorded) {
			r.copyFrom(record(r.T, "iptables"), "worker/"+nftSave)
		}, []turn{
			{"mode.sole", collect.Fail, "", "worker/" + nftSave},
			{"traffic.traced", collect.Inconclusive, "worker", ""},
		}},
	}
}

// swap exchanges the second and third connection by name.
func (r *recorded) swap() {
	r.Helper()
	r.replace(byName, `^\{"sequence":2,(.*)\n\{"sequence":3,(.*)`, "{\"sequence\":2,$2\n{\"sequence\":3,$1")
}

// another adds a stranger's connection to the ClusterIP on the client's node.
func (r *recorded) another() {
	r.Helper()
	e := r.decode()
	const file = "worker2/ip_vs_conn.txt"
	r.raw[file].Data = fmt.Appendf(r.raw[file].Data, "TCP 0AF40909 9C40 %s %04X %s %04X TIME_WAIT       119\n",
		hexAddress(e.Objects.Service.ClusterIP), e.Objects.Service.Port, hexAddress(e.Objects.Endpoints[0].Address), e.Objects.Endpoints[0].Port)
}

// replaceAll changes every match of a pattern in a file.
func (r *recorded) replaceAll(file, pattern, with string) {
	r.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	if !re.Match(r.raw[file].Data) {
		r.Fatalf("%s has no match of %s", file, pattern)
	}
	r.raw[file].Data = re.ReplaceAll(r.raw[file].Data, []byte(with))
}
