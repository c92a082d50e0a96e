package report

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/evidence"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// refused is a run in which the operator has refused an IP pool.
func refused(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, raw: fstest.MapFS{}}
	f.run = results.Run{
		Started: time.Date(2026, 11, 29, 14, 8, 0, 0, time.UTC),
		Argv:    []string{"runner", "run", "calico-wrong-pool"},
		Harness: results.Harness{Revision: "0123456789abcdef", GoVersion: "go1.26.0"},
		DataPlane: &dataplane.Installed{
			Name: "tigera-operator", Version: "v3.31.7", Chart: "a directory",
			Images: dataplane.Images{"operator": imagebuild.Image{Reference: "quay.io/tigera/operator:v1.40.15", Origin: "directory"}},
			Values: map[string]any{"goldmane": map[string]any{"enabled": false}},
		},
	}
	f.run.Scenario.Metadata = spec.Metadata{Name: "calico-ebpf", Title: "Calico without kube-proxy"}
	f.run.Scenario.Spec.Cluster = spec.ClusterSpec{PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.98.0.0/16", CNI: "calico"}
	f.run.Experiment.Metadata = spec.Metadata{Name: "calico-wrong-pool", Title: "A pool outside of the pod subnet"}
	f.run.Experiment.Spec.Refusal = &spec.Refusal{
		Values:    map[string]any{"installation": map[string]any{"calicoNetwork": map[string]any{"ipPools": []any{map[string]any{"cidr": "192.168.0.0/16"}}}}},
		Component: "ippools", Message: "is not within",
	}
	f.e = collect.Evidence{Scenario: "calico-ebpf", Experiment: "calico-wrong-pool"}
	component := func(name, state string, line int, said string) collect.Component {
		return collect.Component{Name: name, State: f.observed(evidence.TigeraStatusFile, state, line, said)}
	}
	f.e.Mode.Calico = &collect.CalicoMode{
		Components: []collect.Component{
			component("calico", "degraded", 1, "calico Degraded=True ResourceNotFound: waiting for enabled IP pools to be created: "),
			component("ippools", "degraded", 2, "ippools Degraded=True ResourceReadError: IPPool 192.168.0.0/16 is not within [10.244.0.0/16]"),
			component("kubeproxy-monitor", "unknown", 0, ""),
		},
		ProxyNodes:    f.observed(evidence.DaemonSetFile, "3", 0, "desiredNumberScheduled: 3"),
		ProxySelector: f.observed(evidence.DaemonSetFile, collect.Absent, 0, "nodeSelector: map[kubernetes.io/os:linux]"),
	}
	f.file(evidence.TigeraStatusFile, "calico\nippools\n")
	f.file(evidence.DaemonSetFile, "{}")
	for _, role := range spec.Roles {
		f.e.Mode.Nodes = append(f.e.Mode.Nodes, collect.NodeMode{
			Node:      role,
			Process:   f.observed(role+"/"+evidence.ProcessesFile, collect.Running, 2, "341 kube-proxy"),
			ProxyMode: f.observed(role+"/"+evidence.ProxyModeFile, "iptables", 1, "iptables"),
		})
		f.file(role+"/"+evidence.ProcessesFile, "PID COMMAND\n341 kube-proxy\n")
		f.file(role+"/"+evidence.ProxyModeFile, "iptables")
	}
	f.checks = []collect.Check{
		{ID: "refusal.stated", Statement: "The operator's status says why.", Verdict: collect.Pass, Findings: []collect.Finding{{Node: "cluster", Text: "ippools is degraded", Ref: f.e.Mode.Calico.Components[1].State.Ref}}},
		{ID: "refusal.untouched", Statement: "kube-proxy implements Services.", Verdict: collect.Pass, Findings: []collect.Finding{{Node: "worker", Text: "mode is iptables", Ref: f.e.Mode.Nodes[1].ProxyMode.Ref}}},
	}
	return f
}

// refusal is the page.
func (f *fixture) refusal() string {
	f.Helper()
	page, err := Refusal(f.run, f.e, f.checks)
	f.must(err)
	return string(page)
}

