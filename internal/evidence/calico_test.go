package evidence

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
)

// calicoRun is the run of an experiment on the scenario calico-ebpf, as results/ has
// it.
func calicoRun(t *testing.T, experiment string) (fstest.MapFS, spec.Scenario, spec.Experiment) {
	t.Helper()
	s := spec.Scenario{Metadata: spec.Metadata{Name: "calico-ebpf"}}
	s.Spec.Cluster.KubeProxyMode = "iptables"
	s.Spec.DataPlane.Calico = &spec.Calico{Version: "v3.31.7"}
	s.Spec.Expect = spec.Expectation{
		Mode: "calico", Encoding: "calico", Selection: "random",
		Source:      spec.Source{ClusterIP: spec.SourceClient, NodePort: spec.SourceClient},
		Translation: spec.Translation{ClusterIP: spec.TranslatedAtSocket, NodePort: spec.TranslatedAtSocket, Peername: spec.PeernameBackend},
	}
	x, err := spec.LoadExperiment("../../experiments/"+experiment+".yaml", nil)
	if x.Metadata.Name == "" { // its checks are not known here, which is an error
		t.Fatal(err)
	}
	return filesOf(t, "../../results/"+experiment+"/calico-ebpf/raw"), s, x
}

// loadCalico decodes a changed copy of such a run.
func loadCalico(t *testing.T, experiment string, change func(fstest.MapFS)) collect.Evidence {
	t.Helper()
	raw, s, x := calicoRun(t, experiment)
	change(raw)
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// calicoSource reads the one file that a command printed.
func calicoSource(file, text string) *source {
	return &source{
		raw: fstest.MapFS{file: {Data: []byte(text)}}, unusable: map[string]bool{}, operator: true, calico: true,
		records: map[string]collect.Record{file: {Node: path.Dir(file), File: file, Outcome: collect.Captured}},
	}
}

// problemOf is what is wrong with a file, "" if nothing is.
func problemOf(problems []collect.Problem, file string) string {
	for _, p := range problems {
		if p.File == file {
			return p.Text
		}
	}
	return ""
}

func TestCalicoMode(t *testing.T) {
	e := loadCalico(t, "service-path", func(fstest.MapFS) {})
	for _, p := range e.Problems {
		t.Errorf("%s: %s", p.File, p.Text)
	}
	c := e.Mode.Calico
	if c == nil {
		t.Fatal("the objects of Calico were not read")
	}
	for _, test := range []struct {
		name               string
		got                collect.Observation
		want, quote, where string
	}{
		{"ConfigMap of kube-proxy", e.Mode.Declared, "iptables", "mode: iptables", ConfigMapFile},
		{"DaemonSet of kube-proxy", e.Mode.KubeProxy, collect.Present, "desiredNumberScheduled: 0", DaemonSetFile},
		{"data plane", c.Dataplane, "BPF", `spec.calicoNetwork.linuxDataplane: "BPF"`, InstallationFile},
		{"bootstrap", c.Bootstrap, "Enabled", `spec.calicoNetwork.bpfNetworkBootstrap: "Enabled"`, InstallationFile},
		{"management of kube-proxy", c.KubeProxyManagement, "Enabled", `spec.calicoNetwork.kubeProxyManagement: "Enabled"`, InstallationFile},
		{"version", c.Version, "v3.31.7", `status.calicoVersion: "v3.31.7"`, InstallationFile},
		{"eBPF", c.BPF, collect.Enabled, "spec.bpfEnabled: true", FelixFile},
		{"connect()", c.ConnectTime, "TCP", `spec.bpfConnectTimeLoadBalancing: "TCP"`, FelixFile},
		{"reports", c.UsageReporting, collect.Disabled, "spec.usageReportingEnabled: false", FelixFile},
		{"nodes of kube-proxy", c.ProxyNodes, "0", "desiredNumberScheduled: 0", DaemonSetFile},
		{"selector of kube-proxy", c.ProxySelector, collect.Present, "nodeSelector: map[kubernetes.io/os:linux operator.tigera.io/disable-kube-proxy:true]", DaemonSetFile},
	} {
		if test.got.Value != test.want || test.got.Ref.Line.Text != test.quote || test.got.Ref.File != test.where {
			t.Errorf("%s: %+v, want %q, quoting %s: %s", test.name, test.got, test.want, test.where, test.quote)
		}
	}
	var components []string
	for _, c := range c.Components {
		components = append(components, c.Name+" "+c.State.Value)
		if want := c.Name + " Available=True AllObjectsAvailable: All objects available"; c.State.Ref.Line.Text != want || c.State.Ref.File != TigeraStatusFile {
			t.Errorf("%s: %+v, want %q", c.Name, c.State.Ref, want)
		}
	}
	if want := []string{"calico available", "ippools available", "kubeproxy-monitor available"}; !slices.Equal(components, want) {
		t.Errorf("components %q, want %q", components, want)
	}
	for _, n := range e.Mode.Nodes {
		if n.ProxyMode.Value != collect.Absent || n.Process.Value != collect.Absent || n.Log.Value != collect.Absent || n.Agent != nil {
			t.Errorf("%s: mode %+v, process %+v, log %+v, agent %+v", n.Node, n.ProxyMode, n.Process, n.Log, n.Agent)
		}
		hooks := "calico_connect_v4 at cgroup_inet4_connect, calico_connect_v46 at cgroup_inet6_connect"
		if n.Hooks.Value != hooks || n.Hooks.Ref.File != n.Node+"/"+calico.CgroupFile || !strings.Contains(n.Hooks.Ref.Line.Text, `"name":"calico_connect_v4"`) {
			t.Errorf("%s: hooks %+v, want %s", n.Node, n.Hooks, hooks)
		}
		if n.Version.Value != "v3.31.7" || n.Version.Ref.File != n.Node+"/"+calico.VersionFile || n.Version.Ref.Line != (collect.Line{Number: 1, Text: "Version:      v3.31.7"}) {
			t.Errorf("%s: version %+v", n.Node, n.Version)
		}
	}
}

// TestCalicoNotAsked: without Calico in the scenario its files are not missed, and
// with it each one is.
func TestCalicoNotAsked(t *testing.T) {
	missed := func(e collect.Evidence) []string {
		var files []string
		for _, p := range e.Problems {
			if p.Node != "worker" && p.Node != "worker2" {
				files = append(files, p.File)
			}
		}
		slices.Sort(files)
		return files
	}
	raw, s, x := load(t, "iptables")
	without, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	s.Spec.DataPlane.Calico = &spec.Calico{}
	with, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	s.Spec.Expect.Mode = "calico" // whose version is of interest now
	instead, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{FelixFile, InstallationFile, TigeraStatusFile}
	for _, c := range calico.Commands("") {
		if c.File != calico.VersionFile {
			want = append(want, "control-plane/"+c.File)
		}
	}
	slices.Sort(want)
	if got := missed(without); got != nil || without.Mode.Calico != nil || without.Mode.Nodes[1].Hooks.Ref.File != "" {
		t.Errorf("missed without Calico: %q; %+v", got, without.Mode)
	}
	if got := missed(with); !slices.Equal(got, want) {
		t.Errorf("missed with Calico beside kube-proxy: %q, want %q", got, want)
	}
	if v := with.Mode.Nodes[1].Version.Value; !strings.Contains(v, "kube-proxy:v1.35.0") {
		t.Errorf("the version is %q, want that of kube-proxy, which implements Services", v)
	}
	want = append(want, "control-plane/"+calico.VersionFile)
	slices.Sort(want)
	if got := missed(instead); !slices.Equal(got, want) {
		t.Errorf("missed with Calico in kube-proxy's place: %q, want %q", got, want)
	}
}

func TestComponents(t *testing.T) {
	component := func(name string, conditions ...string) string {
		return `{"kind":"TigeraStatus","metadata":{"name":"` + name + `"},"status":{"conditions":[` + strings.Join(conditions, ",") + `]}}`
	}
	condition := func(kind, status string) string {
		return `{"type":"` + kind + `","status":"` + status + `","reason":"R","message":"M"}`
	}
	list := func(items ...string) string {
		return `{"kind":"TigeraStatusList","items":[` + strings.Join(items, ",") + `]}`
	}
	tests := []struct {
		name, text string
		want       string // name state "quote", of each
		problem    string
	}{
		{"none yet", list(), "", ""},
		{"null", `{"kind":"List","items":null}`, "", ""},
		{"available", list(component("a", condition("Degraded", "False"), condition("Available", "True"), condition("Progressing", "False"))), `a available "a Available=True R: M"`, ""},
		{"progressing", list(component("a", condition("Progressing", "True"))), `a progressing "a Progressing=True R: M"`, ""},
		{"available and progressing", list(component("a", condition("Available", "True"), condition("Progressing", "True"))), `a progressing "a Progressing=True R: M"`, ""},
		{"all at once", list(component("a", condition("Available", "True"), condition("Progressing", "True"), condition("Degraded", "True"))), `a degraded "a Degraded=True R: M"`, ""},
		{"nothing holds", list(component("a", condition("Available", "False"), condition("Progressing", "Unknown"), condition("Degraded", "False"))), `a unknown ""`, ""},
		{"no conditions", list(component("a")), `a unknown ""`, ""},
		{"a condition of another type", list(component("a", condition("Ready", "True"))), `a unknown ""`, ""},
		{"in order of their names", list(component("b", condition("Available", "True")), component("a", condition("Degraded", "True"))), `a degraded "a Degraded=True R: M"; b available "b Available=True R: M"`, ""},
		{"another kind", `{"kind":"Status","reason":"NotFound"}`, "", `the object's kind is "Status"`},
		{"one without a name", list(`{"status":{}}`), "", "no name"},
		{"no JSON", "Error from server", "", "List: "},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			s := calicoSource(TigeraStatusFile, test.text)
			var got []string
			for _, c := range s.components() {
				got = append(got, fmt.Sprintf("%s %s %q", c.Name, c.State.Value, c.State.Ref.Line.Text))
				if c.State.Ref.File != TigeraStatusFile {
					t.Errorf("%s is read from %q", c.Name, c.State.Ref.File)
				}
			}
			if strings.Join(got, "; ") != test.want {
				t.Errorf("got %s, want %s", strings.Join(got, "; "), test.want)
			}
			if said := problemOf(s.problems, TigeraStatusFile); !strings.Contains(said, test.problem) || (said == "") != (test.problem == "") {
				t.Errorf("problem %q, want %q", said, test.problem)
			}
		})
	}
}

