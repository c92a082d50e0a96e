package lab

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/host"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/ipvs"
)

// TestFailed: what makes a verified directory one that cannot be relied on.
func TestFailed(t *testing.T) {
	checks := func(v collect.Verdict) []collect.Check { return []collect.Check{{Verdict: v}} }
	tests := []struct {
		name string
		v    Verified
		want bool
	}{
		{"all is as it was recorded", Verified{Checks: checks(collect.Pass)}, false},
		{"a check was skipped", Verified{Checks: checks(collect.Skip)}, false},
		{"a check fails, as recorded", Verified{Checks: checks(collect.Fail)}, true},
		{"a file differs", Verified{Checks: checks(collect.Pass), Differences: []Difference{{"README.md", "line 1"}}}, true},
		{"only a page differs", Verified{Differences: []Difference{{"README.md", "line 1"}}}, true},
	}
	for _, test := range tests {
		if got := test.v.Failed(); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestUnprogrammed: the workload's NodePort is programmed when all its backends
// are, at whichever address it is listed, and IPVS has the scheduler it is to have.
func TestUnprogrammed(t *testing.T) {
	w := spec.Workload{ClusterPort: 80, NodePort: 30081, BackendNodes: []string{"worker", "worker2"}}
	frontend := func(kind collect.FrontendKind, port uint16, backends int, by collect.Selection) collect.Frontend {
		return collect.Frontend{Kind: kind, Port: port, Backends: make([]collect.Backend, backends), Selection: by}
	}
	node := func(port uint16, backends int) collect.Frontend {
		return frontend(collect.NodePort, port, backends, "random")
	}
	tests := []struct {
		name      string
		encoding  string
		frontends []collect.Frontend
		want      string
	}{
		{"nothing yet", "iptables", nil, "has 0 of 2"},
		{"the frontend without backends", "iptables", []collect.Frontend{node(30081, 0)}, "has 0 of 2"},
		{"half of them", "iptables", []collect.Frontend{node(30081, 1)}, "has 1 of 2"},
		{"all", "iptables", []collect.Frontend{frontend(collect.ClusterIP, 443, 1, ""), node(30081, 2)}, ""},
		{"the ClusterIP alone", "iptables", []collect.Frontend{frontend(collect.ClusterIP, 80, 2, "")}, "has 0 of 2"},
		{"another NodePort", "iptables", []collect.Frontend{node(30082, 2)}, "has 0 of 2"},
		{"a ClusterIP with that port", "iptables", []collect.Frontend{frontend(collect.ClusterIP, 30081, 2, "")}, "has 0 of 2"},
		{"one frontend an address", "iptables", []collect.Frontend{node(30081, 2), node(30081, 1)}, ""},
		{"the scheduler of before", "ipvs", []collect.Frontend{frontend(collect.NodePort, 30081, 2, collect.SelectRoundRobin)}, "selects by round-robin, not yet by source-hash"},
		{"the new scheduler", "ipvs", []collect.Frontend{frontend(collect.NodePort, 30081, 2, collect.SelectSourceHash)}, ""},
	}
	for _, test := range tests {
		selection := "source-hash"
		got := unprogrammed(collect.ServiceTable{Encoding: test.encoding, Frontends: test.frontends}, w, selection)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestToWorkload(t *testing.T) {
	to := func(virtual string) ipvs.Connection {
		return ipvs.Connection{Virtual: netip.MustParseAddrPort(virtual)}
	}
	all := []ipvs.Connection{to("10.96.1.2:80"), to("172.18.0.2:30081"), to("10.96.0.10:53"), to("10.96.0.1:443")}
	if n := toWorkload(all, spec.Workload{ClusterPort: 80, NodePort: 30081}); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

func TestOutcomes(t *testing.T) {
	named := func(name string) spec.Scenario { return spec.Scenario{Metadata: spec.Metadata{Name: name}} }
	skipped := outcomes{{Scenario: "ipvs", Verdict: collect.Skip, Reason: "no ip_vs"}, {Scenario: "cilium", Verdict: collect.Skip}}
	for name, want := range map[string]string{"ipvs": "no ip_vs", "cilium": ""} {
		if got, ok := skipped.reason(named(name)); !ok || got.Scenario != name || got.Reason != want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	for _, o := range []outcomes{skipped, nil} {
		if got, ok := o.reason(named("iptables")); ok {
			t.Errorf("a scenario that runs is skipped: %+v", got)
		}
	}
}

// TestWorkerRoles: the echo image goes to every node that runs a part of the
// workload, once.
func TestWorkerRoles(t *testing.T) {
	tests := []struct {
		client   string
		backends []string
		want     []string
	}{
		{"worker2", []string{"worker", "worker2"}, []string{"worker", "worker2"}},
		{"control-plane", []string{"worker", "worker2"}, []string{"worker", "worker2", "control-plane"}},
		{"worker", nil, []string{"worker"}},
	}
	for _, test := range tests {
		before := slices.Clone(test.backends)
		got := workerRoles(spec.Workload{ClientNode: test.client, BackendNodes: test.backends})
		if !slices.Equal(got, test.want) || !slices.Equal(test.backends, before) {
			t.Errorf("client on %s, backends on %q: %q, want %q", test.client, before, got, test.want)
		}
	}
}

func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "README.md")
	for _, content := range []string{"first", "second, longer", "3"} {
		if err := replaceFile(file, []byte(content)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if info, _ := os.Stat(file); err != nil || string(got) != content || info.Mode().Perm() != 0o644 {
			t.Errorf("%q %v, %v; want %q", got, info.Mode(), err, content)
		}
	}
	if err := replaceFile(filepath.Join(dir, "nosuch", "README.md"), nil); err == nil {
		t.Error("a file in a directory that is not there is written")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left is %v", left)
	}
}

// TestPreflightGo: a bundle file has the workload's image, which Go is needed
// for otherwise.
func TestPreflightGo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "bundle.tar")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sys := host.Local()
	run := sys.Run
	sys.Run = func(ctx context.Context, argv ...string) (string, error) {
		if argv[0] == "go" {
			return "", errors.New("no such program")
		}
		return run(ctx, argv...)
	}
	for bundle, needed := range map[string]bool{"": true, dir: true, file: false, filepath.Join(dir, "nosuch"): true} {
		l := &lab{Options: Options{Bundle: bundle}, sys: sys}
		_, _, err := l.preflight(t.Context())
		if got := err != nil && strings.Contains(err.Error(), ": go: no such program"); got != needed {
			t.Errorf("bundle %q: %v, want Go asked for: %v", bundle, err, needed)
		}
	}
}
