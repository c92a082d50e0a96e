package evidence

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"service-dataplane/pkg/collect"
)

// TestAbsent: that something is not there is an answer and no problem, where
// that was asked for.
func TestAbsent(t *testing.T) {
	// withoutProxy leaves a cluster in which kube-proxy never was.
	withoutProxy := func(raw fstest.MapFS) {
		raw[PodsFile].Data = []byte(strings.ReplaceAll(string(raw[PodsFile].Data), `"k8s-app":"kube-proxy"`, `"k8s-app":"other"`))
		index(raw, ConfigMapFile, collect.NotThere)
		index(raw, DaemonSetFile, collect.NotThere)
		for _, node := range []string{"control-plane", "worker", "worker2"} {
			index(raw, node+"/"+ProxyModeFile, collect.NotThere)
			index(raw, node+"/"+LogFile, "")
			file := raw[node+"/"+ProcessesFile]
			file.Data = []byte(strings.ReplaceAll(string(file.Data), " kube-proxy ", " other      "))
		}
	}
	raw, s, x := load(t, "iptables")
	withoutProxy(raw)
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Problems) > 0 {
		t.Errorf("problems: %+v", e.Problems)
	}
	all := []collect.Observation{e.Mode.Declared, e.Mode.KubeProxy}
	for _, n := range e.Mode.Nodes {
		all = append(all, n.ProxyMode, n.Log, n.Process, n.Version)
	}
	for _, got := range all {
		if got.Value != collect.Absent || got.Ref.Line.Text == "" {
			t.Errorf("%s: %q, quoting %q", got.Ref.File, got.Value, got.Ref.Line.Text)
		}
	}
	if log := e.Mode.Nodes[1].Log; log.Ref.File != PodsFile {
		t.Errorf("that there is no log is read from %s", log.Ref.File)
	}
	if want := "Permission denied"; e.Mode.Declared.Ref.Line.Text != want {
		t.Errorf("quoted is %q, want what the command said: %q", e.Mode.Declared.Ref.Line.Text, want)
	}
}

// TestNotProvenAbsent: without the list of pods nothing says that a node's log
// could not have been there.
func TestNotProvenAbsent(t *testing.T) {
	raw, s, x := load(t, "iptables")
	index(raw, PodsFile, collect.Failed)
	index(raw, "worker/"+LogFile, "")
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Mode.Nodes[1]; got.Log.Value != "" || got.Version.Value != "" {
		t.Errorf("log %+v, version %+v", got.Log, got.Version)
	}
	if !slices.ContainsFunc(e.Problems, func(p collect.Problem) bool { return p.File == "worker/"+LogFile }) {
		t.Errorf("problems: %+v", e.Problems)
	}
}

func TestMode(t *testing.T) {
	raw, s, x := load(t, "nftables")
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	if m := e.Mode; m.Declared.Value != "nftables" || m.KubeProxy.Value != collect.Present || m.Agent.Value != "" ||
		m.KubeProxy.Ref.Line.Text != "desiredNumberScheduled: 3" {
		t.Errorf("mode %+v", m)
	}
	for _, n := range e.Mode.Nodes {
		if n.Process.Value != collect.Running || !strings.Contains(n.Process.Ref.Line.Text, "--hostname-override=") || n.Process.Ref.Line.Number < 2 {
			t.Errorf("process %+v", n.Process)
		}
		if !strings.HasPrefix(n.Version.Value, "registry.k8s.io/kube-proxy:v1.35.0 (sha256:") || n.Agent != nil {
			t.Errorf("version %+v, agent %+v", n.Version, n.Agent)
		}
	}
}

// TestProcess gives the output of ps -eo pid,comm,args.
func TestProcess(t *testing.T) {
	const header = "  PID COMMAND         COMMAND\n"
	tests := []struct {
		name, ps string
		want     string
		line     int
		problem  string
	}{
		{"running", header + "    1 systemd         /sbin/init\n  412 kube-proxy      /usr/local/bin/kube-proxy --config=x\n", collect.Running, 3, ""},
		{"another that names it", header + "    1 systemd         /sbin/init\n  412 grep            grep kube-proxy\n", collect.Absent, 0, ""},
		{"another of a longer name", header + "    1 kube-proxy-watc kube-proxy-watcher\n", collect.Absent, 0, ""},
		{"no processes", header, "", 0, "lists no process"},
		{"nothing", "", "", 0, "lists no process"},
		{"another command's output", "USER PID\nroot 1 kube-proxy\n", "", 0, "not the header"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := &source{
				raw: fstest.MapFS{"worker/p": {Data: []byte(test.ps)}}, unusable: map[string]bool{},
				records: map[string]collect.Record{"worker/p": {Outcome: collect.Captured}},
			}
			got := s.process("worker/p")
			if got.Value != test.want || got.Ref.Line.Number != test.line {
				t.Errorf("%+v, want %q in line %d", got, test.want, test.line)
			}
			if (test.problem == "") != (len(s.problems) == 0) || test.problem != "" && !strings.Contains(s.problems[0].Text, test.problem) {
				t.Errorf("problems %+v, want %q", s.problems, test.problem)
			}
		})
	}
}