// entry is the run in an index.
func (f *fixture) entry() IndexEntry {
	return IndexEntry{Run: f.run, Evidence: f.e, Checks: f.checks, Dir: f.e.Experiment + "/" + f.e.Scenario}
}

func TestRefusalPage(t *testing.T) {
	f := refused(t)
	page := f.refusal()
	f.linksHold(page)
	if again := f.refusal(); again != page {
		t.Error("a second page from the same input is another one")
	}
	says(t, page,
		"# `calico-ebpf`: A pool outside of the pod subnet\n\nAll 2 checks passed.\n\n",
		"The installation of scenario `calico-ebpf` on a cluster whose pods have addresses of `10.244.0.0/16`, with this laid over its values:\n\n```yaml\ninstallation:\n  calicoNetwork:\n    ipPools:\n      - cidr: 192.168.0.0/16\n```\n",
		"### The data plane that was installed\n\n`tigera-operator` v3.31.7. Chart: a directory.", "| operator | `quay.io/tigera/operator:v1.40.15`, origin: directory |",
		"Wanted is that `ippools` is degraded, and `is not within` in the operator's words.",
		"| `calico` | degraded | calico Degraded=True ResourceNotFound: waiting for enabled IP pools to be created:  | [`cluster/tigerastatus.json:1`](raw/cluster/tigerastatus.json#L1) |",
		"| `ippools` | degraded | ippools Degraded=True ResourceReadError: IPPool 192.168.0.0/16 is not within \\[10.244.0.0/16\\] | [`cluster/tigerastatus.json:2`](raw/cluster/tigerastatus.json#L2) |",
		"| `kubeproxy-monitor` | unknown |  | [`cluster/tigerastatus.json`](raw/cluster/tigerastatus.json) |",
		"| cluster | nodes that are meant to have a kube-proxy | `3` | [`cluster/kube-proxy-daemonset.json`](raw/cluster/kube-proxy-daemonset.json) |",
		"| cluster | the operator's selector that keeps it off them | `absent` |",
		"| worker2 | process kube-proxy | `running` | [`worker2/processes.txt:2`](raw/worker2/processes.txt#L2) |",
		"| worker2 | mode it answers with | `iptables` | [`worker2/proxyMode.txt:1`](raw/worker2/proxyMode.txt#L1) |",
		"## Checks\n\n| Check |", "| `refusal.stated` | The operator's status says why. | pass | [`cluster/tigerastatus.json:2`]",
		"## Provenance\n", "| Command | `runner run calico-wrong-pool` |",
		"NOT Recorded elsewhere", "NOT Files that could not be used", "NOT (empty)", "NOT | Workload |", "NOT \n\n\n",
	)
	if !strings.HasSuffix(page, "|\n") {
		t.Errorf("the page ends with %q", page[len(page)-10:])
	}
}

