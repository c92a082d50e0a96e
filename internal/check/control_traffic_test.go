package check

import (
	"service-dataplane/pkg/collect"
)

// trafficControls change what the probes saw.
func trafficControls() []control {
	return []control{
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
			{"traffic.translation", collect.Inconclusive, "", byName},
			{"traffic.source", collect.Inconclusive, "", byName},
			{"collect.complete", collect.Inconclusive, "", byName},
			{"traffic.traced", collect.Inconclusive, "", byName},
		}},
		{"connections of another entry point", "iptables", func(r *recorded) {
			r.replace(byName, `"entry":"clusterip-by-name"`, `"entry":"clusterip-by-address"`)
		}, []turn{{"traffic.complete", collect.Fail, "", byName}}},
		{"answered by a stranger", "iptables", func(r *recorded) {
			r.replace(byName, `"backend":\{"pod":"[^"]*","node":"([^"]*)","podIP":"[^"]*"`, `"backend":{"pod":"stranger","node":"$1","podIP":"10.244.9.9"`)
		}, []turn{
			{"traffic.backends", collect.Fail, "", byName},
			{"traffic.traced", collect.Fail, "", byName},
		}},
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
		}, []turn{
			{"traffic.selection", collect.Fail, "", byName},
			{"traffic.traced", collect.Fail, "", byName},
		}},
		{"200:0 at one entry point", "nftables", func(r *recorded) {
			r.send(200, func(entry string, i int) int {
				if entry == "clusterip-by-name" {
					return 0
				}
				return i % 2
			})
		}, []turn{
			{"traffic.selection", collect.Fail, "", byName},
			{"traffic.traced", collect.Fail, "", byName},
		}},
		{"100:100 at every entry point", "nftables", func(r *recorded) {
			r.send(200, func(_ string, i int) int { return i % 2 })
		}, nil},
		{"rewritten at the socket", "iptables", func(r *recorded) {
			r.replace(byName, `"kernelRemote":"[^"]*"`, `"kernelRemote":"`+r.find(byName, `"podIP":"([^"]*)"`)+`:8080"`)
		}, []turn{{"traffic.translation", collect.Fail, "", byName}}},
		{"rewritten at the socket to a stranger", "nftables", func(r *recorded) {
			r.replace(byName, `"kernelRemote":"[^"]*"`, `"kernelRemote":"10.244.9.9:8080"`)
		}, []turn{{"traffic.translation", collect.Fail, "", byName}}},
		{"getpeername shows another address", "iptables", func(r *recorded) {
			r.replace("host/host-nodeport-worker.jsonl", `"peername":"[^"]*"`, `"peername":"10.244.9.9:8080"`)
		}, []turn{{"traffic.translation", collect.Fail, "", "host/host-nodeport-worker.jsonl"}}},
		{"a socket that was not found", "iptables", func(r *recorded) {
			r.replace(byName, `"kernelRemote":"[^"]*"`, `"kernelRemote":""`)
		}, []turn{{"traffic.translation", collect.Inconclusive, "", byName}}},
		{"one entry point's connections are not tracked", "nftables", func(r *recorded) {
			r.raw["worker/conntrack-nodeport.txt"].Data = nil
		}, []turn{{"traffic.translation", collect.Fail, "", "worker/conntrack-nodeport.txt"}}},
		{"source rewritten on the way to the ClusterIP", "iptables", func(r *recorded) {
			r.replace(byName, `"sourceSeen":"[^:]*:`, `"sourceSeen":"10.244.9.1:`)
		}, []turn{
			{"traffic.source", collect.Fail, "", byName},
			{"traffic.traced", collect.Fail, "", byName},
		}},
		{"source kept on the way through a NodePort", "iptables", func(r *recorded) {
			client := r.find(byName, `"localAddress":"([^:]*):`)
			r.replace("client/nodeport-worker.jsonl", `"sourceSeen":"[^:]*:`, `"sourceSeen":"`+client+`:`)
		}, []turn{
			{"traffic.source", collect.Fail, "", "client/nodeport-worker.jsonl"},
			{"traffic.traced", collect.Fail, "", "client/nodeport-worker.jsonl"},
		}},
		{"source of another node than the one entered", "iptables", func(r *recorded) {
			other := r.find("host/host-nodeport-worker2.jsonl", `"dialedAddress":"([^:]*):`)
			r.replace("host/host-nodeport-worker.jsonl", `"sourceSeen":"[^:]*:`, `"sourceSeen":"`+other+`:`)
		}, []turn{
			{"traffic.source", collect.Fail, "", "host/host-nodeport-worker.jsonl"},
			{"traffic.traced", collect.Fail, "", "host/host-nodeport-worker.jsonl"},
		}},
	}
}