// TestFelixDefaults: what the FelixConfiguration leaves out has Felix' own default,
// and what cannot be read has no value.
func TestFelixDefaults(t *testing.T) {
	for _, test := range []struct {
		name, text              string
		bpf, reporting, connect string
	}{
		{"empty", `{"kind":"FelixConfiguration","spec":{}}`, collect.Disabled, collect.Enabled, "TCP"},
		{"no spec", `{"kind":"FelixConfiguration"}`, collect.Disabled, collect.Enabled, "TCP"},
		{"all said", `{"kind":"FelixConfiguration","spec":{"bpfEnabled":true,"usageReportingEnabled":false,"bpfConnectTimeLoadBalancing":"Disabled"}}`, collect.Enabled, collect.Disabled, "Disabled"},
		{"a text for a truth value", `{"kind":"FelixConfiguration","spec":{"bpfEnabled":"true"}}`, "", "", ""},
		{"another kind", `{"kind":"Installation","spec":{"bpfEnabled":true}}`, "", "", ""},
	} {
		s := calicoSource(FelixFile, test.text)
		m := s.calicoMode()
		if m.BPF.Value != test.bpf || m.UsageReporting.Value != test.reporting || m.ConnectTime.Value != test.connect {
			t.Errorf("%s: eBPF %q, reports %q, connect() %q; want %q, %q, %q", test.name, m.BPF.Value, m.UsageReporting.Value, m.ConnectTime.Value, test.bpf, test.reporting, test.connect)
		}
		if said := problemOf(s.problems, FelixFile); (said == "") != (test.bpf != "") {
			t.Errorf("%s: problem %q", test.name, said)
		}
	}
}