// TestRefusalOtherwise: what is not as it should be is told as it is.
func TestRefusalOtherwise(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fixture)
		texts  []string
	}{
		{"the objects of Calico were not read", func(f *fixture) { f.e.Mode.Calico = nil }, []string{
			"Wanted is that `ippools` is degraded", "NOT | Component |", "NOT meant to have a kube-proxy", "| worker | process kube-proxy | `running` |",
		}},
		{"nothing of any component", func(f *fixture) { f.e.Mode.Calico.Components = nil }, []string{"NOT | Component |", "| cluster | nodes that are meant to have a kube-proxy | `3` |"}},
		{"nothing was read", func(f *fixture) { f.e.Mode = collect.Mode{} }, []string{"Wanted is that `ippools` is degraded", "NOT | Component |", "NOT | What | Found |", "## Checks"}},
		{"nothing was installed", func(f *fixture) { f.run.DataPlane = nil }, []string{"NOT was installed", "## What the operator says"}},
		{"what is not known", func(f *fixture) {
			f.e.Mode.Calico.ProxyNodes.Value = ""
			f.e.Mode.Nodes[1] = collect.NodeMode{Node: "worker"}
		}, []string{"| cluster | nodes that are meant to have a kube-proxy | (empty) |", "| worker | process kube-proxy | (empty) | – |", "| worker | mode it answers with | (empty) | – |"}},
		{"no mode to answer with", func(f *fixture) { f.e.Mode.Nodes[1].ProxyMode.Value = collect.Absent }, []string{"| worker | mode it answers with | `absent` |"}},
		{"carried out", func(f *fixture) {
			f.e.Mode.Calico.Components[1].State.Value = "available"
			f.checks[0].Verdict, f.checks[0].Reason = collect.Fail, "cluster/tigerastatus.json: ippools is available, want degraded"
			f.checks[0].Findings[0].Text = "ippools is available, want degraded"
		}, []string{
			"\n\n1 of 2 checks passed, 1 failed (`refusal.stated`).\n\n", "| `ippools` | available |", "| **fail** |",
			"`refusal.stated`: fail.\n\n- cluster: ippools is available, want degraded ([`cluster/tigerastatus.json:2`](raw/cluster/tigerastatus.json#L2))",
		}},
		{"a file that could not be used", func(f *fixture) {
			f.e.Problems = []collect.Problem{{Node: "cluster", File: evidence.TigeraStatusFile, Text: "kubectl: exit code 1"}}
		}, []string{"Files that could not be used", "| cluster | `cluster/tigerastatus.json` | kubectl: exit code 1 |"}},
		{"no checks", func(f *fixture) { f.checks = nil }, []string{"\n\n0 of 0 checks passed.\n\n"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			f := refused(t)
			test.change(f)
			page := f.refusal()
			f.linksHold(page)
			says(t, page, test.texts...)
			Index([]IndexEntry{f.entry()})
		})
	}
}

func TestRefusalIndex(t *testing.T) {
	f := refused(t)
	index := string(Index(append(entries(t, "iptables"), f.entry())))
	says(t, index,
		"## `calico-wrong-pool`: A pool outside of the pod subnet\n\n| Scenario | The operator says | Nodes with a kube-proxy | Checks | Date |\n| --- | --- | --- | --- | --- |\n",
		"| [calico-ebpf](calico-wrong-pool/calico-ebpf/README.md) | ippools Degraded=True ResourceReadError: IPPool 192.168.0.0/16 is not within \\[10.244.0.0/16\\] | 3 | all 2 checks passed | 2026-11-29 |\n",
		"## `service-path`: The path of a connection to a Service\n\n|  | [iptables](service-path/iptables/README.md) |",
		"NOT waiting for enabled IP pools",
	)
	if strings.Index(index, "calico-wrong-pool`") > strings.Index(index, "service-path`") {
		t.Error("experiments are not in the order of their directories")
	}
	const row = "| [calico-ebpf](calico-wrong-pool/calico-ebpf/README.md) |"
	for _, test := range []struct {
		name   string
		change func(*fixture)
		want   string
	}{
		{"the objects of Calico were not read", func(f *fixture) { f.e.Mode.Calico = nil }, row + " – | – | all 2 checks passed |"},
		{"nothing of the component", func(f *fixture) { f.e.Mode.Calico.Components = f.e.Mode.Calico.Components[:1] }, row + " – | 3 |"},
		{"the component has no words", func(f *fixture) { f.e.Mode.Calico.Components[1].State.Ref.Line.Text = "" }, row + " – | 3 |"},
		{"how many nodes is not known", func(f *fixture) { f.e.Mode.Calico.ProxyNodes.Value = "" }, "is not within \\[10.244.0.0/16\\] | – |"},
		{"one check failed", func(f *fixture) { f.checks[1].Verdict = collect.Fail }, "| 1 of 2 checks passed, 1 failed (`refusal.untouched`) |"},
	} {
		f := refused(t)
		test.change(f)
		if index := string(Index([]IndexEntry{f.entry()})); !strings.Contains(index, test.want) {
			t.Errorf("%s: the index lacks %q:\n%s", test.name, test.want, index)
		}
	}
}