// TestProxyPod: while a pod is replaced a node has two.
func TestProxyPod(t *testing.T) {
	pod := func(name, app, node string, leaving bool) corev1.Pod {
		p := corev1.Pod{Spec: corev1.PodSpec{NodeName: node}}
		p.Name, p.Namespace, p.Labels = name, "kube-system", map[string]string{"k8s-app": app}
		if leaving {
			p.DeletionTimestamp = &metav1.Time{}
		}
		return p
	}
	tests := []struct {
		name string
		pods []corev1.Pod
		want string
	}{
		{"one", []corev1.Pod{pod("dns", "kube-dns", "c-worker", false), pod("a", "kube-proxy", "c-worker", false)}, "a"},
		{"one leaves", []corev1.Pod{pod("a", "kube-proxy", "c-worker", true), pod("b", "kube-proxy", "c-worker", false)}, "b"},
		{"the last one leaves", []corev1.Pod{pod("a", "kube-proxy", "c-worker", true)}, "a"},
		{"another node's", []corev1.Pod{pod("a", "kube-proxy", "c-worker2", false)}, ""},
		{"none", nil, ""},
	}
	for _, test := range tests {
		got := ""
		if p := proxyPod(test.pods, "worker"); p != nil {
			got = p.Name
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// FuzzProcess: whatever is listed, there is an answer or a problem, not both.
func FuzzProcess(f *testing.F) {
	f.Add([]byte("  PID COMMAND         COMMAND\n    1 systemd         /sbin/init\n"))
	f.Add([]byte("PID COMMAND\n1\n\n"))
	f.Fuzz(func(t *testing.T, ps []byte) {
		s := &source{
			raw: fstest.MapFS{"worker/p": {Data: ps}}, unusable: map[string]bool{},
			records: map[string]collect.Record{"worker/p": {Outcome: collect.Captured}},
		}
		if got := s.process("worker/p"); (got.Value == "") != (len(s.problems) == 1) {
			t.Errorf("%+v with problems %+v", got, s.problems)
		}
	})
}

// TestIPVSMode reads what the log and the ConfigMap say of mode ipvs.
func TestIPVSMode(t *testing.T) {
	const (
		using      = `I1130 01:18:49.511198       1 server_linux.go:193] "Using ipvs Proxier"` + "\n"
		deprecated = `E1130 01:18:49.511231       1 server_linux.go:195] "The ipvs proxier is now deprecated and may be removed in a future release. Please use 'nftables' instead."` + "\n"
		byDefault  = `I1130 01:18:49.512215       1 proxier.go:353] "IPVS scheduler not specified, use rr by default" ipFamily="IPv4"` + "\n"
	)
	tests := []struct {
		name, log, config string
		scheduler, quoted string
		notes             []string
	}{
		{
			name: "no scheduler", log: "starting\n" + using + deprecated + byDefault, config: `mode: ipvs\nipvs:\n  scheduler: \"\"`,
			quoted: `ipvs.scheduler: ""`,
			notes:  []string{"3 The ipvs proxier is now deprecated", "4 IPVS scheduler not specified, use rr by default"},
		},
		{
			name: "a scheduler", log: using + deprecated, config: `mode: ipvs\nipvs:\n  scheduler: lc`,
			scheduler: "lc", quoted: `ipvs.scheduler: "lc"`, notes: []string{"2 The ipvs proxier is now deprecated"},
		},
		{name: "the last start counts", log: using + byDefault + using + deprecated, config: `mode: ipvs`, quoted: `ipvs.scheduler: ""`, notes: []string{"4 The ipvs proxier is now deprecated"}},
		{name: "another mode", log: "Using iptables Proxier\n", config: `mode: iptables\nipvs:\n  scheduler: lc`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw, s, x := load(t, "iptables")
			raw["worker/"+LogFile].Data = []byte(test.log)
			raw[ConfigMapFile].Data = []byte(`{"data":{"config.conf":"kind: KubeProxyConfiguration\n` + test.config + `\n"}}`)
			e, err := Decode(raw, s, x)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Mode.Scheduler; got.Value != test.scheduler || got.Ref.Line.Text != test.quoted {
				t.Errorf("scheduler %q, quoting %q; want %q, %q", got.Value, got.Ref.Line.Text, test.scheduler, test.quoted)
			}
			var notes []string
			for _, n := range e.Mode.Nodes[1].Notes {
				notes = append(notes, fmt.Sprintf("%d %s", n.Ref.Line.Number, n.Value))
			}
			if !slices.Equal(notes, test.notes) {
				t.Errorf("notes %q, want %q", notes, test.notes)
			}
		})
	}
}
