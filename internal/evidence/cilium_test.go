package evidence

import (
	"net/netip"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/cilium"
)

// loadCilium reads the part of a run that testdata has of Cilium.
func loadCilium(t *testing.T, change func(fstest.MapFS)) collect.Evidence {
	t.Helper()
	raw, s, x := load(t, "cilium")
	s.Spec.DataPlane.Cilium = &spec.Cilium{Version: "1.20.2"}
	change(raw)
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestCiliumMode(t *testing.T) {
	e := loadCilium(t, func(fstest.MapFS) {})
	type said struct{ value, quote string }
	get := func(o collect.Observation) said { return said{o.Value, o.Ref.Line.Text} }
	for _, test := range []struct {
		name string
		got  collect.Observation
		want said
		file string
	}{
		{"ConfigMap of kube-proxy", e.Mode.Declared, said{collect.Absent, `Error from server (NotFound): configmaps "kube-proxy" not found`}, ConfigMapFile},
		{"DaemonSet of kube-proxy", e.Mode.KubeProxy, said{collect.Absent, `Error from server (NotFound): daemonsets.apps "kube-proxy" not found`}, DaemonSetFile},
		{"ConfigMap of Cilium", e.Mode.Agent, said{"true", `kube-proxy-replacement: "true"`}, CiliumConfigFile},
	} {
		if get(test.got) != test.want || test.got.Ref.File != test.file {
			t.Errorf("%s: %+v", test.name, test.got)
		}
	}
	for _, n := range e.Mode.Nodes {
		if n.Log.Value != collect.Absent || n.Version.Value != "1.20.2" || n.Version.Ref.File != n.Node+"/"+cilium.VersionFile {
			t.Errorf("%s: log %+v, version %+v", n.Node, n.Log, n.Version)
		}
		a := *n.Agent
		for _, o := range []struct {
			got  collect.Observation
			want string
		}{
			{a.KubeProxyReplacement, "True"}, {a.SocketLB, collect.Enabled}, {a.AttachMode, "tcx"}, {a.Version, "1.20.2"}, {a.State, "Ok"},
		} {
			if o.got.Value != o.want || o.got.Ref.Line.Text == "" || o.got.Ref.File != n.Node+"/"+cilium.StatusFile {
				t.Errorf("%s: %+v, want %s", n.Node, o.got, o.want)
			}
		}
	}
}

func TestCiliumHealth(t *testing.T) {
	const file = "worker/" + cilium.HealthFile
	node := func(name, status string) string {
		paths := `{"primary-address":{"icmp":{"status":"` + status + `"},"http":{}}}`
		return `{"name":"` + name + `","host":` + paths + `,"health-endpoint":` + paths + `}`
	}
	tests := []struct {
		name    string
		answer  string
		outcome collect.Outcome
		want    string
		quote   string
		all     bool
	}{
		{"all", `{"nodes":[` + node("a", "") + `,` + node("b", "") + `]}`, collect.Captured, "2/2 reachable", "2/2 reachable", true},
		{"one is not", `{"nodes":[` + node("a", "") + `,` + node("b", "timeout") + `]}`, collect.Captured, "1/2 reachable", "1/2 reachable, not b", false},
		{"before the first round", `{"nodes":[]}`, collect.Captured, "0/0 reachable", "0/0 reachable", false},
		{"switched off", "", collect.NotThere, collect.Absent, "Permission denied", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := loadCilium(t, func(raw fstest.MapFS) {
				record(raw, file, test.answer)
				index(raw, file, test.outcome)
			})
			got := e.Mode.Nodes[1].Agent.Health
			if got.Value != test.want || got.Ref.Line.Text != test.quote || AllReachable(got) != test.all {
				t.Errorf("%+v, all reachable %t", got, AllReachable(got))
			}
		})
	}
}

// record adds what a command printed.
func record(raw fstest.MapFS, file, text string) {
	raw[file] = &fstest.MapFile{Data: []byte(text)}
	entries := strings.TrimSuffix(strings.TrimSpace(string(raw[IndexFile].Data)), "]")
	raw[IndexFile].Data = []byte(entries + `, {"node":"` + path.Dir(file) + `","file":"` + file + `","outcome":"captured"}]`)
}

