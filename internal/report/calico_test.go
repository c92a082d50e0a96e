package report

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/iptables"
)

// says fails for each text that a page lacks or, behind "NOT ", has.
func says(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		want, not := strings.CutPrefix(text, "NOT ")
		if strings.Contains(page, want) == not {
			t.Errorf("the page says %q: %v, want %v", want, not, !not)
		}
	}
}

func TestCalicoPage(t *testing.T) {
	f := newFixture(t, "calico-ebpf")
	page := f.page()
	f.linksHold(page)
	if again := f.page(); again != page {
		t.Error("a second page from the same input is another one")
	}
	says(t, page,
		"**Calico in kube-proxy's place (eBPF) implements Service `service-dataplane/echo-server` on every node (control-plane, worker, worker2).**",
		"Source address a backend sees: the client's own via ClusterIP, the client's own via NodePort.",
		"translated via ClusterIP in the socket, by connect(2), and via NodePort on the packets, below the socket; that of one from outside on the packets, below the socket.",
		// What was installed.
		"`tigera-operator` v3.31.7. Chart: archive", "| typha | `quay.io/calico/typha:v3.31.7`, origin: bundle |",
		"- Part 9 was built on this machine; its maker publishes another.",
		// Asked for, configured, said.
		"| Installation | `linuxDataplane` | [`BPF`](raw/cluster/installation.json#L38) | Services are to be implemented by Calico's eBPF programs |",
		"| Installation | `kubeProxyManagement` | [`Enabled`](raw/cluster/installation.json#L37) | the operator keeps kube-proxy off the nodes |",
		"| FelixConfiguration | `bpfEnabled` | [`enabled`](raw/cluster/felixconfiguration.json#L17) | Felix programs Services for eBPF |",
		"| FelixConfiguration | `bpfConnectTimeLoadBalancing` | [`TCP`](raw/cluster/felixconfiguration.json#L16) | connect(2) of a TCP socket is translated",
		"`usageReportingEnabled` | [`disabled`](raw/cluster/felixconfiguration.json#L26) | Felix reports nothing to its maker |",
		"cluster/installation.json:18  spec.calicoNetwork.bpfNetworkBootstrap: \"Enabled\"\n",
		"| `ippools` | [`available`](raw/cluster/tigerastatus.json#L67) | ippools Available=True",
		"| worker | [`calico_connect_v4 at cgroup_inet4_connect, calico_connect_v46 at cgroup_inet6_connect`](raw/worker/calico-cgroup.json) | [`v3.31.7`](raw/worker/calico-version.txt#L1) | [none](raw/worker/processes.txt) |",
		"control-plane: the same 3 statements.",
		// What is left of kube-proxy.
		"Declared in the ConfigMap `kube-system/kube-proxy`: `iptables`",
		"It is meant for 0 nodes: its selector asks for the label `operator.tigera.io/disable-kube-proxy`",
		"**the mode in the ConfigMap says nothing of what runs.**",
		"No node runs one, by the list of its processes",
		"kubelet's `KUBE-FIREWALL`, `KUBE-IPTABLES-HINT`, `KUBE-KUBELET-CANARY`, a former kube-proxy's `KUBE-MARK-MASQ`, `KUBE-POSTROUTING`, `KUBE-PROXY-CANARY`, `KUBE-PROXY-FIREWALL`, 18 rules in all; `KUBE-` in 22 lines says nothing of Services",
		"In IPv6 iptables still holds (control-plane, worker, worker2) a former kube-proxy's `KUBE-EXTERNAL-SERVICES`,",
		"In nftables Felix has `table ip calico` of its own (control-plane, worker, worker2)",
		// The maps.
		"| calico | `calico-nat-dump.json` | **9** | **9** | **9** |",
		"| NodePort `172.18.0.6:30081/TCP` | on `eth0` | [line 84](raw/worker/calico-nat-dump.json#L84) `172.18.0.6 port 30081 proto 6 id 5 count 2 local 1` | [line 93](raw/worker/calico-nat-dump.json#L93) A `5:0 10.244.95.133:8080`<br>",
		"| NodePort `10.244.95.128:30081/TCP` | on `vxlan.calico` |", "| NodePort `*:30081/TCP` | none, written `255.255.255.255` |",
		"| ClusterIP `10.96.221.2:80/TCP` | on no device |",
		"**The node port** `30081` has 3 rows a node, at the addresses of `eth0`, `vxlan.calico` and without an address.",
		"to port `30081` of another node finds no row with that node's address",
		"which names no Service and says neither how a source is masqueraded nor how long a client keeps its backend",
		// The way of a connection.
		"Connection 1 of `clusterip-by-name` dialled `10.96.221.2:80` and went to `10.244.95.133:8080`; getpeername(2) told the application `10.244.95.133:8080`",
		"\n{\"id\":2340,\"attach_type\":\"cgroup_inet4_connect\"", " 44  255.255.255.255 port 30081 proto 6 id 5 count 2 local 1\n 53  5:0 10.244.146.67:8080\n 57  5:1 10.244.95.133:8080\n\n",
		"forwarded to/from 172.18.0.6 CLOSED  = passed on to worker\n",
		"Where the backend is on another node, the packets are passed on to that one through the tunnel",
		"4. Passed on to here: connections that entered at another node",
		"control-plane: 14 lines, the same but for this:", "NOT + control-plane:64",
		// Where it is translated, and by whom.
		"Where the client pod dialled the ClusterIP, the kernel's socket table does not hold that address",
		"The application can see it: getpeername(2) gives it the backend's address.",
		"| `host-nodeport-worker` | `172.18.0.6:30081` | `172.18.0.6:30081` | `172.18.0.6:30081` | 2 | packet, tracked by Calico | packet |",
		"One whose backend is on another node than the one it entered stands on both",
		"| worker | Calico | `172.18.0.6:30081` | A `10.244.95.133:8080` | kept | 9 |",
		"nf\\_conntrack, knows no connection to the Service on any node",
		"NOT Cilium", "NOT not said", "NOT not asked", "NOT (empty)",
	)
}

