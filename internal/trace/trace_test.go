package trace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/results"
	"service-dataplane/internal/trace"
	"service-dataplane/pkg/collect"
)

// addresses of a result are those of its run.
type addresses struct{ clusterIP, nodePort, otherNodePort string }

func open(t *testing.T, scenario string) (trace.Files, collect.Evidence, addresses) {
	t.Helper()
	raw, e := decode(t, filepath.Join("../../results/service-path", scenario))
	at := addresses{clusterIP: e.Objects.Service.ClusterIP.String() + ":80"}
	for _, n := range e.Nodes {
		switch n.Role {
		case "worker2":
			at.nodePort = n.InternalIP.String() + ":30081"
		case "worker":
			at.otherNodePort = n.InternalIP.String() + ":30081"
		}
	}
	return raw, e, at
}

// TestWalk: which encoding decides for whom.
func TestWalk(t *testing.T) {
	for _, test := range []struct {
		scenario, from string
		to             func(addresses) string
		encoding       string
		passed         int
		fate           collect.Fate // "" for both backends
		marked         collect.Decision
		note           string
	}{
		{"iptables", "client", clusterIP, "iptables", 0, "", collect.No, ""},
		{"iptables", "198.51.100.77", clusterIP, "iptables", 0, "", collect.Yes, ""},
		{"iptables", "service-dataplane/client", nodePort, "iptables", 0, "", collect.Yes, ""},
		{"iptables", "client", otherNodePort, "iptables", 0, collect.Untranslated, collect.No, "trace --node worker."},
		{"nftables", "client", clusterIP, "nftables", 0, "", collect.No, ""},
		{"nftables", "172.18.0.1", nodePort, "nftables", 0, "", collect.Yes, ""},
		{"cilium", "client", clusterIP, "cilium", 0, "", collect.No, ""},
		{"cilium", "client", otherNodePort, "cilium", 0, "", collect.No, ""},
		{"cilium", "172.18.0.1", nodePort, "cilium", 0, "", collect.No, ""},
		{"cilium", "172.18.0.1", clusterIP, "cilium", 0, collect.Dropped, collect.No, ""},
		// Cilium translates what its pods send to a ClusterIP, kube-proxy the rest.
		{"cilium-kube-proxy", "client", clusterIP, "cilium", 0, "", collect.No, ""},
		{"cilium-kube-proxy", "client", nodePort, "iptables", 1, "", collect.Yes, ""},
		{"cilium-kube-proxy", "172.18.0.1", nodePort, "iptables", 1, "", collect.Yes, ""},
		{"calico-ebpf", "client", clusterIP, "calico", 0, "", collect.No, ""},
		{"calico-ebpf", "172.18.0.1", nodePort, "calico", 0, "", collect.No, ""},
	} {
		t.Run(test.scenario+" "+test.from, func(t *testing.T) {
			raw, e, at := open(t, test.scenario)
			r, err := trace.Walk(raw, e, trace.Request{Node: "worker2", From: test.from, To: test.to(at)})
			if err != nil {
				t.Fatal(err)
			}
			if r.Trace.Encoding != test.encoding || len(r.Passed) != test.passed || r.Trace.Marked.Decision != test.marked {
				t.Errorf("%s decides behind %d others, marked: %s", r.Trace.Encoding, len(r.Passed), r.Trace.Marked.Decision)
			}
			if test.fate != "" {
				if len(r.Trace.Endings) != 1 || r.Trace.Endings[0].Fate != test.fate {
					t.Errorf("endings %v, want %s", r.Trace.Endings, test.fate)
				}
			} else if got := named(r.Trace); got != "1/2 pod:echo-server@worker, 1/2 pod:echo-server@worker2" {
				t.Error(got)
			}
			if !strings.Contains(strings.Join(r.Notes, " "), test.note) {
				t.Errorf("notes %q, want one with %q", r.Notes, test.note)
			}
			for _, h := range r.Trace.Hops {
				checkLine(t, test.scenario, h)
			}
		})
	}
}

func clusterIP(a addresses) string     { return a.clusterIP }
func nodePort(a addresses) string      { return a.nodePort }
func otherNodePort(a addresses) string { return a.otherNodePort }

// named are the backends in the order of their names.
func named(t collect.Trace) string {
	var all []string
	for _, b := range t.Backends {
		all = append(all, b.Probability.String()+" "+b.Name)
	}
	if len(all) == 2 && all[0] > all[1] {
		all[0], all[1] = all[1], all[0]
	}
	return strings.Join(all, ", ")
}

// checkLine wants a hop of a file of lines to quote one of them.
func checkLine(t *testing.T, scenario string, h collect.Hop) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../results/service-path", scenario, results.RawDir, h.File))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	if strings.HasSuffix(h.File, ".txt") && (h.Line.Number < 1 || strings.TrimSpace(lines[h.Line.Number-1]) != strings.TrimSpace(h.Line.Text)) {
		t.Errorf("%s is not %q", h.At(), h.Line.Text)
	}
}

// TestStopped: a rule that is not understood is the error, and what was walked is
// there.
func TestStopped(t *testing.T) {
	_, e, at := open(t, "iptables")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../results/service-path/iptables/raw")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "worker2", "iptables-nft-save.txt")
	dump, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dump = []byte(strings.ReplaceAll(string(dump), "-m tcp -j DNAT --to-destination", "-m tcp -j STRANGE --to-destination"))
	if err := os.WriteFile(file, dump, 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := evidence.OpenOutputs(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.Walk(files, e, trace.Request{Node: "worker2", From: "client", To: at.clusterIP})
	var stopped *trace.Stopped
	if !errors.As(err, &stopped) || r.Trace.Stopped == nil || len(r.Trace.Hops) < 3 || len(r.Trace.Backends) > 0 {
		t.Fatalf("%v, %d hops, backends %v", err, len(r.Trace.Hops), r.Trace.Backends)
	}
	for _, want := range []string{"worker2/iptables-nft-save.txt:", "STRANGE is neither", "-A KUBE-SEP-"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestRequests(t *testing.T) {
	raw, e, at := open(t, "iptables")
	for _, test := range []struct {
		name string
		trace.Request
		want string
	}{
		{"node", trace.Request{Node: "worker9", From: "client", To: at.clusterIP}, "the result has the nodes control-plane, worker, worker2"},
		{"pod", trace.Request{Node: "worker2", From: "nobody", To: at.clusterIP}, "neither an address nor a pod"},
		{"destination", trace.Request{Node: "worker2", From: "client", To: "10.96.0.1"}, "want ADDRESS:PORT"},
		{"protocol", trace.Request{Node: "worker2", From: "client", To: "10.96.0.1:80/icmp"}, "want ADDRESS:PORT"},
		{"family", trace.Request{Node: "worker2", From: "client", To: "[::1]:80"}, "another family"},
		{"encoding", trace.Request{Node: "worker2", From: "client", To: at.clusterIP, Encoding: "ipvs"}, "holds no Services as ipvs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := trace.Walk(raw, e, test.Request)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
