package report

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/traffic"
)

func (f *fixture) tables(encoding string) []*collect.NodeTable {
	var all []*collect.NodeTable
	for i := range f.e.Kernel {
		all = append(all, f.e.Kernel[i].Table(encoding))
	}
	return all
}

// TestHeadline: what implements a Service is told by what the kernel holds of
// it, and what Cilium adds by what it tracked.
func TestHeadline(t *testing.T) {
	tests := []struct {
		name, scenario string
		change         func(*fixture)
		want, not      string
	}{
		{"in kube-proxy's place", "cilium", nil, "**Cilium in kube-proxy's place (eBPF) implements Service", "agent"},
		{"an agent that says nothing", "cilium", func(f *fixture) {
			for i := range f.e.Mode.Nodes {
				f.e.Mode.Nodes[i].Agent.KubeProxyReplacement.Value = ""
			}
		}, "**Cilium (eBPF) implements Service", "place"},
		{"a node without it", "cilium", func(f *fixture) { f.e.Kernel[1].Tables = nil },
			"is implemented by Cilium in kube-proxy's place (eBPF) on control-plane, worker2; nothing that was read on worker.", ""},
		{"without its node port", "cilium", func(f *fixture) {
			for _, table := range f.tables(cilium.Encoding) {
				table.Frontends = slices.DeleteFunc(table.Frontends, func(f collect.Frontend) bool { return f.Kind == collect.NodePort })
			}
		}, "**Cilium in kube-proxy's place (eBPF), for its ClusterIP alone, implements Service", "Cilium's maps hold"},
		{"the pod network alone", "cilium-kube-proxy", nil, "**iptables (back end nft) implements Service", "eBPF"},
		{"which translates what pods send to a ClusterIP", "cilium-kube-proxy", nil,
			"Cilium's maps hold the Service's ClusterIP too (control-plane, worker, worker2). **All 12 tracked connections to the ClusterIP were translated by Cilium, none by the kernel's own NAT.**", ""},
		{"or some of it", "cilium-kube-proxy", func(f *fixture) {
			f.e.Kernel[2].Translations[0].Tracker = collect.TrackedByKernel
		}, "**Of 12 tracked connections to the ClusterIP, 2 were translated by Cilium.**", "All 12"},
		{"or none", "cilium-kube-proxy", func(f *fixture) { f.e.Kernel[2].Translations = nil }, "Cilium's maps hold the Service's ClusterIP too", "translated by Cilium"},
		{"empty maps", "cilium-kube-proxy", func(f *fixture) {
			for _, table := range f.tables(cilium.Encoding) {
				table.Frontends = nil
			}
		}, "**iptables (back end nft) implements Service", "Cilium"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			f := newFixture(t, test.scenario)
			if test.change != nil {
				test.change(f)
			}
			got := answer(f.e) + " " + manner(f.e)
			if !strings.Contains(got, test.want) || test.not != "" && strings.Contains(got, test.not) {
				t.Errorf("headline = %s\nwant %q and not %q", got, test.want, test.not)
			}
		})
	}
}