func TestCalicoIndex(t *testing.T) {
	index := string(Index(entries(t, "cilium", "calico-ebpf")))
	says(t, index,
		"| Mode | calico (kube-proxy replacement) | cilium (kube-proxy replacement) |", "| Encoding | calico | cilium |", "| Frontends on a node | 9 | 7 |",
		"| Translated at, from a pod | socket via ClusterIP, packet via NodePort | socket |", "| Translated packets tracked by | Calico | Cilium |",
		"; where Calico is, what its Felix is configured to. **Encoding**",
	)
	says(t, string(Index(entries(t, "cilium"))), "NOT Calico")
}

// proxiesToo are kube-proxies on all nodes, in mode iptables.
func (f *fixture) proxiesToo() {
	f.Helper()
	for i, role := range spec.Roles {
		s, n := &f.e.Kernel[i], &f.e.Mode.Nodes[i]
		dump := f.recorded(role+"/"+leftoverFile, "iptables", "testdata", "kube-proxy-iptables", role, "iptables-nft-save.txt")
		for _, address := range [][2]string{{"10.96.149.194", "10.96.221.2"}, {"10.244.2.2", "10.244.95.133"}, {"10.244.1.2", "10.244.146.67"}} {
			dump = bytes.ReplaceAll(dump, []byte(address[0]), []byte(address[1]))
		}
		f.file(role+"/"+leftoverFile, string(dump))
		table, err := iptables.Decode(dump)
		f.must(err)
		s.LiveIptables, s.Tables[0].ServiceTable = iptables.LiveNFT, table
		n.Process = f.observed(role+"/processes.txt", collect.Running, 0, "336 kube-proxy")
		n.ProxyMode.Value = "iptables"
	}
}

