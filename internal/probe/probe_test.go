package probe

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/capture"
	"service-dataplane/internal/check"
	"service-dataplane/internal/command"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

var (
	workload = spec.Workload{Service: "echo-server", ClusterPort: 80, TargetPort: 8080, NodePort: 30081}
	targets  = Targets{
		ClusterIP: "10.96.7.7",
		NodeIP:    map[string]string{"control-plane": "172.18.0.2", "worker": "172.18.0.3", "worker2": "172.18.0.4"},
	}
)

func TestTarget(t *testing.T) {
	tests := []struct {
		name    string
		point   spec.EntryPoint
		targets Targets
		want    string // in the error where it ends in !
	}{
		{"by name", spec.EntryPoint{To: spec.ToServiceName}, targets, "echo-server:80"},
		{"by name, without an address", spec.EntryPoint{To: spec.ToServiceName}, Targets{}, "echo-server:80"},
		{"by ClusterIP", spec.EntryPoint{To: spec.ToClusterIP}, targets, "10.96.7.7:80"},
		{"NodePort of a worker", spec.EntryPoint{To: spec.ToNodePort, Node: "worker"}, targets, "172.18.0.3:30081"},
		{"NodePort of the control plane", spec.EntryPoint{To: spec.ToNodePort, Node: "control-plane"}, targets, "172.18.0.2:30081"},

		{"no ClusterIP yet", spec.EntryPoint{Name: "way-in", To: spec.ToClusterIP}, Targets{}, "way-in: the cluster has no address for cluster-ip!"},
		{"a headless Service", spec.EntryPoint{Name: "way-in", To: spec.ToClusterIP}, Targets{ClusterIP: "None"}, "way-in: the cluster has no address for cluster-ip!"},
		{"a node that is not there", spec.EntryPoint{Name: "way-in", To: spec.ToNodePort, Node: "worker3"}, targets, "way-in: the cluster has no address for node-port worker3!"},
		{"a node without address", spec.EntryPoint{Name: "way-in", To: spec.ToNodePort, Node: "worker"}, Targets{NodeIP: map[string]string{"worker": ""}}, "node-port worker!"},
		{"an unknown kind", spec.EntryPoint{Name: "way-in", To: "load-balancer"}, targets, "load-balancer!"},
	}
	for _, test := range tests {
		got, err := test.targets.of(test.point, workload)
		if text, fails := strings.CutSuffix(test.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q, %v; want an error with %s", test.name, got, err, text)
			}
		} else if got != test.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}

// TestRun sends the project's experiment to places that only take notes: one
// dial an entry point, in order, from the place it names.
func TestRun(t *testing.T) {
	experiment, err := spec.LoadExperiment("../../experiments/service-path.yaml", check.IDs())
	if err != nil {
		t.Fatal(err)
	}
	var dialled []string
	place := func(echo string) Place {
		return Place{Echo: echo, Run: func(ctx context.Context, argv []string) (command.Captured, error) {
			if _, limited := ctx.Deadline(); !limited {
				t.Errorf("%q has no deadline", argv)
			}
			dialled = append(dialled, strings.Join(argv, " "))
			return command.Captured{Stdout: []byte("{}\n")}, nil
		}}
	}
	dir := t.TempDir()
	recorder, err := capture.NewRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]Place{spec.FromClient: place("/echo"), spec.FromHost: place("echo")}
	if err := Run(t.Context(), recorder, places, experiment, targets); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/echo dial --entry clusterip-by-name --target echo-server:80 --count 12 --timeout 5s",
		"/echo dial --entry clusterip-by-address --target 10.96.7.7:80 --count 12 --timeout 5s",
		"/echo dial --entry nodeport-control-plane --target 172.18.0.2:30081 --count 12 --timeout 5s",
		"/echo dial --entry nodeport-worker --target 172.18.0.3:30081 --count 12 --timeout 5s",
		"/echo dial --entry nodeport-worker2 --target 172.18.0.4:30081 --count 12 --timeout 5s",
		"echo dial --entry host-nodeport-control-plane --target 172.18.0.2:30081 --count 12 --timeout 5s",
		"echo dial --entry host-nodeport-worker --target 172.18.0.3:30081 --count 12 --timeout 5s",
		"echo dial --entry host-nodeport-worker2 --target 172.18.0.4:30081 --count 12 --timeout 5s",
	}
	if !slices.Equal(dialled, want) {
		t.Errorf("dialled\n%s\nwant\n%s", strings.Join(dialled, "\n"), strings.Join(want, "\n"))
	}

	if err := recorder.WriteIndex(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, capture.IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	var records []collect.Record
	if err := json.Unmarshal(raw, &records); err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for _, r := range records {
		files[r.File] = r.Outcome == collect.Captured
	}
	for _, p := range experiment.Spec.EntryPoints {
		if file := p.From + "/" + p.Name + ".jsonl"; !files[file] {
			t.Errorf("%s is not recorded", file)
		}
	}
}

// TestRunStopsWhereThereIsNoAddress: nothing is dialled that nobody asked for.
func TestRunStopsWhereThereIsNoAddress(t *testing.T) {
	recorder, err := capture.NewRecorder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := spec.Experiment{Spec: spec.ExperimentSpec{Workload: workload, Connections: 1, EntryPoints: []spec.EntryPoint{{Name: "way-in", From: spec.FromHost, To: spec.ToClusterIP}}}}
	places := map[string]Place{spec.FromHost: {Run: func(_ context.Context, argv []string) (command.Captured, error) {
		t.Errorf("%q is run", argv)
		return command.Captured{}, nil
	}}}
	if err := Run(t.Context(), recorder, places, x, Targets{}); err == nil {
		t.Error("no error")
	}
}

// TestOnHost: the record names the program, the machine knows where it is.
func TestOnHost(t *testing.T) {
	out, err := OnHost("/bin/sh")(t.Context(), []string{"echo", "-c", "printf %s dialled; exit 3"})
	if err != nil || string(out.Stdout) != "dialled" || out.ExitCode != 3 {
		t.Errorf("%q, exit code %d, %v", out.Stdout, out.ExitCode, err)
	}
}