func TestSocketLBKey(t *testing.T) {
	const warning = "A trap: the same ConfigMap says that socket LB is off"
	tests := []struct {
		name, scenario, config string
		want                   bool
	}{
		{"off, and yet on", "cilium", `{"data":{"bpf-lb-sock":"false"}}`, true},
		{"on", "cilium", `{"data":{"bpf-lb-sock":"true"}}`, false},
		{"not there", "cilium", `{"data":{}}`, false},
		{"no ConfigMap", "cilium", `not JSON`, false},
		{"off, and off", "cilium-kube-proxy", `{"data":{"bpf-lb-sock":"false"}}`, false},
	}
	for _, test := range tests {
		f := newFixture(t, test.scenario)
		f.file("cluster/cilium-config.json", test.config)
		if got := strings.Contains(f.page(), warning); got != test.want {
			t.Errorf("%s: warns: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestMapsBesideTheList: what one of the two lacks stands as a dash.
func TestMapsBesideTheList(t *testing.T) {
	f := newFixture(t, "cilium")
	maps, list := f.tables(cilium.Encoding)[2], f.tables(cilium.AgentEncoding)[2]
	drop := func(table *collect.NodeTable, kind collect.FrontendKind) {
		table.Frontends = slices.DeleteFunc(table.Frontends, func(f collect.Frontend) bool { return f.Kind == kind })
	}
	drop(maps, collect.NodePort)
	drop(list, collect.ClusterIP)
	inMaps := slices.IndexFunc(maps.Frontends, func(x collect.Frontend) bool { return x.Address == f.e.Objects.Service.ClusterIP })
	maps.Frontends[inMaps].Backends[1].State = collect.Quarantined
	page := f.page()
	for _, want := range []string{
		"| ClusterIP `10.97.156.17:80/TCP` | – | [line 53](raw/worker2/cilium-bpf-lb-list.json#L53)",
		"A `10.245.2.76:8080/TCP (7) (2)` quarantined |",
		"<br>A `10.245.2.76:8080` | – | – |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "leaves it to kube-proxy") {
		t.Error("a missing node port is explained away")
	}
	maps.Frontends, list.Frontends = nil, nil
	if page := f.page(); !strings.Contains(page, "Neither has the Service.") {
		t.Error("the page does not say that neither has the Service")
	}
}

// TestAgentsThatDiffer: one agent is quoted whole, what another says otherwise
// is quoted too.
func TestAgentsThatDiffer(t *testing.T) {
	f := newFixture(t, "cilium")
	agent := f.e.Mode.Nodes[0].Agent
	agent.SocketLB.Value, agent.SocketLB.Ref.Line.Text = collect.Disabled, "kube-proxy-replacement.features.socketLB: {}"
	agent.Health = collect.Observation{Value: collect.Absent, Ref: collect.Ref{File: "control-plane/cilium-health.json"}}
	f.e.Mode.Nodes[1].Agent = nil
	page := f.page()
	for _, want := range []string{
		"[`disabled`](raw/control-plane/cilium-status.json#L446)", "[off](raw/control-plane/cilium-health.json)", "| worker | not asked |",
		"+ control-plane  control-plane/cilium-status.json:446  kube-proxy-replacement.features.socketLB: {}",
		"control-plane: 6 statements, the same but for this:", "worker: 1 statement, the same but for this:",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestModeOfANode(t *testing.T) {
	node := func(proxy, replacement string) collect.NodeMode {
		return collect.NodeMode{
			ProxyMode: collect.Observation{Value: proxy},
			Agent:     &collect.AgentMode{KubeProxyReplacement: collect.Observation{Value: replacement}},
		}
	}
	proxy := func(mode string) collect.NodeMode {
		return collect.NodeMode{ProxyMode: collect.Observation{Value: mode}}
	}
	none := collect.Mode{}
	felix := func(bpf string) collect.Mode {
		return collect.Mode{Calico: &collect.CalicoMode{BPF: collect.Observation{Value: bpf}}}
	}
	tests := []struct {
		mode collect.Mode
		node collect.NodeMode
		want string
	}{
		{none, proxy("ipvs"), "ipvs"},
		{none, node(collect.Absent, "True"), "cilium (kube-proxy replacement)"},
		{none, node("iptables", "True"), "cilium (kube-proxy replacement) and kube-proxy in mode iptables"},
		{none, node("iptables", "False"), "iptables (cilium as pod network)"},
		{none, node(collect.Absent, "False"), "no kube-proxy (cilium as pod network)"},
		{none, node("iptables", ""), "iptables (cilium, not known what for)"},
		{felix(collect.Enabled), proxy(collect.Absent), "calico (kube-proxy replacement)"},
		{felix(collect.Enabled), proxy("iptables"), "calico (kube-proxy replacement) and kube-proxy in mode iptables"},
		{felix(collect.Disabled), proxy("nftables"), "nftables (calico as pod network)"},
		{felix(collect.Disabled), proxy(collect.Absent), "no kube-proxy (calico as pod network)"},
		{felix(""), proxy("iptables"), "iptables (calico, not known what for)"},
		{collect.Mode{}, collect.NodeMode{}, ""},
	}
	for _, test := range tests {
		if got := modeOf(test.mode, test.node); got != test.want {
			t.Errorf("mode = %q, want %q", got, test.want)
		}
	}
}

// TestSourcesFromOutside: only where the backend's node decides whose address
// is seen may the page say so.
func TestSourcesFromOutside(t *testing.T) {
	f := newFixture(t, "cilium")
	const split = "the client's own where the backend is on the dialled node, else the dialled node's"
	if got := seen(f.e, true, spec.FromHost); got != split {
		t.Errorf("seen = %q, want %q", got, split)
	}
	endpoint := &f.e.Objects.Endpoints[0]
	endpoint.Address = netip.MustParseAddr("10.9.9.9")
	if got, want := seen(f.e, true, spec.FromHost), "the client's own, the dialled node's"; got != want {
		t.Errorf("seen = %q, want %q", got, want)
	}
	endpoint.Address = netip.MustParseAddr("10.245.2.76")
	host := &f.e.Traffic[len(f.e.Traffic)-1]
	host.Attempts = slices.Clone(host.Attempts)
	other := host.Attempts[0]
	other.SourceSeen = host.Attempts[1].SourceSeen
	host.Attempts = append(host.Attempts, other)
	if got, want := seen(f.e, true, spec.FromHost), "the client's own, the dialled node's"; got != want {
		t.Errorf("seen = %q, want %q", got, want)
	}
}

func TestTranslatedToAStranger(t *testing.T) {
	f := newFixture(t, "cilium")
	f.e.Traffic[0].Attempts = []traffic.Attempt{f.e.Traffic[0].Attempts[0]}
	f.e.Traffic[0].Attempts[0].KernelRemote = netip.MustParseAddrPort("10.9.9.9:8080")
	if want := "| `10.9.9.9:8080` | 1 | neither | socket |"; !strings.Contains(f.page(), want) {
		t.Errorf("the page lacks %q", want)
	}
}

func TestLeftovers(t *testing.T) {
	f := newFixture(t, "cilium")
	const chain = ":KUBE-KUBELET-CANARY - [0:0]\n"
	dump := string(f.raw["worker/iptables-nft-save.txt"].Data)
	f.file("worker/iptables-nft-save.txt", strings.Replace(dump, chain, chain+":KUBE-SERVICES - [0:0]\n:KUBE-OTHER - [0:0]\n", 1))
	page := f.page()
	for _, want := range []string{
		"What iptables still holds (control-plane, worker2) is no Service's, and so no finding: kubelet's `KUBE-FIREWALL`, `KUBE-IPTABLES-HINT`, `KUBE-KUBELET-CANARY`, 10 chains `CILIUM_*` of the agent's own, 40 rules in all",
		"What iptables still holds (worker) is no Service's, and so no finding: kubelet's `KUBE-FIREWALL`, `KUBE-IPTABLES-HINT`, `KUBE-KUBELET-CANARY`, a former kube-proxy's `KUBE-SERVICES`, 10 chains `CILIUM_*` of the agent's own, beside them `KUBE-OTHER`, 40 rules in all; `KUBE-` in 10 lines says nothing of Services",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	f.e.Kernel[0].IptablesRules = []collect.Observation{{Value: "3 rules for Services"}}
	if strings.Contains(f.page(), "no finding") {
		t.Error("rules for Services are said to be no finding")
	}
}

// TestFilesOfCiliumThatCannotBeRead: what is not there is left out, what is
// there and cannot be read is an error.
func TestFilesOfCiliumThatCannotBeRead(t *testing.T) {
	unreadable(t, "cilium", "cluster/cilium-config.json", "worker/"+cilium.CgroupFile, "worker2/"+cilium.ConntrackFile, "control-plane/iptables-nft-save.txt")
	f := newFixture(t, "cilium")
	f.file("worker2/"+cilium.CgroupFile, "bpftool: not found\n")
	f.file("worker2/"+cilium.ConntrackFile, "no such map\n")
	if page := f.page(); strings.Contains(page, "Socket: connect(2)") || strings.Contains(page, "Cilium has no program at connect(2)") {
		t.Error("programs that were not read are told of, or denied")
	}
}

func TestPicked(t *testing.T) {
	tests := []struct {
		ways []collect.Selection
		want string
	}{
		{[]collect.Selection{collect.SelectRandom, collect.SelectRandom}, "picked at random"},
		{[]collect.Selection{collect.SelectMaglev}, "picked by maglev"},
		{[]collect.Selection{collect.SelectRandom, collect.SelectMaglev}, "picked as the service table below says"},
		{[]collect.Selection{""}, "picked as the service table below says"},
	}
	for _, test := range tests {
		var frontends []collect.Frontend
		for _, way := range test.ways {
			frontends = append(frontends, collect.Frontend{Selection: way})
		}
		if got := picked(frontends); got != test.want {
			t.Errorf("picked %v = %q, want %q", test.ways, got, test.want)
		}
	}
}

// TestNumbersAreTheNodesOwn: that an agent gives a frontend another number is
// no difference between nodes.
func TestNumbersAreTheNodesOwn(t *testing.T) {
	f := newFixture(t, "cilium")
	table := f.tables(cilium.Encoding)[0]
	renumber := func(line *collect.Line) { line.Text = strings.ReplaceAll(line.Text, "(7)", "(17)") }
	for i := range table.Frontends {
		renumber(&table.Frontends[i].Line)
		for j := range table.Frontends[i].Backends {
			renumber(&table.Frontends[i].Backends[j].Line)
		}
	}
	page := f.page()
	if want := "[line 53](raw/control-plane/cilium-bpf-lb-list.json#L53) `0.0.0.0:0 (17) (0) [ClusterIP, non-routable]`"; !strings.Contains(page, want) {
		t.Errorf("the page lacks %q", want)
	}
	if strings.Contains(page, fmt.Sprintf("+ control-plane:%d  10.97.156.17", 53)) {
		t.Error("the number is told as a difference")
	}
}