// TestCalicoOtherwise: what is not as it should be is told as it is.
func TestCalicoOtherwise(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fixture)
		texts  []string
	}{
		{"Felix does not translate", func(f *fixture) {
			c := f.e.Mode.Calico
			c.Dataplane.Value, c.BPF.Value, c.KubeProxyManagement.Value = "Iptables", collect.Disabled, "Disabled"
			f.proxiesToo()
			for i := range f.e.Kernel {
				f.e.Kernel[i].Tables = f.e.Kernel[i].Tables[:2]
				f.e.Kernel[i].Translations = nil
			}
		}, []string{
			"**iptables (back end nft) implements Service", "NOT Calico (eBPF)", "[`disabled`](raw/cluster/felixconfiguration.json#L17) | Felix programs no Services |",
			"[`Iptables`](raw/cluster/installation.json#L38) | Services are left to kube-proxy |", "NOT Calico tracks in a BPF map", "NOT It is meant for",
			"NOT The Service in Calico's NAT maps", "NOT Calico's maps are those of its NAT",
		}},
		{"Felix does not translate any more", func(f *fixture) { f.e.Mode.Calico.BPF.Value = collect.Disabled },
			[]string{"**Calico (eBPF) implements Service", "NOT in kube-proxy's place (eBPF)", "Calico tracks in a BPF map", "It is meant for 0 nodes"}},
		{"kube-proxy is back on all nodes", func(f *fixture) {
			c := f.e.Mode.Calico
			c.ProxyNodes.Value, c.ProxySelector = "3", f.observed(evidence.DaemonSetFile, collect.Absent, 0, "nodeSelector: map[kubernetes.io/os:linux]")
			f.proxiesToo()
		}, []string{
			"**iptables (back end nft) and Calico (eBPF) implements Service",
			"**It is meant for 3 nodes:** its selector does not ask for the label `operator.tigera.io/disable-kube-proxy`, with which the operator keeps it off all of them: `nodeSelector: map[kubernetes.io/os:linux]`",
			"NOT says nothing of what runs", "NOT No node runs one", "What each kube-proxy says it does", "NOT is no Service's, and so no finding", "[`running`](raw/worker/processes.txt)",
			"(iptables) Hook:", "(calico) Match, choose and translate",
		}},
		{"kube-proxy is on its way off", func(f *fixture) { f.e.Mode.Calico.ProxyNodes.Value = "2" },
			[]string{"**It is meant for 2 nodes**, although its selector asks for the label", "NOT says nothing of what runs."}},
		{"somebody else has kept it off", func(f *fixture) { f.e.Mode.Calico.ProxySelector.Value = collect.Absent },
			[]string{"It is meant for 0 nodes, but not by the operator's doing"}},
		{"the DaemonSet is not known", func(f *fixture) { f.e.Mode.Calico.ProxyNodes.Value = "" },
			[]string{"How many nodes the DaemonSet is meant for is not known", "Calico in kube-proxy's place (eBPF)"}},
		{"there is no DaemonSet", func(f *fixture) {
			gone := f.observed(evidence.DaemonSetFile, collect.Absent, 0, "NotFound")
			f.e.Mode.KubeProxy, f.e.Mode.Calico.ProxyNodes, f.e.Mode.Calico.ProxySelector = gone, gone, gone
		}, []string{"There is no DaemonSet `kube-system/kube-proxy`", "NOT It is meant for", "Calico in kube-proxy's place (eBPF)"}},
		{"no program is attached", func(f *fixture) {
			for i := range f.e.Mode.Nodes {
				n := &f.e.Mode.Nodes[i]
				f.file(n.Node+"/"+calico.CgroupFile, "[]")
				n.Hooks = f.observed(n.Node+"/"+calico.CgroupFile, collect.Absent, 0, "0 programs listed, none of Calico")
			}
		}, []string{
			"| worker | [none](raw/worker/calico-cgroup.json) |", "worker2/calico-cgroup.json  0 programs listed, none of Calico", "NOT Socket: connect(2)",
			"That no program is listed does not prove that there is none",
		}},
		{"programs of one node were not listed", func(f *fixture) { f.e.Mode.Nodes[1].Hooks.Value = "" },
			[]string{"| worker | [does not say](raw/worker/calico-cgroup.json) |", "worker: 2 statements, the same but for this:", "NOT That no program is listed"}},
		{"a component is degraded", func(f *fixture) {
			state := &f.e.Mode.Calico.Components[1].State
			state.Value, state.Ref.Line.Text = "degraded", "ippools Degraded=True ResourceValidationError: IPPool 192.168.0.0/16 is not within [10.244.0.0/16]"
		}, []string{"| `ippools` | **[`degraded`](raw/cluster/tigerastatus.json#L67)** | ippools Degraded=True ResourceValidationError: IPPool 192.168.0.0/16 is not within \\[10.244.0.0/16\\] |"}},
		{"nothing of any component", func(f *fixture) { f.e.Mode.Calico.Components = nil }, []string{"The operator says nothing of any component ([`cluster/tigerastatus.json`]"}},
		{"a value of another version", func(f *fixture) { f.e.Mode.Calico.ConnectTime.Value = "Sometimes" },
			[]string{"`bpfConnectTimeLoadBalancing` | [`Sometimes`](raw/cluster/felixconfiguration.json#L16) | – |"}},
		{"a value that is not there", func(f *fixture) { f.e.Mode.Calico.Dataplane.Value = "" },
			[]string{"`linuxDataplane` | [does not say](raw/cluster/installation.json#L38) | – |"}},
		{"the objects were not read", func(f *fixture) { f.e.Mode.Calico = nil }, []string{
			"What the Tigera operator was asked for and what it says of that was not read.", "**Calico (eBPF) implements Service", "NOT in kube-proxy's place",
			"NOT It is meant for", "Calico tracks in a BPF map",
		}},
		{"nothing of Calico was read", func(f *fixture) {
			f.e.Mode.Calico = nil
			for i := range f.e.Mode.Nodes {
				f.e.Mode.Nodes[i].Hooks, f.e.Mode.Nodes[i].Version = collect.Observation{}, collect.Observation{}
				f.e.Kernel[i].Tables, f.e.Kernel[i].Translations = nil, nil
			}
		}, []string{"nothing that was read", "NOT Calico and its operator", "NOT Tracked by"}},
		{"the node port is not in the maps", func(f *fixture) {
			for _, table := range f.tables(calico.Encoding) {
				table.Frontends = slices.DeleteFunc(table.Frontends, func(f collect.Frontend) bool { return f.Kind == collect.NodePort })
			}
		}, []string{"**Calico in kube-proxy's place (eBPF), for its ClusterIP alone, implements", "**The node port** `30081` is not in the maps.", "NOT **255.255.255.255**"}},
		{"one node lacks a row", func(f *fixture) {
			table := f.tables(calico.Encoding)[1]
			table.Frontends = slices.DeleteFunc(table.Frontends, func(f collect.Frontend) bool { return f.Kind == collect.NodePort && !f.Address.IsValid() })
		}, []string{"**The node port** `30081` does not have as many rows on every node: 2 to 3.", "**255.255.255.255**"}},
		{"one node lacks the Service", func(f *fixture) { f.tables(calico.Encoding)[1].Frontends = nil },
			[]string{"nothing that was read on worker.", "The Service is not there.", "worker: no line was found.", "0 to 3."}},
		{"addresses of devices were not read", func(f *fixture) { delete(f.raw, "worker/"+evidence.AddressesFile) },
			[]string{"| NodePort `172.18.0.6:30081/TCP` | not known where |", "| NodePort `*:30081/TCP` | none, written"}},
		{"nobody sees the backend's address", func(f *fixture) {
			for i := range f.e.Traffic[0].Attempts {
				f.e.Traffic[0].Attempts[i].Peername = f.e.Traffic[0].Attempts[i].DialedAddress
			}
		}, []string{"The application cannot see it: getpeername(2) gives it the address it dialled."}},
		{"some see it", func(f *fixture) { f.e.Traffic[0].Attempts[3].Peername = f.e.Traffic[0].Attempts[3].DialedAddress }, []string{"NOT The application can"}},
		{"connect(2) translates node ports too", func(f *fixture) {
			p := &f.e.Traffic[1]
			p.EntryNode = "worker2"
			for i := range p.Attempts {
				p.Attempts[i].KernelRemote = netip.AddrPortFrom(p.Attempts[i].Backend.PodIP, 8080)
			}
		}, []string{
			"The destination of a pod's connection is translated in the socket, by connect(2); that of one from outside on the packets, below the socket.",
			"| 2 | socket | packet |", "The host's sockets hold the address that was dialled",
		}},
		{"a pod's packets to another node's port", func(f *fixture) {
			const file = "worker2/" + calico.ConntrackFile
			own := `[{"type":"nat","proto":"TCP","src":"10.244.146.66:50000","dst":"10.244.95.133:8080","orig_dst":"172.18.0.6:30081","tcp_state":"CLOSED"},`
			f.file(file, strings.Replace(string(f.raw[file].Data), "[", own, 1))
			flows, err := calico.DecodeConntrack(f.raw[file].Data)
			f.must(err)
			f.e.Kernel[2].Translations = f.trackedByCalico("worker2", flows)
		}, []string{"as their source. [`worker2/calico-conntrack.json:1`](raw/worker2/calico-conntrack.json#L1)\n\n```text\n   1  TCP 10.244.146.66:50000 -> 172.18.0.6:30081 -> 10.244.95.133:8080 CLOSED\n"}},
		{"nothing is passed on", func(f *fixture) {
			for i := range f.e.Kernel {
				f.e.Kernel[i].Translations = slices.DeleteFunc(f.e.Kernel[i].Translations, func(t collect.Translation) bool { return enteredElsewhere(f.e, spec.Roles[i], t.Destination) })
			}
		}, []string{"NOT stands on both", "NOT Passed on to here"}},
		{"the kernel tracks as well", func(f *fixture) {
			f.e.Kernel[1].Translations = append(f.e.Kernel[1].Translations, collect.Translation{
				Tracker: collect.TrackedByKernel, Destination: netip.MustParseAddrPort("172.18.0.6:30081"), Backend: netip.MustParseAddrPort("10.244.95.133:8080"),
				Count: 2, Ref: collect.Ref{File: "worker/conntrack-clusterip.txt"},
			})
		}, []string{"packet, tracked by Calico and nf\\_conntrack", "| worker | nf\\_conntrack |", "NOT knows no connection"}},
		{"no connection was recorded", func(f *fixture) { f.e.Traffic = nil }, []string{"NOT Source address a backend sees", "NOT The destination", "No connection was recorded."}},
		{"nothing was looked for on the nodes", func(f *fixture) {
			for i := range f.e.Mode.Nodes {
				n := &f.e.Mode.Nodes[i]
				n.Process.Value, n.ProxyMode.Value, n.Log.Value = "", "", ""
				f.e.Kernel[i].LiveIptables = ""
			}
		}, []string{"Nothing of a kube-proxy was found on any node, in what was read", "Calico in kube-proxy's place (eBPF)", ", kube-proxy's `KUBE-MARK-MASQ`"}},
		{"the dump of rules was not read", func(f *fixture) {
			f.e.Kernel[1].LiveIptables, f.e.Kernel[1].Tables = "", f.e.Kernel[1].Tables[1:]
		}, []string{"What iptables still holds (control-plane, worker2)"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "NOT "), func(t *testing.T) {
			f := newFixture(t, "calico-ebpf")
			test.change(f)
			page := f.page()
			f.linksHold(page)
			says(t, page, test.texts...)
			Index([]IndexEntry{{f.run, f.e, f.checks, "x"}})
		})
	}
}

