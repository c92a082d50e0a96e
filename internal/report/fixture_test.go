package report

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"service-dataplane/internal/host"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/iptables"
	"service-dataplane/pkg/collect/ipvs"
	"service-dataplane/pkg/collect/nftables"
	"service-dataplane/pkg/collect/traffic"
)

// fixture is a run with the kernel state that the decoders' tests recorded.
type fixture struct {
	*testing.T
	run    results.Run
	e      collect.Evidence
	checks []collect.Check
	raw    fstest.MapFS
}

func newFixture(t *testing.T, scenario string) *fixture {
	t.Helper()
	f := &fixture{T: t, raw: fstest.MapFS{}}
	f.run = results.Run{
		Started: time.Date(2026, 11, 29, 14, 8, 0, 0, time.UTC),
		Argv:    []string{"runner", "run", scenario},
		Harness: results.Harness{
			Revision: "0123456789abcdef", Modified: scenario == "ipvs", GoVersion: "go1.26.0",
			Modules: map[string]string{"sigs.k8s.io/kind": "v0.31.0", "k8s.io/client-go": "v0.35.0"},
		},
		Host:     host.Facts{KernelRelease: "6.18.44", OS: "Debian GNU/Linux 12", Arch: "amd64", CgroupVersion: "v2", CPUs: 2, MemoryBytes: 8 << 30, EngineVersion: "28.0.0", StorageDriver: "overlay2"},
		Image:    imagebuild.Image{Reference: "kindest/node:v1.35.0", Origin: "registry"},
		Workload: results.WorkloadImage{Reference: "echo:1", Chart: "echo-0.1.0"},
		Timings:  []progress.Timing{{Step: "create the cluster", Seconds: 61.04}, {Step: "collect", Seconds: 3.5, Failed: scenario == "ipvs"}},
	}
	mode := scenario
	f.run.Scenario.Metadata = spec.Metadata{Name: scenario, Title: "kube-proxy in mode " + scenario}
	switch scenario {
	case "cilium":
		f.run.Scenario.Metadata.Title = "Cilium without kube-proxy"
	case "cilium-kube-proxy":
		mode = "iptables"
		f.run.Scenario.Metadata.Title = "Cilium as pod network, kube-proxy in mode iptables"
	case "calico-ebpf":
		mode = "iptables"
		f.run.Scenario.Metadata.Title = "Calico without kube-proxy"
	}
	f.run.Scenario.Spec.Cluster = spec.ClusterSpec{PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.96.0.0/16", CNI: "ptp"}
	f.run.Experiment.Metadata = spec.Metadata{Name: "service-path", Title: "The path of a connection to a Service"}
	f.run.Experiment.Spec.Workload = spec.Workload{Namespace: "service-dataplane", Client: "client", ClientNode: "worker2"}

	f.e = collect.Evidence{Scenario: scenario, Experiment: "service-path"}
	f.e.Mode.Declared = collect.Observation{Value: mode, Ref: collect.Ref{File: "cluster/kube-proxy-configmap.json"}}
	f.e.Objects = collect.Objects{
		Service: collect.Service{
			Namespace: "service-dataplane", Name: "echo-server", Type: "NodePort", ClusterIP: netip.MustParseAddr("10.96.149.194"),
			Port: 80, TargetPort: "http", NodePort: 30081, Protocol: "TCP",
		},
		Endpoints: []collect.Endpoint{
			{Address: netip.MustParseAddr("10.244.2.2"), Port: 8080, Node: "worker", Pod: "echo-server-a", Ready: true},
			{Address: netip.MustParseAddr("10.244.1.2"), Port: 8080, Node: "worker2", Pod: "echo-server-b", Ready: true},
		},
		ClientIP: netip.MustParseAddr("10.244.1.4"),
		Pods:     []collect.Pod{{Namespace: "service-dataplane", Name: "client", Node: "worker2", Address: netip.MustParseAddr("10.244.1.4")}},
	}
	f.e.Objects.Expected.Frontends = make([]collect.Frontend, 6)
	switch scenario {
	case "nftables":
		f.e.Objects.Service.ClusterIP = netip.MustParseAddr("10.96.104.167")
	case "ipvs":
		f.e.Objects.Service.ClusterIP = netip.MustParseAddr("10.96.61.80")
		f.e.Objects.Endpoints[1].Address = netip.MustParseAddr("10.244.1.3")
	case "cilium":
		f.e.Objects.Service.ClusterIP = netip.MustParseAddr("10.97.156.17")
		f.e.Objects.Endpoints[0].Address = netip.MustParseAddr("10.245.2.76")
		f.e.Objects.Endpoints[1].Address = netip.MustParseAddr("10.245.1.86")
	}
	for i := range f.e.Objects.Endpoints {
		f.e.Objects.Endpoints[i].Serving = true
	}
	for i, role := range spec.Roles {
		f.e.Nodes = append(f.e.Nodes, collect.Node{
			Role: role, Name: "service-dataplane-" + scenario + "-" + role, KernelRelease: "6.18.44", KubeletVersion: "v1.35.0", ContainerRuntime: "containerd://2.1.0",
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{172, 18, 0, byte(4 - i)}), netip.AddrFrom4([4]byte{10, 244, byte(3-i) % 3, 1})},
			PodCIDR:   netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(3-i) % 3, 0}), 24),
		})
		log := fmt.Sprintf(`I1129 14:08:5%d.000000       1 server_linux.go:136] "Using %s Proxier"`, i, mode)
		f.file(role+"/kube-proxy.log", "starting\n"+log+"\n")
		f.file(role+"/proxyMode.txt", mode)
		f.e.Mode.Nodes = append(f.e.Mode.Nodes, collect.NodeMode{
			Node:      role,
			ProxyMode: collect.Observation{Value: mode, Ref: collect.Ref{File: role + "/proxyMode.txt", Line: collect.Line{Number: 1, Text: mode}}},
			Log:       collect.Observation{Value: mode, Ref: collect.Ref{File: role + "/kube-proxy.log", Line: collect.Line{Number: 2, Text: log}}},
		})
		f.e.Kernel = append(f.e.Kernel, f.state(scenario, role))
	}
	f.file("cluster/kube-proxy-configmap.json", "{}")
	if scenario == "calico-ebpf" {
		f.calicoAddresses()
	}
	f.traffic()
	switch {
	case scenario == "ipvs":
		f.mention()
	case strings.HasPrefix(scenario, "cilium"):
		f.installCilium(scenario == "cilium")
	case scenario == "calico-ebpf":
		f.installCalico()
	}
	f.checks = []collect.Check{
		{ID: "mode.actual", Statement: "On every node kube-proxy runs in the mode of the scenario.", Verdict: collect.Pass, Findings: []collect.Finding{
			{Node: "worker", Text: "mode is " + mode, Ref: f.e.Mode.Nodes[1].Log.Ref},
		}},
		{ID: "traffic.selection", Statement: "Backends are selected as the scenario says.", Verdict: collect.Pass, Reason: "5 connections show that both backends are used, not how evenly."},
	}
	return f
}

