package evidence

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/conntrack"
	"service-dataplane/pkg/collect/ipvs"
)

// TestRefusal: an experiment of a refusal asks for no traffic, no tracked
// connections and nothing of Calico on the nodes, where it never came to run.
func TestRefusal(t *testing.T) {
	const experiment = "calico-wrong-pool"
	e := loadCalico(t, experiment, func(fstest.MapFS) {})
	for _, p := range e.Problems {
		t.Errorf("%s: %s", p.File, p.Text)
	}
	if e.Scenario != "calico-ebpf" || e.Experiment != experiment {
		t.Errorf("%s on %s", e.Experiment, e.Scenario)
	}
	c := e.Mode.Calico
	var components []string
	for _, c := range c.Components {
		components = append(components, c.Name+" "+c.State.Value)
	}
	if want := []string{"calico degraded", "ippools degraded", "kubeproxy-monitor unknown"}; !slices.Equal(components, want) {
		t.Errorf("components %q, want %q", components, want)
	}
	why := c.Components[1].State.Ref
	if want := "IPPool 192.168.0.0/16 is not within the platform's configured pod network CIDR(s) [10.244.0.0/16]"; !strings.HasSuffix(why.Line.Text, want) || why.File != TigeraStatusFile {
		t.Errorf("quoted is %+v, want %s", why, want)
	}
	if c.ProxyNodes.Value != "3" || c.ProxySelector.Value != collect.Absent || c.Version.Value != "" || c.Dataplane.Value != "BPF" || c.BPF.Value != collect.Disabled {
		t.Errorf("Calico's objects are %+v", c)
	}
	for _, n := range e.Mode.Nodes {
		if n.ProxyMode.Value != "iptables" || n.Log.Value != "iptables" || n.Process.Value != collect.Running || !strings.HasPrefix(n.Version.Value, "registry.k8s.io/kube-proxy:v1.35.0") {
			t.Errorf("%s: mode %+v, log %+v, process %+v, version %+v", n.Node, n.ProxyMode, n.Log, n.Process, n.Version)
		}
		if n.Hooks != (collect.Observation{}) || n.Agent != nil {
			t.Errorf("%s: hooks %+v, agent %+v", n.Node, n.Hooks, n.Agent)
		}
	}
	if e.Traffic == nil || len(e.Traffic) > 0 {
		t.Errorf("traffic %+v", e.Traffic)
	}
	for _, state := range e.Kernel {
		if state.Table(calico.Encoding) != nil || state.Table("iptables") == nil || state.Translations == nil || len(state.Translations) > 0 {
			t.Errorf("%s: tables %d, translations %+v", state.Node, len(state.Tables), state.Translations)
		}
	}
}

// TestRefusalAsksLess: the same files, as if they were of an experiment with traffic,
// lack what a refusal does not ask for; and a refusal misses all other files.
func TestRefusalAsksLess(t *testing.T) {
	raw, s, x := calicoRun(t, "calico-wrong-pool")
	_, _, traffic := calicoRun(t, "service-path")
	e, err := Decode(raw, s, traffic)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range traffic.Spec.EntryPoints {
		want = append(want, TrafficFile(p))
	}
	for _, role := range spec.Roles {
		for _, c := range calico.Commands("") {
			want = append(want, role+"/"+c.File)
		}
		want = append(want, append(ConntrackFiles(role), role+"/"+conntrack.StatsFile)...)
	}
	var got []string
	for _, p := range e.Problems {
		got = append(got, p.File)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("missed %q, want %q", got, want)
	}
	for file := range raw {
		if slices.Contains([]string{IndexFile, "operator-1.log", "calico-daemonset.json", ipvs.ConnectionsFile}, path.Base(file)) { // which nothing reads
			continue
		}
		without := maps.Clone(raw)
		without[IndexFile] = &fstest.MapFile{Data: raw[IndexFile].Data}
		index(without, file, "")
		e, err := Decode(without, s, x)
		if err != nil {
			t.Fatal(err)
		}
		if said := problemOf(e.Problems, file); said != NeverCollected {
			t.Errorf("without %s: %q", file, said)
		}
	}
}