// TestHostileRefusal: whatever operator and nodes say, and whatever was asked for,
// page and index keep their form.
func TestHostileRefusal(t *testing.T) {
	const hostile = "x`|\n\n# <img src=x>\n```\n| a | b |\x1b[2J"
	f := refused(t)
	f.checks[0].Verdict, f.checks[0].Reason = collect.Fail, "why"
	f.e.Problems = []collect.Problem{{Node: "cluster", File: evidence.TigeraStatusFile, Text: "why"}}
	page, index := form(f.refusal()), form(string(Index([]IndexEntry{f.entry()})))
	f.e.Scenario, f.e.Problems[0].Text, f.checks[0].Statement, f.checks[0].Reason, f.checks[0].Findings[0].Text = hostile, hostile, hostile, hostile+" in sum", hostile
	f.run.Experiment.Metadata.Title, f.run.Scenario.Spec.Cluster.PodSubnet = hostile, hostile
	f.run.Experiment.Spec.Refusal.Component, f.run.Experiment.Spec.Refusal.Message = hostile, hostile
	f.run.DataPlane.Version, f.run.DataPlane.Chart = hostile, hostile
	c := f.e.Mode.Calico
	c.ProxyNodes.Value, c.ProxySelector.Value = hostile, hostile
	for i := range c.Components {
		c.Components[i].Name, c.Components[i].State.Value, c.Components[i].State.Ref.Line.Text = hostile, hostile, hostile
	}
	for i := range f.e.Mode.Nodes {
		n := &f.e.Mode.Nodes[i]
		n.Node, n.Process.Value, n.ProxyMode.Value = hostile, hostile, hostile
	}
	for name, pair := range map[string][2]string{"page": {page, f.refusal()}, "index": {index, string(Index([]IndexEntry{f.entry()}))}} {
		if after := form(pair[1]); after != pair[0] {
			t.Errorf("the %s's form has changed:\n%s", name, firstDifference(pair[0], after))
		}
		if strings.Contains(outsideFences(pair[1]), "<img") || strings.Contains(pair[1], "\x1b") {
			t.Errorf("the %s is not safe:\n%s", name, pair[1])
		}
	}
	// Values stay within their fence, whatever they are.
	f.run.Experiment.Spec.Refusal.Values = map[string]any{"installation": hostile, hostile: []any{hostile, 12, nil}}
	after := f.refusal()
	if strings.Contains(outsideFences(after), "<img") || strings.Contains(after, "\x1b") || strings.Count(outsideFences(after), "\n## ") != 5 {
		t.Errorf("the values leave their fence:\n%s", after)
	}
}

// TestImportedRefusal: of evidence that was recorded elsewhere it says so, and leads
// to no file that was not recorded.
func TestImportedRefusal(t *testing.T) {
	f := refused(t)
	f.run = results.Run{
		Imported: &results.Imported{
			Map: "by-hand", SHA256: strings.Repeat("0f", 32),
			Recorded: time.Date(2026, 11, 28, 15, 4, 0, 0, time.UTC), On: "a cluster of three",
		},
		Scenario: f.run.Scenario, Experiment: f.run.Experiment,
	}
	gone := "worker/" + evidence.ProxyModeFile
	delete(f.raw, gone)
	f.e.Mode.Nodes[1].ProxyMode = collect.Observation{Ref: collect.Ref{File: gone}}
	f.e.Problems = []collect.Problem{{Node: "worker", File: gone, Text: evidence.NeverCollected}}
	f.checks[1].Findings = nil
	page := f.refusal()
	f.linksHold(page)
	says(t, page,
		"\n\n> **Recorded elsewhere.** No run of this program made this evidence. It was recorded on 2026-11-28 at 15:04:00 UTC on a cluster of three, and imported by the map `by-hand`",
		"| worker | mode it answers with | (empty) | `worker/proxyMode.txt` |", "| Map | `by-hand` |",
		"NOT 0001-01-01", "NOT | Revision |", "NOT was installed",
	)
	index := string(Index([]IndexEntry{{Run: f.run, Evidence: f.e, Checks: f.checks, Dir: "calico-wrong-pool/by-hand"}}))
	says(t, index,
		"| [calico-ebpf, recorded](calico-wrong-pool/by-hand/README.md) |", "| all 2 checks passed | 2026-11-28 |\n", "NOT 0001-01-01",
	)
}
