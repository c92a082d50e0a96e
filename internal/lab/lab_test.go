package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/host"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

func TestOverall(t *testing.T) {
	const (
		pass, fail = collect.Pass, collect.Fail
		skip, open = collect.Skip, collect.Inconclusive
	)
	tests := []struct {
		name   string
		checks []collect.Verdict
		want   collect.Verdict
	}{
		{"all pass", []collect.Verdict{pass, pass}, pass},
		{"a skip is named elsewhere", []collect.Verdict{pass, skip}, pass},
		{"one fails", []collect.Verdict{pass, fail, pass}, fail},
		{"one is open", []collect.Verdict{open, pass}, open},
		{"one is open, then one fails", []collect.Verdict{open, fail}, fail},
		{"one fails, then one is open", []collect.Verdict{fail, open}, fail},
		{"one is open, then skips", []collect.Verdict{open, skip}, open},
	}
	for _, test := range tests {
		var checks []collect.Check
		for _, v := range test.checks {
			checks = append(checks, collect.Check{Verdict: v})
		}
		if got := overall(checks); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

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

// TestBackends: the workload's NodePort is programmed when all its backends
// are, at whichever address it is listed.
func TestBackends(t *testing.T) {
	w := spec.Workload{ClusterPort: 80, NodePort: 30081}
	frontend := func(kind collect.FrontendKind, port uint16, backends int) collect.Frontend {
		return collect.Frontend{Kind: kind, Port: port, Backends: make([]collect.Backend, backends)}
	}
	tests := []struct {
		name      string
		frontends []collect.Frontend
		want      int
	}{
		{"nothing yet", nil, 0},
		{"the frontend without backends", []collect.Frontend{frontend(collect.NodePort, 30081, 0)}, 0},
		{"half of them", []collect.Frontend{frontend(collect.NodePort, 30081, 1)}, 1},
		{"all", []collect.Frontend{frontend(collect.ClusterIP, 443, 1), frontend(collect.NodePort, 30081, 2)}, 2},
		{"the ClusterIP alone", []collect.Frontend{frontend(collect.ClusterIP, 80, 2)}, 0},
		{"another NodePort", []collect.Frontend{frontend(collect.NodePort, 30082, 2)}, 0},
		{"a ClusterIP with that port", []collect.Frontend{frontend(collect.ClusterIP, 30081, 2)}, 0},
		{"one frontend an address", []collect.Frontend{frontend(collect.NodePort, 30081, 2), frontend(collect.NodePort, 30081, 1)}, 2},
	}
	for _, test := range tests {
		if got := backends(collect.ServiceTable{Frontends: test.frontends}, w); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
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