// TestProxyNodes gives the DaemonSet of kube-proxy: what its status counts holds
// only once the controller has seen the last change.
func TestProxyNodes(t *testing.T) {
	object := func(generation, observed string, desired int, selector string) string {
		if observed != "" {
			observed = `,"observedGeneration":` + observed
		}
		return fmt.Sprintf(`{"kind":"DaemonSet","metadata":{"generation":%s},"spec":{"template":{"spec":{"nodeSelector":{%s}}}},"status":{"desiredNumberScheduled":%d%s}}`,
			generation, selector, desired, observed)
	}
	const linux, kept = `"kubernetes.io/os":"linux"`, `"operator.tigera.io/disable-kube-proxy":"true"`
	tests := []struct {
		name, text      string
		nodes, selector string
		quote           string // of nodes
	}{
		{"kept off", object("2", "2", 0, linux+","+kept), "0", collect.Present, "desiredNumberScheduled: 0"},
		{"on every node", object("1", "1", 3, linux), "3", collect.Absent, "desiredNumberScheduled: 3"},
		{"kept off by somebody else", object("5", "5", 0, `"no":"node"`), "0", collect.Absent, "desiredNumberScheduled: 0"},
		{"on its way off", object("2", "2", 2, kept), "2", collect.Present, "desiredNumberScheduled: 2"},
		{"the change is not seen yet", object("2", "1", 3, linux+","+kept), "", collect.Present, "generation: 2, observedGeneration: 1"},
		{"the way back is not seen yet", object("3", "2", 0, linux), "", collect.Absent, "generation: 3, observedGeneration: 2"},
		{"no status yet", object("1", "", 0, kept), "", collect.Present, "generation: 1, observedGeneration: 0"},
		{"nothing of generations at all", object("0", "", 0, ""), "", collect.Absent, "generation: 0, observedGeneration: 0"},
		{"the selector asks for something else", object("2", "2", 3, `"operator.tigera.io/disable-kube-proxy":"false"`), "3", collect.Absent, "desiredNumberScheduled: 3"},
		{"no selector", object("2", "2", 3, ""), "3", collect.Absent, "desiredNumberScheduled: 3"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			s := calicoSource(DaemonSetFile, test.text)
			nodes, selector := s.proxyNodes()
			if nodes.Value != test.nodes || nodes.Ref.Line.Text != test.quote || nodes.Ref.File != DaemonSetFile {
				t.Errorf("nodes %+v, want %q, quoting %q", nodes, test.nodes, test.quote)
			}
			if selector.Value != test.selector || !strings.HasPrefix(selector.Ref.Line.Text, "nodeSelector: map[") || selector.Ref.File != DaemonSetFile {
				t.Errorf("selector %+v, want %q", selector, test.selector)
			}
			if len(s.problems) > 0 {
				t.Errorf("problems %+v", s.problems)
			}
		})
	}
}

