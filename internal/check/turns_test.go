package check

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

// TestIPVSSelection gives a recorded run the kernel state of IPVS, made up from
// the expected table, and connections as its schedulers spread them or do not.
func TestIPVSSelection(t *testing.T) {
	inTurn := func(_ string, i int) int { return i % 2 }
	swapped := func(entry string, i int) int {
		if entry == "clusterip-by-name" && (i == 4 || i == 5) {
			return (i + 1) % 2
		}
		return i % 2
	}
	one := func(string, int) int { return 0 }
	only := func(name string) func(string, int) int {
		return func(entry string, i int) int {
			if entry == name {
				return 1
			}
			return 0
		}
	}
	unlisted := func(*recorded) {}
	listed := func(foreign ...string) func(*recorded) {
		return func(r *recorded) { r.listConnections(foreign...) }
	}
	both := func(changes ...func(*recorded)) func(*recorded) {
		return func(r *recorded) {
			for _, change := range changes {
				change(r)
			}
		}
	}
	edited := func(file, old, new string) func(*recorded) {
		return func(r *recorded) { r.replace(file, old, new) }
	}
	odd := func(r *recorded) {
		r.experiment.Spec.Connections = 11
		for _, p := range r.experiment.Spec.EntryPoints {
			r.replace(evidence.TrafficFile(p), `^\{"sequence":12,.*\n`, "")
		}
	}
	const (
		rr, lc, sh = "round-robin", "least-connection", "source-hash"
		pass, fail = collect.Pass, collect.Fail
		clusterIP  = "worker2 10.244.2.99:40000 "
	)
	tests := []struct {
		name, want string
		backend    func(entry string, i int) int
		change     func(r *recorded)
		table      collect.Verdict
		selection  collect.Verdict
		reason     string
	}{
		{"in turn", rr, inTurn, unlisted, pass, pass, ""},
		{"in turn, all listed", rr, inTurn, listed(), pass, pass, ""},
		{"in turn beside another", rr, inTurn, listed(clusterIP), pass, pass,
			"IPVS lists 1 connection to 10.96.157.246:80 on worker2 that this run has not made, from 10.244.2.99, and no turn was missed."},
		{"one out of turn, counts balanced", rr, swapped, unlisted, pass, fail, "client/clusterip-by-name.jsonl: connections 4 and 5 were both answered by"},
		{"one out of turn, nobody else", rr, swapped, listed(), pass, fail, "IPVS lists nobody else's connection to 10.96.157.246:80 on worker2 (worker2/ip_vs_conn.txt)"},
		{"one out of turn beside another", rr, swapped, listed(clusterIP), pass, collect.Inconclusive,
			"but IPVS lists 1 connection to 10.96.157.246:80 on worker2 that this run has not made, from 10.244.2.99"},
		{"one out of turn beside another elsewhere", rr, swapped, listed("worker 172.18.0.99:40000 ", "control-plane 10.244.2.99:40000 "), pass, fail, "IPVS lists nobody else's"},
		{"random", rr, func(_ string, i int) int { return i * i / 3 % 2 }, unlisted, pass, fail, "connections 1 and 2"},
		{"another scheduler", rr, inTurn, edited("worker/ip_vs.txt", " rr", " lc"), fail, pass, ""},
		{"another weight", rr, inTurn, edited("worker/ip_vs.txt", "Masq    1 ", "Masq    7 "), fail, pass, ""},
		{"a backend that takes no new connections", rr, inTurn, edited("worker/ip_vs.txt", "Masq    1 ", "Masq    0 "), fail, pass, ""},
		{"one more, that takes none", rr, inTurn, edited("worker/ip_vs.txt", `(  -> )\w+(:\w+ +Masq +)1 .*\n`, "${0}${1}0AF40909${2}0      0          0\n"), pass, pass, ""},

		{"in turn", lc, inTurn, listed(), pass, pass, "kernel.table tells, by the scheduler."},
		{"the other way round where that evens out", lc, swapped, unlisted, pass, pass, ""},
		{"two ahead", lc, func(_ string, i int) int { return i / 2 % 2 }, unlisted, pass, fail,
			"client/clusterip-by-name.jsonl: with connection 2, "},
		{"an odd number, the next entry point begins with the other", lc, func(entry string, i int) int {
			if entry == "clusterip-by-address" || strings.HasPrefix(entry, "host-") {
				i++
			}
			return i % 2
		}, odd, pass, pass, ""},
		{"an odd number, the next entry point begins with the same", lc, inTurn, odd, pass, fail,
			"client/clusterip-by-address.jsonl: with connection 1, "},
		{"two ahead beside another", lc, func(_ string, i int) int { return i / 2 % 2 },
			listed("worker2 10.244.2.99:40000 ", "control-plane 172.18.0.9:1 172.18.0.2", "worker 172.18.0.9:1 172.18.0.4", "worker2 172.18.0.9:1 172.18.0.3"),
			pass, collect.Inconclusive, "but IPVS lists 1 connection"},
		{"a connection lost", lc, inTurn, edited(byName, `"backend":\{[^}]*\}`, `"backend":{"pod":"","node":"","podIP":""}`), pass, collect.Inconclusive, "11 of 12 connections were answered"},
		{"another scheduler", lc, inTurn, edited("worker/ip_vs.txt", " lc", " rr"), fail, pass, ""},
		{"another weight", lc, inTurn, edited("worker/ip_vs.txt", "Masq    1 ", "Masq    7 "), fail, pass, ""},

		{"one backend", sh, one, listed(), pass, pass, "All connections through an entry point came from one source address"},
		{"another backend through another node", sh, only("nodeport-worker"), unlisted, pass, pass, ""},
		{"another backend for another source", sh, only("host-nodeport-worker"), unlisted, pass, pass, ""},
		{"a change in between", sh, func(entry string, i int) int {
			if entry == "host-nodeport-worker" && i == 7 {
				return 1
			}
			return 0
		}, listed("worker 172.18.0.99:40000 172.18.0.4"), pass, fail, "host/host-nodeport-worker.jsonl: connection 8 from 172.18.0.1 to"},
		{"another backend through another entry point to the same virtual service", sh, only("clusterip-by-address"), unlisted, pass, fail,
			"connection 1 of clusterip-by-name by"},
		{"two sources", sh, only("clusterip-by-name"), func(r *recorded) {
			r.raw[byName].Data = []byte(strings.ReplaceAll(string(r.raw[byName].Data), `"localAddress":"10.244.2.2:`, `"localAddress":"10.244.2.98:`))
			r.replace(byName, `"localAddress":"10.244.2.98:`, `"localAddress":"10.244.2.97:`)
		}, pass, pass, "Connections through clusterip-by-name came from 10.244.2.97, 10.244.2.98 and are judged by each."},
		{"a source that is not known", sh, one, edited(byName, `"localAddress":"[^"]*"`, `"localAddress":""`), pass, collect.Inconclusive, "connection 1: the address it came from is not known"},
		{"another scheduler", sh, one, both(listed(), edited("worker/ip_vs.txt", " sh", " mh")), fail, pass, ""},
	}
	for _, test := range tests {
		t.Run(test.want+"/"+test.name, func(t *testing.T) {
			r := record(t, "iptables")
			r.scenario.Spec.Expect.Encoding, r.scenario.Spec.Expect.Selection = "ipvs", test.want
			r.experiment.Spec.Checks = []string{"kernel.table", "traffic.selection"}
			r.programIPVS(map[string]string{rr: "rr", lc: "lc", sh: "sh"}[test.want])
			r.send(12, test.backend)
			test.change(r)
			checks := r.judge()
			if c := checks["kernel.table"]; c.Verdict != test.table {
				t.Errorf("kernel.table is %s, want %s: %s", c.Verdict, test.table, c.Reason)
			}
			c := checks["traffic.selection"]
			if c.Verdict != test.selection || !strings.Contains(c.Reason, test.reason) {
				t.Errorf("traffic.selection is %s (%s), want %s (%s)", c.Verdict, c.Reason, test.selection, test.reason)
			}
		})
	}
}

