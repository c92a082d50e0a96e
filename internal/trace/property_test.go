package trace_test

import (
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/check"
	"service-dataplane/internal/evidence"
	"service-dataplane/internal/host"
	"service-dataplane/internal/lab"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/internal/trace"
	"service-dataplane/internal/tracetest"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
)

// outside is a client that no cluster has.
var outside = netip.MustParseAddr("198.51.100.77")

// TestEveryFrontend walks to every frontend of every node of every result and
// compares with the service table, which is decoded from the same files by other
// code.
func TestEveryFrontend(t *testing.T) {
	runs, err := filepath.Glob("../../results/service-path/*/" + results.RunFile)
	if err != nil || len(runs) == 0 {
		t.Fatal("no results", err)
	}
	for _, file := range runs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			raw, e := decode(t, dir)
			if n := everyFrontend(t, raw, e); n < 30 {
				t.Errorf("only %d connections were compared", n)
			}
		})
	}
}

// TestEveryFrontendRecordedOfCalico is TestEveryFrontend for what was recorded of
// Calico on a cluster that this runner did not make.
func TestEveryFrontendRecordedOfCalico(t *testing.T) {
	raw, e := decode(t, importCalico(t))
	if n := everyFrontend(t, raw, e); n < 30 {
		t.Errorf("only %d connections were compared", n)
	}
}

// importCalico makes a result of it.
func importCalico(t *testing.T) string {
	t.Helper()
	const file = "../lab/testdata/import/calico-ebpf-recorded.yaml"
	lock, err := spec.LoadLock("../../charts/lock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := spec.LoadScenarios("../../scenarios/calico-ebpf.yaml", spec.Known{Features: host.Known(), Charts: lock})
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := spec.LoadExperiment("../../experiments/service-path.yaml", check.IDs())
	if err != nil {
		t.Fatal(err)
	}
	recorded := os.DirFS(strings.TrimSuffix(file, ".yaml"))
	wanted, err := spec.LoadImport(file, spec.ImportKnown{
		Scenarios: []string{scenarios[0].Metadata.Name}, Experiments: []string{experiment.Metadata.Name}, Recorded: recorded,
	})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := lab.Import(lab.ImportOptions{
		File: file, Map: wanted, Recorded: recorded, Scenario: scenarios[0], Experiment: experiment, ResultsDir: t.TempDir(),
	}, progress.New(io.Discard, false))
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Dir
}

func decode(t *testing.T, dir string) (trace.Files, collect.Evidence) {
	t.Helper()
	run, err := results.ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	raw := os.DirFS(filepath.Join(dir, results.RawDir))
	e, err := evidence.Decode(raw, run.Scenario, run.Experiment)
	if err != nil {
		t.Fatal(err)
	}
	files, err := evidence.OpenOutputs(raw)
	if err != nil {
		t.Fatal(err)
	}
	return files, e
}

// everyFrontend compares all that the tables of the evidence hold and says how many
// connections that were.
func everyFrontend(t *testing.T, raw trace.Files, e collect.Evidence) (compared int) {
	t.Helper()
	for i, state := range e.Kernel {
		node := e.Nodes[i]
		for _, table := range state.Tables {
			if table.Encoding == cilium.AgentEncoding {
				continue
			}
			for _, f := range table.Frontends {
				for _, from := range clients(node, f, e) {
					r := trace.Request{Node: node.Role, From: from.String(), To: dialled(node, table.Encoding, f, e), Encoding: table.Encoding}
					got, err := trace.Walk(raw, e, r)
					if err != nil {
						t.Errorf("%+v: %v", r, err)
						continue
					}
					compare(t, r, got.Trace, f, replaces(e, node.Role))
					compared++
				}
			}
		}
	}
	return compared
}

// clients are one of each origin: the node, somebody outside, and a pod on the node
// that is no backend, where there is one.
func clients(node collect.Node, f collect.Frontend, e collect.Evidence) []netip.Addr {
	all := []netip.Addr{node.InternalIP, outside}
	for _, p := range e.Objects.Pods {
		backend := slices.ContainsFunc(f.Backends, func(b collect.Backend) bool { return b.Address == p.Address })
		if p.Node == node.Role && !backend {
			return append(all, p.Address)
		}
	}
	return all
}

// dialled is an address of the frontend: for a node port of any address, the node's
// own or, in the maps of eBPF, whose row of any address is for them, another one's.
func dialled(node collect.Node, encoding string, f collect.Frontend, e collect.Evidence) string {
	at := f.Address
	if !at.IsValid() {
		at = node.InternalIP
		for _, n := range e.Nodes {
			if (encoding == cilium.Encoding || encoding == calico.Encoding) && n.Role != node.Role {
				at = n.InternalIP
			}
		}
	}
	return netip.AddrPortFrom(at, f.Port).String() + "/" + strings.ToLower(f.Protocol)
}

// replaces says whether Cilium replaces kube-proxy on the node.
func replaces(e collect.Evidence, role string) bool {
	for _, n := range e.Mode.Nodes {
		if n.Node == role && n.Agent != nil {
			return n.Agent.KubeProxyReplacement.Value == "True"
		}
	}
	return false
}

// compare wants the trace to end where the table says, and to mark whom it says.
func compare(t *testing.T, r trace.Request, got collect.Trace, f collect.Frontend, replaced bool) {
	t.Helper()
	if fate := withoutBackend(got.Packet, got.Encoding, f, replaced); fate != "" {
		if len(got.Endings) != 1 || got.Endings[0].Fate != fate || got.Endings[0].Probability.Compare(collect.Whole()) != 0 {
			t.Errorf("%+v: backends %v, endings %v, want all %s", r, got.Backends, got.Endings, fate)
		}
		return
	}
	if got.Encoding == calico.Encoding && got.Packet.Origin == collect.FromOutside && !f.Address.IsValid() {
		// What another node sends on gets the backends of this node.
		for _, b := range got.Backends {
			if !slices.ContainsFunc(f.Backends, func(of collect.Backend) bool { return of.Address == b.Backend.Addr() }) {
				t.Errorf("%+v: %s is not a backend of the frontend", r, b.Backend)
			}
		}
		return
	}
	for _, difference := range tracetest.Compare(got, f) {
		t.Errorf("%s: %s", r.Node, difference)
	}
}

// withoutBackend is what becomes of connections that a frontend of the maps of eBPF
// is not for, "" for all others: who enters is not in the service table.
func withoutBackend(p collect.Packet, encoding string, f collect.Frontend, replaced bool) collect.Fate {
	fromOutside := p.Origin == collect.FromOutside
	switch {
	case encoding == cilium.Encoding && !replaced && p.Origin != collect.FromPod:
		return collect.Untranslated
	case encoding == cilium.Encoding && fromOutside && f.Kind == collect.ClusterIP:
		return collect.Dropped
	case encoding == cilium.Encoding && fromOutside && !f.Address.IsValid():
		return collect.Untranslated
	}
	return ""
}
