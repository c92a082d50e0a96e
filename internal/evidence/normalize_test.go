package evidence

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/traffic"
)

var update = flag.Bool("update", false, "write the golden files")

func normalized(t *testing.T, scenario string, change func(fstest.MapFS)) []byte {
	t.Helper()
	raw, s, x := load(t, scenario)
	change(raw)
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(Normalize(e, []collect.Check{{ID: "mode.declared", Verdict: collect.Pass, Reason: "volatile"}}), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

func TestNormalizeGolden(t *testing.T) {
	for _, scenario := range scenarios {
		got := normalized(t, scenario, func(fstest.MapFS) {})
		golden := "testdata/" + scenario + "/normalized.golden"
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; see git diff after -update", golden)
		}
		if address := regexp.MustCompile(`\d+\.\d+\.\d+\.\d+`).Find(got); address != nil {
			t.Errorf("%s holds the address %s", scenario, address)
		}
	}
}

// TestNormalizeAnotherRun renames whatever may differ between two runs all
// through the raw files. What is left must be the same bytes.
func TestNormalizeAnotherRun(t *testing.T) {
	rename := func(replacements ...string) func(fstest.MapFS) {
		replacer := strings.NewReplacer(replacements...)
		return func(raw fstest.MapFS) {
			for _, file := range raw {
				file.Data = []byte(replacer.Replace(string(file.Data)))
			}
		}
	}
	for _, scenario := range scenarios {
		raw, s, x := load(t, scenario)
		e, err := Decode(raw, s, x)
		if err != nil {
			t.Fatal(err)
		}
		first := normalized(t, scenario, func(fstest.MapFS) {})
		for name, change := range map[string]func(fstest.MapFS){
			"pod networks swapped":   rename("10.244.1.", "10.244.2.", "10.244.2.", "10.244.1."),
			"node addresses swapped": rename(e.Nodes[0].InternalIP.String(), e.Nodes[2].InternalIP.String(), e.Nodes[2].InternalIP.String(), e.Nodes[0].InternalIP.String()),
			"another ClusterIP":      rename(e.Objects.Service.ClusterIP.String(), "10.96.200.201"),
			"other pods":             rename(e.Objects.Endpoints[0].Pod, "echo-server-77777-aaaaa", e.Objects.Endpoints[1].Pod, "echo-server-77777-bbbbb"),
			"another cluster's name": rename(e.Nodes[2].Name, "another-worker2", e.Nodes[1].Name, "another-worker", e.Nodes[0].Name, "another-control-plane"),
			"another kernel":         rename(e.Nodes[0].KernelRelease, "7.0.0"),
			"other backends answer":  rename(`,"podIP":"`+e.Objects.Endpoints[0].Address.String()+`"},"sourceSeen"`, `,"podIP":"`+e.Objects.Endpoints[1].Address.String()+`"},"sourceSeen"`),
		} {
			if again := normalized(t, scenario, change); !bytes.Equal(first, again) {
				t.Errorf("%s: %s changes it", scenario, name)
			}
		}
	}
}

// TestNormalizeCalicoAgain: maps have no order, and give numbers as they come.
func TestNormalizeCalicoAgain(t *testing.T) {
	write := func(change func(fstest.MapFS)) []byte {
		out, err := json.Marshal(Normalize(loadCalico(t, "service-path", change), nil))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := write(func(fstest.MapFS) {})
	if address := regexp.MustCompile(`\d+\.\d+\.\d+\.\d+`).Find(first); address != nil {
		t.Errorf("it holds the address %s", address)
	}
	for name, change := range map[string]func(file *fstest.MapFile){
		"another order": func(file *fstest.MapFile) {
			var all []any
			if err := json.Unmarshal(file.Data, &all); err != nil {
				t.Fatal(err)
			}
			slices.Reverse(all)
			file.Data, _ = json.Marshal(all)
		},
		"other numbers": func(file *fstest.MapFile) {
			file.Data = regexp.MustCompile(`"id": ?(\d+)`).ReplaceAll(file.Data, []byte(`"id": 9$1`))
		},
	} {
		again := write(func(raw fstest.MapFS) {
			for _, role := range spec.Roles {
				for _, file := range []string{calico.NATFile, calico.ConntrackFile, calico.CgroupFile} {
					change(raw[role+"/"+file])
				}
			}
		})
		if !bytes.Equal(first, again) {
			t.Errorf("%s changes it", name)
		}
	}
}

// TestNormalizeTells: what a reader compares runs for does change it.
func TestNormalizeTells(t *testing.T) {
	raw, s, x := load(t, "iptables")
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	write := func() string {
		out, _ := json.Marshal(Normalize(e, nil))
		return string(out)
	}
	before := write()
	table := e.Kernel[1].Tables[0].Frontends
	for _, change := range []struct {
		name string
		make func()
	}{
		{"a backend", func() { table[0].Backends[0].Address = netip.MustParseAddr("192.0.2.1") }},
		{"a probability", func() { table[1].Backends[0].Probability = 0.25 }},
		{"a policy", func() { table[2].Policy = collect.PolicyLocal }},
		{"an unparsed line", func() { e.Kernel[1].Tables[0].Unparsed = make([]collect.Line, 1) }},
		{"a source", func() { e.Traffic[0].Attempts[3].SourceSeen = netip.MustParseAddrPort("192.0.2.1:5") }},
		{"a failure", func() { e.Traffic[0].Attempts[3].Error = "refused" }},
		{"a mode", func() { e.Mode.Nodes[1].Log.Value = "ipvs" }},
		{"a process", func() { e.Mode.Nodes[1].Process.Value = collect.Absent }},
		{"a DaemonSet", func() { e.Mode.KubeProxy.Value = collect.Absent }},
		{"an agent", func() { e.Mode.Nodes[1].Agent = &collect.AgentMode{} }},
		{"its socket LB", func() { e.Mode.Nodes[1].Agent.SocketLB.Value = collect.Enabled }},
		{"its health", func() { e.Mode.Nodes[1].Agent.Health.Value = "3/3 reachable" }},
		{"the objects of Calico", func() { e.Mode.Calico = &collect.CalicoMode{} }},
		{"its eBPF", func() { e.Mode.Calico.BPF.Value = collect.Enabled }},
		{"a component of its operator", func() { e.Mode.Calico.Components = []collect.Component{{Name: "calico"}} }},
		{"the component's state", func() { e.Mode.Calico.Components[0].State.Value = "degraded" }},
		{"the nodes of kube-proxy", func() { e.Mode.Calico.ProxyNodes.Value = "3" }},
		{"the selector of kube-proxy", func() { e.Mode.Calico.ProxySelector.Value = collect.Present }},
		{"programs at a cgroup", func() { e.Mode.Nodes[1].Hooks.Value = "calico_connect_v4 at cgroup_inet4_connect" }},
		{"a translation", func() { e.Traffic[0].Attempts[2].KernelRemote = netip.MustParseAddrPort("192.0.2.1:5") }},
	} {
		change.make()
		after := write()
		if after == before {
			t.Errorf("%s does not show", change.name)
		}
		before = after
	}
}

// TestNormalizeChance: which backend answers is chance, and so is then which of
// the sources that a scenario allows is seen. Whether all were allowed is not.
func TestNormalizeChance(t *testing.T) {
	const local, remote = "10.244.2.2", "10.244.1.2" // seen from worker
	const host, node = "172.18.0.1:40000", "10.244.2.1:40000"
	write := func(seen ...[2]string) string {
		e := little()
		p := collect.EntryPoint{
			Name: "p", From: spec.FromHost, To: spec.ToNodePort, Node: "worker", EntryNode: "worker",
			ExpectedSource: spec.SourceEntryNodeIfRemote, Sent: len(seen),
		}
		for _, s := range seen {
			a := traffic.Attempt{SourceSeen: netip.MustParseAddrPort(s[1])}
			a.Backend.PodIP = netip.MustParseAddr(s[0])
			p.Attempts = append(p.Attempts, a)
		}
		e.Traffic = []collect.EntryPoint{p}
		out, err := json.Marshal(Normalize(e, nil))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	both := write([2]string{local, host}, [2]string{remote, node})
	if one := write([2]string{local, host}, [2]string{local, host}); one != both {
		t.Errorf("backends on one node alone change it:\n%s\n%s", one, both)
	}
	if wrong := write([2]string{local, node}, [2]string{remote, node}); wrong == both {
		t.Errorf("a source that is not allowed does not show: %s", wrong)
	}
}