func (f *fixture) file(name, data string) { f.raw[name] = &fstest.MapFile{Data: []byte(data)} }

// recorded takes a file of the decoders' testdata into raw.
func (f *fixture) recorded(file string, from ...string) []byte {
	f.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "pkg", "collect"}, from...)...))
	if err != nil {
		f.Fatal(err)
	}
	f.file(file, string(data))
	return data
}

func (f *fixture) state(scenario, role string) collect.NodeState {
	f.Helper()
	s := collect.NodeState{Node: role, LiveIptables: iptables.LiveNone}
	var table collect.ServiceTable
	var err error
	file := ""
	switch scenario {
	case "cilium", "calico-ebpf":
		return s
	case "iptables", "cilium-kube-proxy":
		s.LiveIptables = iptables.LiveNFT
		file = role + "/iptables-nft-save.txt"
		table, err = iptables.Decode(f.recorded(file, "iptables", "testdata", "kube-proxy-iptables", role, "iptables-nft-save.txt"))
		s.Tables = append(s.Tables, collect.NodeTable{File: role + "/nft-ruleset.json", ServiceTable: collect.ServiceTable{Encoding: "nftables"}})
		s.Translations = []collect.Translation{{
			Tracker: collect.TrackedByKernel, Destination: netip.MustParseAddrPort("10.96.149.194:80"), Backend: netip.MustParseAddrPort("10.244.1.2:8080"), Count: 3,
			Ref: collect.Ref{File: role + "/conntrack-clusterip.txt", Line: collect.Line{Number: 1}},
		}}
		f.file(role+"/conntrack-clusterip.txt", "tcp\n")
		f.file(role+"/nft-ruleset.json", "{}")
	case "nftables":
		file = role + "/nft-ruleset.json"
		f.recorded(role+"/nft-ruleset.txt", "nftables", "testdata", "recorded", role+".txt")
		table, err = nftables.Decode(f.recorded(file, "nftables", "testdata", "recorded", role+".json"))
	case "ipvs":
		// Only one node was recorded. What the control plane has is not known,
		// and worker2 has counted other connections and lacks one backend.
		if role == "control-plane" {
			return collect.NodeState{Node: role}
		}
		file = role + "/ip_vs.txt"
		data := f.recorded(file, "ipvs", "testdata", "worker", "ip_vs.txt")
		if role == "worker2" {
			const clusterIP, gateway, backend = "TCP  0A603D50:0050 rr  \n", "TCP  0AF40101:7581 rr  \n", "  -> 0AF40103:1F90      Masq    1      0          0         \n"
			data = changed(f.T, data, "AC120003:7581", "AC120002:7581")
			data = changed(f.T, data, "0AF40201:7581", "0AF40101:7581")
			data = changed(f.T, data, "Masq    1      0          12        ", "Masq    1      0          7         ")
			data = changed(f.T, data, clusterIP+backend+"  -> 0AF40202:1F90      Masq    1      0          0         \n", clusterIP+backend)
			data = changed(f.T, data, gateway+backend, gateway+strings.Replace(backend, "Masq    1      0 ", "Masq    0      1 ", 1))
			f.file(file, string(data))
		} else {
			s.Scheduled = f.scheduled(role)
		}
		f.file(role+"/iptables-nft-save.txt", maskRules)
		table, err = ipvs.Decode(ipvs.Raw{
			IPVS:       data,
			IPSet:      f.recorded(role+"/ipset.txt", "ipvs", "testdata", "worker", "ipset.txt"),
			DummyAddrs: f.recorded(role+"/kube-ipvs0.json", "ipvs", "testdata", "worker", "kube-ipvs0.json"),
		})
	}
	if err != nil {
		f.Fatal(err)
	}
	s.Tables = append(s.Tables, collect.NodeTable{File: file, ServiceTable: table})
	return s
}