// TestProxyNodesUnknown: what is not there is absent, and of what cannot be read
// nothing is known.
func TestProxyNodesUnknown(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(fstest.MapFS)
		want   string
		usable bool
	}{
		{"deleted", func(raw fstest.MapFS) { index(raw, DaemonSetFile, collect.NotThere) }, collect.Absent, true},
		{"not asked for", func(raw fstest.MapFS) { index(raw, DaemonSetFile, "") }, "", false},
		{"not answered", func(raw fstest.MapFS) { index(raw, DaemonSetFile, collect.Failed) }, "", false},
		{"no JSON", func(raw fstest.MapFS) { raw[DaemonSetFile].Data = []byte("Forbidden\n") }, "", false},
		{"another object", func(raw fstest.MapFS) { raw[DaemonSetFile].Data = []byte(`{"kind":"Status","metadata":{}}`) }, "", false},
	} {
		e := loadCalico(t, "service-path", test.change)
		c := e.Mode.Calico
		if c.ProxyNodes.Value != test.want || c.ProxySelector.Value != test.want || c.ProxyNodes.Ref.File != DaemonSetFile {
			t.Errorf("%s: %+v and %+v, want %q", test.name, c.ProxyNodes, c.ProxySelector, test.want)
		}
		if said := problemOf(e.Problems, DaemonSetFile); (said == "") != test.usable {
			t.Errorf("%s: problem %q", test.name, said)
		}
	}
}