// hexAddress is an IPv4 address as IPVS prints it.
func hexAddress(address netip.Addr) string { return fmt.Sprintf("%X", address.As4()) }

// programIPVS writes the files of a kernel that has the expected table.
func (r *recorded) programIPVS(scheduler string) {
	r.Helper()
	e := r.decode()
	for _, node := range e.Nodes {
		table := "IP Virtual Server version 1.2.1 (size=4096)\nProt LocalAddress:Port Scheduler Flags\n" +
			"  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n"
		sets := "create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536\ncreate KUBE-NODE-PORT-TCP bitmap:port range 0-65535\n"
		for _, f := range e.Objects.Expected.Frontends {
			address := f.Address
			if f.Kind == collect.NodePort {
				address = node.InternalIP
				sets += fmt.Sprintf("add KUBE-NODE-PORT-TCP %d\n", f.Port)
			} else {
				sets += fmt.Sprintf("add KUBE-CLUSTER-IP %s,%s:%d\n", address, strings.ToLower(f.Protocol), f.Port)
			}
			table += fmt.Sprintf("%s  %s:%04X %s  \n", f.Protocol, hexAddress(address), f.Port, scheduler)
			for _, b := range f.Backends {
				table += fmt.Sprintf("  -> %s:%04X      Masq    1      0          0         \n", hexAddress(b.Address), b.Port)
			}
		}
		for file, text := range map[string]string{"ip_vs.txt": table, "ipset.txt": sets} {
			r.outcome(node.Role+"/"+file, collect.Captured, "")
			r.raw[node.Role+"/"+file].Data = []byte(text)
		}
	}
}