// maskRules are rules of a node in mode ipvs, recorded, without those that filter.
const maskRules = `*nat
:KUBE-MARK-MASQ - [0:0]
:KUBE-NODE-PORT - [0:0]
:KUBE-POSTROUTING - [0:0]
:KUBE-SERVICES - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A KUBE-NODE-PORT -p tcp -m comment --comment "Kubernetes nodeport TCP port for masquerade purpose" -m set --match-set KUBE-NODE-PORT-TCP dst -j KUBE-MARK-MASQ
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
-A KUBE-SERVICES ! -s 10.244.0.0/16 -m comment --comment "Kubernetes service cluster ip + port for masquerade purpose" -m set --match-set KUBE-CLUSTER-IP dst,dst -j KUBE-MARK-MASQ
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT
-A KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT
COMMIT
`

// scheduled is the host's two connections to a node port, and one of another.
func (f *fixture) scheduled(role string) *collect.Scheduled {
	f.Helper()
	const rows = "Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData\n" +
		"TCP AC120001 C350 AC120003 7581 0AF40202 1F90 TIME_WAIT       118\n" +
		"TCP 0AF40909 9C40 AC120003 7581 0AF40103 1F90 ESTABLISHED     899\n" +
		"TCP AC120001 C350 AC120003 7581 0AF40103 1F90 TIME_WAIT       118\n"
	s := &collect.Scheduled{File: role + "/ip_vs_conn.txt"}
	f.file(s.File, rows)
	connections, err := ipvs.Connections([]byte(rows))
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range connections {
		s.Connections = append(s.Connections, collect.ScheduledConnection{Client: c.Client, Virtual: c.Virtual, Backend: c.Server, Line: c.Line})
	}
	stats := role + "/ip_vs_stats.txt"
	f.recorded(stats, "ipvs", "testdata", "worker", "ip_vs_stats.txt")
	s.Totals = collect.Observation{Value: "12 connections, 60 packets and 4332 bytes in, 60 packets and 7061 bytes out", Ref: collect.Ref{File: stats, Line: collect.Line{Number: 3}}}
	return s
}

// mention adds what the log and the ConfigMap say of mode ipvs, and which nodes
// the connections entered.
func (f *fixture) mention() {
	for i, node := range []string{"worker2", "worker"} {
		f.e.Traffic[i].EntryNode = node
	}
	for i := range f.e.Nodes {
		f.e.Nodes[i].InternalIP = f.e.Nodes[i].Addresses[0]
	}
	f.e.Mode.Scheduler.Ref.File = f.e.Mode.Declared.Ref.File
	for i := range f.e.Mode.Nodes {
		n := &f.e.Mode.Nodes[i]
		log := n.Log.Ref
		for _, text := range []string{
			`E1129 14:08:59.511231       1 server_linux.go:195] "The ipvs proxier is now deprecated and may be removed in a future release. Please use 'nftables' instead."`,
			`I1129 14:08:59.512215       1 proxier.go:353] "IPVS scheduler not specified, use rr by default" ipFamily="IPv4"`,
		} {
			f.raw[log.File].Data = append(f.raw[log.File].Data, text+"\n"...)
			log.Line = collect.Line{Number: log.Line.Number + 1, Text: text}
			n.Notes = append(n.Notes, collect.Observation{Value: text, Ref: log})
		}
	}
}

