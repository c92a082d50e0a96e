package check

import (
	"fmt"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
)

// natRow is a row of the frontend map and its backends, as nat dump prints them.
type natRow struct {
	Frontend struct {
		Addr  string `json:"addr"`
		Port  int    `json:"port"`
		Proto int    `json:"proto"`
		ID    int    `json:"id"`
		Count int    `json:"count"`
		Local int    `json:"local"`
	} `json:"frontend"`
	Backends []natBackend `json:"backends"`
}

type natBackend struct {
	Addr string `json:"addr"`
	Port int    `json:"port"`
}

// keep leaves a row the first backends, as many as it then counts.
func (row *natRow) keep(backends int) {
	row.Frontend.Count, row.Backends = max(backends, -1), row.Backends[:max(backends, 0)]
	row.Frontend.Local = min(row.Frontend.Local, len(row.Backends))
}

// rows changes the TCP rows of a node's NAT maps whose frontend is one of those.
func (r *recorded) rows(node string, change func(*natRow), frontends ...string) {
	r.Helper()
	changed := 0
	edit(r, node+"/"+calico.NATFile, func(all []natRow) []natRow {
		for i := range all {
			if all[i].is(frontends...) {
				change(&all[i])
				changed++
			}
		}
		return all
	})
	if changed == 0 {
		r.Fatalf("%s has no row of %q", node, frontends)
	}
}

// without takes such rows away.
func (r *recorded) without(node string, frontends ...string) {
	r.Helper()
	edit(r, node+"/"+calico.NATFile, func(all []natRow) []natRow {
		left := slices.DeleteFunc(slices.Clone(all), func(row natRow) bool { return row.is(frontends...) })
		if len(left) == len(all) {
			r.Fatalf("%s has no row of %q", node, frontends)
		}
		return left
	})
}

func (row natRow) is(frontends ...string) bool {
	return row.Frontend.Proto == 6 && slices.Contains(frontends, fmt.Sprintf("%s:%d", row.Frontend.Addr, row.Frontend.Port))
}

// The frontends of the recorded run whose addresses no run gives out.
const (
	dnsMetrics   = "10.98.0.10:9153"
	wildcardPort = "255.255.255.255:30081"
)

// dialled is what connections through an entry point dialled.
func (r *recorded) dialled(file string) string {
	r.Helper()
	return r.find(file, `"dialedAddress":"([^"]*)"`)
}

// flows changes what Calico tracks on a node.
func (r *recorded) flows(node string, change func([]map[string]any) []map[string]any) {
	r.Helper()
	edit(r, node+"/"+calico.ConntrackFile, change)
}

// flowTo is the first translated connection to an address that a node tracks.
func (r *recorded) flowTo(flows []map[string]any, service string) map[string]any {
	r.Helper()
	i := slices.IndexFunc(flows, func(f map[string]any) bool { return f["orig_dst"] == service })
	if i < 0 {
		r.Fatalf("no connection to %s is tracked", service)
	}
	return flows[i]
}

const (
	toWorker     = "client/nodeport-worker.jsonl"
	hostToWorker = "host/host-nodeport-worker.jsonl"
)