// listConnections writes the connection tables of IPVS: what the experiment made,
// and connections of others, each as "node client [virtual address]", of the
// ClusterIP where it names none.
func (r *recorded) listConnections(foreign ...string) {
	r.Helper()
	e := r.decode()
	lists := map[string]string{}
	add := func(node string, client, virtual netip.AddrPort, server netip.Addr) {
		lists[node] += fmt.Sprintf("TCP %s %04X %s %04X %s %04X TIME_WAIT       119\n",
			hexAddress(client.Addr()), client.Port(), hexAddress(virtual.Addr()), virtual.Port(), hexAddress(server), 8080)
	}
	for _, text := range foreign {
		words := strings.Fields(text)
		virtual := netip.AddrPortFrom(e.Objects.Service.ClusterIP, e.Objects.Service.Port)
		if len(words) > 2 {
			virtual = netip.AddrPortFrom(netip.MustParseAddr(words[2]), e.Objects.Service.NodePort)
		}
		add(words[0], netip.MustParseAddrPort(words[1]), virtual, e.Objects.Endpoints[0].Address)
	}
	for _, p := range e.Traffic {
		for _, a := range p.Attempts {
			add(p.EntryNode, a.LocalAddress, a.DialedAddress, a.Backend.PodIP)
		}
	}
	for _, node := range e.Nodes {
		r.list(node.Role, lists[node.Role])
	}
}

// list writes a node's connection table of IPVS.
func (r *recorded) list(node, rows string) {
	file := evidence.ScheduledFile(node)
	r.raw[file] = &fstest.MapFile{Data: []byte("Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData\n" + rows)}
	var records []collect.Record
	if err := json.Unmarshal(r.raw[evidence.IndexFile].Data, &records); err != nil {
		r.Fatal(err)
	}
	records = append(records, collect.Record{Node: node, File: file, Outcome: collect.Captured})
	r.raw[evidence.IndexFile].Data, _ = json.Marshal(records)
}

// TestIdleBackend: a backend that takes no new connections is told from one that
// is not there, and its row is named.
func TestIdleBackend(t *testing.T) {
	r := record(t, "iptables")
	r.scenario.Spec.Expect.Encoding, r.scenario.Spec.Expect.Selection = "ipvs", "round-robin"
	r.programIPVS("rr")
	r.replace("worker/ip_vs.txt", "Masq    1 ", "Masq    0 ")
	c := r.judge()["kernel.table"]
	if c.Verdict != collect.Fail || !strings.Contains(c.Reason, "is quarantined and takes no new connections") || !strings.Contains(c.Findings[0].Ref.Line.Text, "Masq    0 ") {
		t.Errorf("%s: %s (%+v)", c.Verdict, c.Reason, c.Findings)
	}
}