// traffic makes connections from the client pod to the ClusterIP, all
// answered, and from the host to a node port, not all.
func (f *fixture) traffic() {
	service := f.e.Objects.Service
	clusterIP := netip.AddrPortFrom(service.ClusterIP, service.Port)
	nodePort := netip.AddrPortFrom(f.e.Nodes[1].Addresses[0], service.NodePort)
	client := netip.AddrPortFrom(f.e.Objects.ClientIP, 40000)
	attempt := func(at, from, seen netip.AddrPort, backend int) traffic.Attempt {
		e := f.e.Objects.Endpoints[backend]
		return traffic.Attempt{
			Target: at.String(), DialedAddress: at, Peername: at, KernelRemote: at, LocalAddress: from, SourceSeen: seen,
			Backend: traffic.Identity{Pod: e.Pod, Node: f.e.Nodes[1+backend].Name, PodIP: e.Address},
		}
	}
	byName := collect.EntryPoint{Name: "clusterip-by-name", From: spec.FromClient, To: spec.ToServiceName, Sent: 12, File: "client/clusterip-by-name.jsonl"}
	for i := range 12 {
		a := attempt(clusterIP, client, client, i%5%2)
		a.Target = "echo-server:80"
		byName.Attempts = append(byName.Attempts, a)
	}
	outside := netip.MustParseAddrPort("172.18.0.1:50000")
	host := collect.EntryPoint{Name: "host-nodeport-worker", From: spec.FromHost, To: spec.ToNodePort, Node: "worker", Sent: 3, File: "host/host-nodeport-worker.jsonl"}
	host.Attempts = []traffic.Attempt{
		attempt(nodePort, outside, netip.AddrPortFrom(f.e.Nodes[1].Addresses[1], 40000), 0),
		attempt(nodePort, outside, netip.AddrPortFrom(f.e.Nodes[1].Addresses[0], 40000), 1),
		{Target: nodePort.String(), DialedAddress: nodePort, Error: "dial tcp: i/o timeout"},
	}
	f.e.Traffic = []collect.EntryPoint{byName, host}
	f.file(byName.File, "{}\n")
	f.file(host.File, "{}\n")
	for i := range f.e.Traffic {
		for j := range f.e.Traffic[i].Attempts {
			f.e.Traffic[i].Attempts[j].Sequence = j + 1
		}
	}
}

// everyVerdict adds checks that did not pass.
func (f *fixture) everyVerdict() {
	rows := programmed(f.e.Kernel[2])[0]
	f.checks = slices.Concat(f.checks, []collect.Check{
		{ID: "traffic.complete", Statement: "Every connection through every entry point was made, once, and answered.", Verdict: collect.Fail, Reason: "host/host-nodeport-worker.jsonl: connection 3: dial tcp: i/o timeout", Findings: []collect.Finding{
			{Node: "host", Text: "connection 3: dial tcp: i/o timeout", Ref: collect.Ref{File: "host/host-nodeport-worker.jsonl", Line: collect.Line{Number: 1}}},
		}},
		{ID: "kernel.table", Statement: "On every node the kernel's service table is what the API asks for, no more and no less.", Verdict: collect.Fail, Reason: "worker2: 1 backend missing", Findings: []collect.Finding{
			{Node: "worker2", Text: "ClusterIP 10.96.61.80:80/TCP of service-dataplane/echo-server:http: backends are 10.244.1.3:8080, want 10.244.1.3:8080 and 10.244.2.2:8080", Ref: collect.Ref{File: rows.File, Line: rows.Frontends[0].Line}},
			{Node: "control-plane", Text: "ipvs was not read"},
		}},
		{ID: "kernel.conntrack", Statement: "Tracked connections were translated to ready endpoints.", Verdict: collect.Skip, Reason: "IPVS keeps a connection table of its own"},
		{ID: "collect.complete", Statement: "Every command was run.", Verdict: collect.Inconclusive, Reason: "control-plane/ip_vs.txt: cat /proc/net/ip_vs: exit code 1", Findings: []collect.Finding{
			{Node: "control-plane", Text: "cat /proc/net/ip_vs: exit code 1", Ref: collect.Ref{File: "control-plane/ip_vs.txt"}},
		}},
	})
	f.file("control-plane/ip_vs.txt", "")
	f.e.Problems = []collect.Problem{{Node: "control-plane", File: "control-plane/ip_vs.txt", Text: "cat /proc/net/ip_vs: exit code 1"}}
}

func (f *fixture) page() string {
	f.Helper()
	page, err := Scenario(f.run, f.e, f.checks, f.raw)
	if err != nil {
		f.Fatal(err)
	}
	return string(page)
}