func calicoTrafficControls() []control {
	moved := func(file string) []turn { return []turn{{"traffic.translation", collect.Fail, "", file}} }
	seen := func(file string) []turn { return []turn{{"traffic.source", collect.Fail, "", file}} }
	noWalk := func(file string) []turn { return append(seen(file), turn{"traffic.traced", collect.Fail, "", file}) }
	return []control{
		{"a connect() that Calico did not translate", "calico-ebpf", func(r *recorded) {
			r.replace(byName, `("dialedAddress":"([^"]*)".*"peername":)"[^"]*","kernelRemote":"[^"]*"`, `$1"$2","kernelRemote":"$2"`)
		}, moved(byName)},
		{"getpeername hides the rewriting", "calico-ebpf", func(r *recorded) {
			r.replace(toWorker, `("dialedAddress":"([^"]*)".*"peername":)"[^"]*"`, `$1"$2"`)
		}, moved(toWorker)},
		{"connect() translated to a stranger", "calico-ebpf", func(r *recorded) {
			r.replace(byName, `"peername":"[^"]*","kernelRemote":"[^"]*"`, `"peername":"10.244.9.9:8080","kernelRemote":"10.244.9.9:8080"`)
		}, moved(byName)},
		{"a socket of Calico's that was not found", "calico-ebpf", func(r *recorded) {
			r.replace(byName, `"kernelRemote":"[^"]*"`, `"kernelRemote":""`)
		}, []turn{{"traffic.translation", collect.Inconclusive, "", byName}}},
		{"the host's connect() translated by Calico", "calico-ebpf", func(r *recorded) {
			r.replace(hostToWorker, `("peername":)"[^"]*","kernelRemote":"[^"]*"(.*"podIP":"([^"]*)")`, `$1"$3:8080","kernelRemote":"$3:8080"$2`)
		}, moved(hostToWorker)},
		{"a packet of the pod carried the ClusterIP to Calico", "calico-ebpf", func(r *recorded) {
			client, service := r.find(byName, `"localAddress":"([^"]*)"`), r.dialled(byName)
			r.flows("worker2", func(all []map[string]any) []map[string]any {
				return append(all, map[string]any{"type": "nat", "proto": "TCP", "src": client, "dst": strings.ReplaceAll(r.backend("worker"), `\`, "") + ":8080", "orig_dst": service})
			})
		}, moved("worker2/" + calico.ConntrackFile)},
		{"connections from outside that Calico does not track", "calico-ebpf", func(r *recorded) {
			r.raw["worker/"+calico.ConntrackFile].Data = []byte("null\n")
		}, moved("worker/" + calico.ConntrackFile)},
		{"connections from outside that Calico tracks untranslated", "calico-ebpf", func(r *recorded) {
			service := r.dialled(hostToWorker)
			r.flows("worker", func(all []map[string]any) []map[string]any {
				for _, f := range all {
					if f["orig_dst"] == service {
						f["type"], f["dst"] = "normal", service
						delete(f, "orig_dst")
					}
				}
				return all
			})
		}, moved("worker/" + calico.ConntrackFile)},

		{"the address of a pod hidden by Calico", "calico-ebpf", func(r *recorded) {
			entry, _, _ := strings.Cut(r.dialled(toWorker), ":")
			r.replace(toWorker, `"sourceSeen":"[^:]*:`, `"sourceSeen":"`+entry+`:`)
		}, noWalk(toWorker)},
		{"the address of a pod hidden on the way to the ClusterIP", "calico-ebpf", func(r *recorded) {
			r.replace(byName, `"sourceSeen":"[^:]*:`, `"sourceSeen":"10.244.9.1:`)
		}, noWalk(byName)},
		{"the address of the host hidden by the node it entered", "calico-ebpf", func(r *recorded) {
			entry, _, _ := strings.Cut(r.dialled(hostToWorker), ":")
			r.replace(hostToWorker, `"sourceSeen":"[^:]*:`, `"sourceSeen":"`+entry+`:`)
		}, seen(hostToWorker)},
	}
}

func calicoTableControls() []control {
	table := func(node string) turn { return turn{"kernel.table", collect.Fail, "", node + "/" + calico.NATFile} }
	unparsed := func(node string) turn {
		return turn{"kernel.unparsed", collect.Fail, "", node + "/" + calico.NATFile}
	}
	ofService := func(r *recorded) []string { return []string{r.dialled(byName), wildcardPort} }
	return []control{
		{"a backend gone from the NAT maps of one node", "calico-ebpf", func(r *recorded) {
			r.rows("worker", func(row *natRow) { row.keep(1) }, dnsMetrics)
		}, []turn{table("worker")}},
		{"a backend gone from the NAT maps that answered through this node", "calico-ebpf", func(r *recorded) {
			r.rows("worker2", func(row *natRow) { row.keep(1) }, ofService(r)...)
		}, []turn{
			{"traffic.traced", collect.Fail, "", byName}, table("worker2"), {"traffic.selection", collect.Fail, "", byName}}},
		{"a backend of the NAT maps at another port", "calico-ebpf", func(r *recorded) {
			r.rows("worker", func(row *natRow) { row.Backends[1].Port++ }, dnsMetrics)
		}, []turn{table("worker")}},
		{"a backend in the NAT maps too many", "calico-ebpf", func(r *recorded) {
			r.rows("worker", func(row *natRow) {
				row.Frontend.Count++
				row.Backends = append(row.Backends, natBackend{"10.244.9.9", 9153})
			}, dnsMetrics)
		}, []turn{table("worker")}},
		{"the Service drops all connections", "calico-ebpf", func(r *recorded) {
			r.rows("worker", func(row *natRow) { row.keep(-1) }, r.dialled(byName))
		}, []turn{table("worker")}},
		{"the Service has no backends on one node", "calico-ebpf", func(r *recorded) {
			r.rows("worker", func(row *natRow) { row.keep(0) }, ofService(r)...)
		}, []turn{table("worker")}},
		{"a frontend gone from the NAT maps", "calico-ebpf", func(r *recorded) {
			r.without("control-plane", dnsMetrics)
		}, []turn{table("control-plane")}},
		{"the NodePort is not for the node and its pods", "calico-ebpf", func(r *recorded) {
			r.without("control-plane", wildcardPort)
		}, []turn{table("control-plane")}},
		{"the NodePort is not at the node's address", "calico-ebpf", func(r *recorded) {
			r.without("worker", r.dialled(hostToWorker))
		}, []turn{
			{"traffic.traced", collect.Fail, "", "host/host-nodeport-worker.jsonl"}, table("worker")}},
		{"the NodePort is at an address of another node", "calico-ebpf", func(r *recorded) {
			r.rows("worker", func(row *natRow) {
				row.Frontend.Addr, _, _ = strings.Cut(r.dialled("host/host-nodeport-worker2.jsonl"), ":")
			}, r.dialled(hostToWorker))
		}, []turn{
			{"traffic.traced", collect.Fail, "", "host/host-nodeport-worker.jsonl"}, table("worker")}},
		{"a frontend in the NAT maps too many", "calico-ebpf", func(r *recorded) {
			edit(r, "worker2/"+calico.NATFile, func(all []natRow) []natRow {
				more := natRow{Backends: []natBackend{}}
				more.Frontend.Addr, more.Frontend.Port, more.Frontend.Proto, more.Frontend.ID = "10.98.77.7", 80, 6, 99
				return append(all, more)
			})
		}, []turn{table("worker2")}},
		{"no frontend in the NAT maps", "calico-ebpf", func(r *recorded) {
			r.raw["worker/"+calico.NATFile].Data = []byte("[]\n")
		}, []turn{
			{"traffic.traced", collect.Fail, "", "host/host-nodeport-worker.jsonl"}, table("worker")}},
		{"an endpoint that the NAT maps do not have", "calico-ebpf", func(r *recorded) {
			dns := r.find("worker/"+calico.NATFile, `"addr": "([0-9.]+)",\s*"port": 9153\s*\}`)
			r.replace(slicesJSON, `"`+strings.ReplaceAll(dns, ".", `\.`)+`"`, `"10.244.9.9"`)
		}, []turn{table("worker")}},

		// What contradicts itself is understood, and wrong.
		{"a row that counts a backend more than it has", "calico-ebpf", func(r *recorded) {
			r.rows("worker", func(row *natRow) { row.Backends = row.Backends[:1] }, dnsMetrics)
		}, []turn{table("worker")}},
		{"a row whose backend the maps lack", "calico-ebpf", func(r *recorded) {
			r.rows("worker", func(row *natRow) { row.Backends[1] = natBackend{"missing", 0} }, dnsMetrics)
		}, []turn{table("worker")}},
		{"a row with something that is not known", "calico-ebpf", func(r *recorded) {
			r.replace("worker/"+calico.NATFile, `\A\[`, `[{"frontend":{"addr":"10.98.77.7","port":80,"proto":6,"id":99,"count":0,"local":0,"weather":"fine"},"backends":[]},`)
		}, []turn{
			{"traffic.traced", collect.Inconclusive, "", "worker/calico-nat-dump.json"}, unparsed("worker"), {"kernel.table", collect.Inconclusive, "", "worker/" + calico.NATFile}}},
		{"a client that keeps its backend", "calico-ebpf", func(r *recorded) {
			address, _, _ := strings.Cut(dnsMetrics, ":")
			backend := r.find("worker/"+calico.NATFile, `"addr": "([0-9.]+)",\s*"port": 9153\s*\}`)
			r.raw["worker/"+calico.AffinityFile].Data = []byte(`[{"client_ip":"10.244.9.9","proto":6,"addr":"` + address + `","port":9153,"backend":{"addr":"` + backend + `","port":9153},"timestamp":"1m0s"}]`)
		}, []turn{unparsed("worker"), {"kernel.table", collect.Inconclusive, "", "worker/" + calico.NATFile}}},

		{"nat dump printed nothing", "calico-ebpf", func(r *recorded) {
			r.raw["worker/"+calico.NATFile].Data = nil
		}, inconclusiveTable("worker/" + calico.NATFile)},
		{"nat dump failed", "calico-ebpf", func(r *recorded) {
			r.outcome("worker/"+calico.NATFile, collect.Failed, "context deadline exceeded")
		}, inconclusiveTable("worker/" + calico.NATFile)},
		{"the clients that keep their backends are not known", "calico-ebpf", func(r *recorded) {
			r.outcome("worker/"+calico.AffinityFile, collect.Failed, "context deadline exceeded")
		}, inconclusiveTable("worker/" + calico.AffinityFile)},
		{"nat dump knows no JSON", "calico-ebpf", func(r *recorded) {
			r.outcome("worker/"+calico.NATFile, collect.NotThere, "Error: unknown flag: --json")
			r.outcome("worker/"+calico.AffinityFile, collect.NotThere, "Error: unknown flag: --json")
		}, nil},
		{"nat dump knows no JSON and failed", "calico-ebpf", func(r *recorded) {
			r.outcome("worker/"+calico.NATFile, collect.NotThere, "Error: unknown flag: --json")
			r.outcome("worker/"+calico.NATTextFile, collect.Failed, "context deadline exceeded")
		}, inconclusiveTable("worker/" + calico.NATTextFile)},
		{"the text of nat dump that nothing needs failed", "calico-ebpf", func(r *recorded) {
			r.outcome("worker/"+calico.NATTextFile, collect.Failed, "context deadline exceeded")
		}, []turn{
			{"collect.complete", collect.Inconclusive, "", "worker/" + calico.NATTextFile},
		}},
	}
}

// inconclusiveTable is what comes of a service table of a node that is not known.
func inconclusiveTable(file string) []turn {
	var all []turn
	for _, id := range []string{"traffic.selection", "traffic.traced", "kernel.table", "kernel.unparsed", "collect.complete"} {
		all = append(all, turn{id, collect.Inconclusive, "", file})
	}
	return all
}

func calicoConntrackControls() []control {
	const kernel = "conntrack-nodeport.txt"
	tracked := func(file string) []turn { return []turn{{"kernel.conntrack", collect.Fail, "", file}} }
	entry := func(node, backend string, r *recorded) []byte {
		address, _, _ := strings.Cut(node, ":")
		return fmt.Appendf(nil, "tcp      6 118 TIME_WAIT src=172.18.0.1 dst=%s sport=49906 dport=30081 src=%s dst=172.18.0.1 sport=%d dport=49906 [ASSURED] mark=0 use=1\n",
			address, strings.ReplaceAll(backend, `\`, ""), map[bool]int{true: 30081, false: 8080}[backend == address])
	}
	return []control{
		{"translated by Calico to a stranger", "calico-ebpf", func(r *recorded) {
			r.flows("worker", func(all []map[string]any) []map[string]any {
				r.flowTo(all, r.dialled(hostToWorker))["dst"] = "10.244.9.9:8080"
				return all
			})
		}, tracked("worker/" + calico.ConntrackFile)},
		{"translated by Calico to another port", "calico-ebpf", func(r *recorded) {
			r.flows("worker", func(all []map[string]any) []map[string]any {
				f := r.flowTo(all, r.dialled(hostToWorker))
				f["dst"] = strings.TrimSuffix(f["dst"].(string), "8080") + "81"
				return all
			})
		}, tracked("worker/" + calico.ConntrackFile)},
		{"translated to a stranger on the backend's node, which it was passed on to", "calico-ebpf", func(r *recorded) {
			r.flows("worker2", func(all []map[string]any) []map[string]any {
				r.flowTo(all, r.dialled(hostToWorker))["dst"] = "10.244.9.9:8080"
				return all
			})
		}, tracked("worker2/" + calico.ConntrackFile)},
		{"translated by the kernel under Calico", "calico-ebpf", func(r *recorded) {
			r.raw["worker/"+kernel].Data = entry(r.dialled(hostToWorker), r.backend("worker"), r)
		}, tracked("worker/" + kernel)},
		{"past Calico untranslated", "calico-ebpf", func(r *recorded) {
			node, _, _ := strings.Cut(r.dialled(hostToWorker), ":")
			r.raw["worker/"+kernel].Data = entry(node, node, r)
		}, tracked("worker/" + kernel)},
		{"Calico's tracked connections cannot be read", "calico-ebpf", func(r *recorded) {
			r.outcome("worker2/"+calico.ConntrackFile, collect.Failed, "context deadline exceeded")
		}, []turn{
			{"kernel.conntrack", collect.Skip, "", ""},
			{"collect.complete", collect.Inconclusive, "", "worker2/" + calico.ConntrackFile},
		}},
		{"Calico tracks in a form that is not known", "calico-ebpf", func(r *recorded) {
			r.flows("worker2", func(all []map[string]any) []map[string]any {
				all[0]["type"] = "weather"
				return all
			})
		}, []turn{
			{"kernel.conntrack", collect.Skip, "", ""},
			{"collect.complete", collect.Inconclusive, "", "worker2/" + calico.ConntrackFile},
		}},
		{"nobody tracks a connection to the Service", "calico-ebpf", func(r *recorded) {
			for _, node := range []string{"control-plane", "worker", "worker2"} {
				r.raw[node+"/"+calico.ConntrackFile].Data = []byte("[]\n")
			}
		}, []turn{
			{"traffic.translation", collect.Fail, "", "worker/" + calico.ConntrackFile},
			{"kernel.conntrack", collect.Inconclusive, "", "worker2/conntrack-clusterip.txt"},
		}},
	}
}