func TestCalicoHooks(t *testing.T) {
	const file = "worker/" + calico.CgroupFile
	program := func(id int, at, name string) string {
		return fmt.Sprintf(`{"id":%d,"attach_type":%q,"attach_flags":"multi","name":%q}`, id, at, name)
	}
	v4, v46 := program(7, "cgroup_inet4_connect", "calico_connect_v4"), program(8, "cgroup_inet6_connect", "calico_connect_v46")
	tests := []struct {
		name, text  string
		want, quote string
		problem     string
	}{
		{"both", "[" + v46 + "," + v4 + "]", "calico_connect_v4 at cgroup_inet4_connect, calico_connect_v46 at cgroup_inet6_connect", v46, ""},
		{"none listed", "[]", collect.Absent, "0 programs listed, none of Calico", ""},
		{"null", "null", collect.Absent, "0 programs listed, none of Calico", ""},
		{"of devices, whose number is the open file's", "[" + program(1, "tcx_ingress", "cali_tc_preambl") + "," + program(2, "netkit_primary", "calico_tc_main") + "," + v4 + "]",
			"calico_connect_v4 at cgroup_inet4_connect", v4, ""},
		{"of devices alone", "[" + program(1, "tcx_ingress", "cali_tc_preambl") + "]", collect.Absent, "1 programs listed, none of Calico", ""},
		{"of others", "[" + program(1, "cgroup_inet4_connect", "cil_sock4_connect") + "," + program(2, "cgroup_device", "sd_devices") + "]", collect.Absent, "2 programs listed, none of Calico", ""},
		{"in the words of an old bpftool", "[" + program(3, "connect4", "cali_ctlb_v4") + "]", "cali_ctlb_v4 at connect4", program(3, "connect4", "cali_ctlb_v4"), ""},
		{"bpftool's error", `{"error":"can't get cgroup"}`, "", "", "bpftool: can't get cgroup"},
		{"no JSON", "bpftool: not found\n", "", "", calico.CgroupFile},
		{"a program without a number", `[{"attach_type":"cgroup_inet4_connect","name":"calico_connect_v4"}]`, "", "", "want an id"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			s := calicoSource(file, test.text)
			got := s.calicoHooks("worker")
			if got.Value != test.want || got.Ref.Line.Text != test.quote || got.Ref.File != file {
				t.Errorf("%+v, want %q, quoting %s", got, test.want, test.quote)
			}
			if said := problemOf(s.problems, file); !strings.Contains(said, test.problem) || (said == "") != (test.problem == "") {
				t.Errorf("problem %q, want %q", said, test.problem)
			}
		})
	}
	without := loadCalico(t, "service-path", func(raw fstest.MapFS) { index(raw, file, collect.NotThere) })
	if got := without.Mode.Nodes[1].Hooks; got.Value != collect.Absent || got.Ref.Line.Text != "Permission denied" || len(without.Problems) > 0 {
		t.Errorf("without a bpftool: %+v, problems %+v", got, without.Problems)
	}
	for _, outcome := range []collect.Outcome{collect.Failed, ""} {
		e := loadCalico(t, "service-path", func(raw fstest.MapFS) { index(raw, file, outcome) })
		if got := e.Mode.Nodes[1].Hooks; got.Value != "" || problemOf(e.Problems, file) == "" {
			t.Errorf("outcome %q: %+v, problems %+v", outcome, got, e.Problems)
		}
	}
}

func TestCalicoVersion(t *testing.T) {
	const file = "worker/" + calico.VersionFile
	for _, test := range []struct {
		name, text, want string
		line             int
	}{
		{"one", "Version:      v3.31.7\nBuild date:   2026-11-29\n", "v3.31.7", 1},
		{"not first", "\nBuild date:   2026-11-29\nVersion: v3.30.0", "v3.30.0", 3},
		{"none", "Build date:   2026-11-29\n", "", 0},
		{"empty", "Version:\n", "", 0},
		{"nothing", "", "", 0},
	} {
		s := calicoSource(file, test.text)
		got := s.versionOf(file, calico.DecodeVersion)
		if got.Value != test.want || got.Ref.Line.Number != test.line || got.Ref.File != file {
			t.Errorf("%s: %+v, want %q in line %d", test.name, got, test.want, test.line)
		}
		if said := problemOf(s.problems, file); (said == "") != (test.want != "") {
			t.Errorf("%s: problem %q", test.name, said)
		}
	}
	for _, outcome := range []collect.Outcome{collect.Failed, collect.NotThere, ""} {
		e := loadCalico(t, "service-path", func(raw fstest.MapFS) { index(raw, file, outcome) })
		if got := e.Mode.Nodes[1].Version; got.Value != "" || got.Ref.File != file || problemOf(e.Problems, file) == "" {
			t.Errorf("outcome %q: %+v, problems %+v", outcome, got, e.Problems)
		}
	}
}