// TestFilesOfCalicoThatCannotBeRead: what is not there is left out, what is there
// and cannot be read is an error, and what is not understood is not quoted.
func TestFilesOfCalicoThatCannotBeRead(t *testing.T) {
	unreadable(t, "calico-ebpf", "worker2/"+calico.CgroupFile, "worker/"+calico.ConntrackFile, "worker/"+evidence.AddressesFile, "worker/"+nftTextFile,
		"control-plane/"+leftoverFile, "control-plane/"+leftoverFile6)
	f := newFixture(t, "calico-ebpf")
	f.file("worker2/"+calico.CgroupFile, `{"error":"can't query"}`)
	f.file("worker2/"+calico.ConntrackFile, "no such map\n")
	f.file("worker2/"+evidence.AddressesFile, "ip: not found\n")
	says(t, f.page(), "NOT Socket: connect(2)", "NOT passed on to that one", "TCP 172.18.0.1:52716 -> 172.18.0.7:30081", "| NodePort `172.18.0.7:30081/TCP` | not known where |")
}

// TestMapsOnOneLine: JSON without line breaks has no lines to lead to, nor to
// number.
func TestMapsOnOneLine(t *testing.T) {
	f := newFixture(t, "calico-ebpf")
	for i, role := range spec.Roles {
		var one bytes.Buffer
		f.must(json.Compact(&one, f.raw[role+"/"+calico.NATFile].Data))
		f.file(role+"/"+calico.NATFile, one.String())
		table, err := calico.Decode(calico.Raw{NAT: one.Bytes()})
		f.must(err)
		f.e.Kernel[i].Table(calico.Encoding).ServiceTable = table
	}
	page := f.page()
	f.linksHold(page)
	says(t, page,
		"[file](raw/worker/calico-nat-dump.json) `172.18.0.6 port 30081", "\n255.255.255.255 port 30081 proto 6 id 5 count 2 local 1\n5:1 10.244.95.133:8080\n",
		"| Frontend | Kind | Selection | Policy | Backends |\n", "+ worker  172.18.0.6 port 30081",
	)
}