// TestCiliumState: each node has the maps and the agent's list, and Cilium's own
// record of the connections that came in from outside.
func TestCiliumState(t *testing.T) {
	e := loadCilium(t, func(fstest.MapFS) {})
	address := netip.MustParseAddrPort
	host := []netip.Addr{netip.MustParseAddr("172.18.0.1")}
	for i, nodePort := range []string{"172.18.0.4:30081", "172.18.0.3:30081", "172.18.0.2:30081"} {
		state := e.Kernel[i]
		maps, list := state.Table(cilium.Encoding), state.Table(cilium.AgentEncoding)
		if maps == nil || list == nil || maps.File != state.Node+"/"+cilium.LBFile || list.File != state.Node+"/"+cilium.ServicesFile {
			t.Fatalf("%s: tables %+v", state.Node, state.Tables)
		}
		// The map has the NodePort twice: for sockets and at the node's address.
		if n := len(e.Objects.Expected.Frontends); len(maps.Frontends) != n+1 || len(list.Frontends) != n || n == 0 {
			t.Errorf("%s: %d and %d frontends, %d expected", state.Node, len(maps.Frontends), len(list.Frontends), n)
		}
		if len(maps.Unparsed)+len(list.Unparsed) > 0 {
			t.Errorf("%s: not understood: %v %v", state.Node, maps.Unparsed, list.Unparsed)
		}
		connections := 0
		for _, got := range state.Translations {
			connections += got.Count
			known := got.Backend == address("10.245.1.86:8080") || got.Backend == address("10.245.2.76:8080")
			if got.Tracker != collect.TrackedByCilium || got.Destination != address(nodePort) || !known ||
				!slices.Equal(got.Sources, host) || !strings.HasPrefix(got.Ref.Line.Text, "TCP SVC 172.18.0.1:") {
				t.Errorf("%s: %+v", state.Node, got)
			}
		}
		if len(state.Translations) != 2 || connections != 12 {
			t.Errorf("%s: %d connections to %d backends, want 12 to 2", state.Node, connections, len(state.Translations))
		}
		if len(state.IptablesRules) > 0 {
			t.Errorf("%s: rules of kubelet and Cilium pass for Services: %+v", state.Node, state.IptablesRules)
		}
	}
}

// TestCiliumUnasked: without Cilium in the scenario its files are not missed,
// and with it each one is.
func TestCiliumUnasked(t *testing.T) {
	missed := func(e collect.Evidence) []string {
		var files []string
		for _, p := range e.Problems {
			if p.Node == "worker" && strings.HasPrefix(path.Base(p.File), "cilium-") || p.File == CiliumConfigFile {
				files = append(files, path.Base(p.File))
			}
		}
		slices.Sort(files)
		return slices.Compact(files)
	}
	raw, s, x := load(t, "iptables")
	without, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	s.Spec.DataPlane.Cilium = &spec.Cilium{}
	with, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{path.Base(CiliumConfigFile)}
	for _, c := range cilium.Commands("", "") {
		want = append(want, c.File)
	}
	slices.Sort(want)
	if got := missed(without); got != nil {
		t.Errorf("missed without Cilium: %q", got)
	}
	if got := missed(with); !slices.Equal(got, want) {
		t.Errorf("missed with Cilium: %q, want %q", got, want)
	}
}

// TestCiliumUnusable: what cannot be read says nothing.
func TestCiliumUnusable(t *testing.T) {
	tests := []struct {
		name, file, text string
		check            func(e collect.Evidence) bool
	}{
		{"no status", "worker/" + cilium.StatusFile, "[]", func(e collect.Evidence) bool {
			a := e.Mode.Nodes[1].Agent
			return a.KubeProxyReplacement.Value == "" && a.SocketLB.Value == "" && e.Kernel[1].Table(cilium.Encoding) == nil
		}},
		{"a status that does not say", "worker/" + cilium.StatusFile, "{}", func(e collect.Evidence) bool {
			return e.Mode.Nodes[1].Agent.SocketLB.Value == ""
		}},
		{"no maps", "worker/" + cilium.LBFile, "null", func(e collect.Evidence) bool {
			return e.Kernel[1].Table(cilium.Encoding) == nil && len(e.Kernel[1].Translations) == 0
		}},
		{"no list", "worker/" + cilium.ServicesFile, "{}", func(e collect.Evidence) bool { return e.Kernel[1].Table(cilium.AgentEncoding) == nil }},
		{"no tracked connections", "worker/" + cilium.ConntrackFile, "Unable to open map\n", func(e collect.Evidence) bool { return len(e.Kernel[1].Translations) == 0 }},
		{"no version", "worker/" + cilium.VersionFile, `{"Client":{"Version":"1.20.2"}}`, func(e collect.Evidence) bool { return e.Mode.Nodes[1].Version.Value == "" }},
		{"a ConfigMap without the key", CiliumConfigFile, `{"data":{}}`, func(e collect.Evidence) bool { return e.Mode.Agent.Value == "" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := loadCilium(t, func(raw fstest.MapFS) { raw[test.file].Data = []byte(test.text) })
			named := slices.ContainsFunc(e.Problems, func(p collect.Problem) bool { return p.File == test.file })
			if !test.check(e) || !named && test.text != "{}" {
				t.Errorf("problems %+v", e.Problems)
			}
		})
	}
}
