package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"service-dataplane/internal/lab"
	"service-dataplane/pkg/collect"
)

// recordedMap copies the map of what was recorded of Calico, and that, into a
// directory where a test may change them.
func recordedMap(t *testing.T) (file, from string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../internal/lab/testdata/import")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "calico-ebpf-recorded.yaml"), filepath.Join(dir, "calico-ebpf-recorded")
}

func TestImport(t *testing.T) {
	file, from := recordedMap(t)
	repo := tree(t)
	// A mistake in another scenario does not matter.
	replace(t, filepath.Join(repo, "scenarios/iptables.yaml"), "cni: ptp", "cni: pt")
	t.Chdir(repo)
	out, err := runner(t.Context(), "import", file, "--from", from)
	if exitCode(err) != exitPassed {
		t.Fatal(err)
	}
	for _, want := range []string{
		"service-path on calico-ebpf, recorded elsewhere: pass\n", "kernel.table", "not recorded: cluster/kube-proxy-configmap.json",
		"results: results/service-path/calico-ebpf-recorded\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("does not say %q:\n%s", want, out)
		}
	}
	if out, err := runner(t.Context(), "verify", "results"); exitCode(err) != exitPassed || !strings.Contains(out, "results/service-path/calico-ebpf-recorded: verified\n") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if page, err := os.ReadFile("results/README.md"); err != nil || !strings.Contains(string(page), "[calico-ebpf, recorded](service-path/calico-ebpf-recorded/README.md)") {
		t.Errorf("%v\n%s", err, page)
	}
}

func TestImportExitCodes(t *testing.T) {
	file, from := recordedMap(t)
	repo, out := tree(t), t.TempDir()
	args := []string{"import", file, "--from", from, "--repo", repo, "--results", out, "-o", "json"}
	replace(t, filepath.Join(from, "felixconfiguration.json"), `"bpfEnabled": true`, `"bpfEnabled": false`)
	stdout, err := runner(t.Context(), args...)
	var outcome lab.Outcome
	if jsonErr := json.Unmarshal([]byte(stdout), &outcome); exitCode(err) != exitFailed || jsonErr != nil || outcome.Verdict != collect.Fail {
		t.Errorf("a check fails: %v, %v, %s", err, jsonErr, outcome.Verdict)
	}
	replace(t, filepath.Join(from, "felixconfiguration.json"), `"bpfEnabled": false`, `"bpfEnabled": false,`)
	if stdout, err := runner(t.Context(), args...); exitCode(err) != exitIncomplete || !strings.Contains(stdout, string(collect.Inconclusive)) {
		t.Errorf("a file that is no JSON: %v\n%s", err, stdout)
	}
	head, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ = bytes.Cut(head, []byte("    - "))
	alone := append(head, "    - {from: nodes.json, to: cluster/nodes.json, argv: [kubectl]}\n"...)
	if err := os.WriteFile(file, alone, 0o644); err != nil {
		t.Fatal(err)
	}
	if stdout, err := runner(t.Context(), args...); exitCode(err) != exitIncomplete || !strings.Contains(stdout, "decides a check") {
		t.Errorf("nothing that decides a check: %v\n%s", err, stdout)
	}
}

// TestImportRefused: before anything is written.
func TestImportRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, file, from, repo string)
		says   []string
	}{
		{"a scenario and an experiment that there are not, and a file", func(t *testing.T, file, from, _ string) {
			replace(t, file, "scenario: calico-ebpf", "scenario: calico")
			replace(t, file, "experiment: service-path", "experiment: service-paths")
			if err := os.Remove(filepath.Join(from, "worker/ip-addr.json")); err != nil {
				t.Fatal(err)
			}
		}, []string{
			`spec.scenario: "calico" is none of`, `spec.experiment: "service-paths"`, `.from: "worker/ip-addr.json" is not there`,
		}},
		{"the scenario has a mistake", func(t *testing.T, _, _, repo string) {
			replace(t, filepath.Join(repo, "scenarios/calico-ebpf.yaml"), "selection: random", "selection: fair")
		}, []string{`spec.scenario: "calico-ebpf" is none of`, `calico-ebpf.yaml:`, `spec.expect.selection: "fair"`}},
		{"an experiment of other scenarios", func(t *testing.T, file, _, _ string) {
			replace(t, file, "experiment: service-path", "experiment: calico-wrong-pool")
			replace(t, file, "scenario: calico-ebpf", "scenario: iptables")
		}, []string{"experiment calico-wrong-pool is not made on scenario iptables"}},
		{"a file outside of the directory", func(t *testing.T, file, from, _ string) {
			if err := os.Remove(filepath.Join(from, "nodes.json")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/etc/hostname", filepath.Join(from, "nodes.json")); err != nil {
				t.Fatal(err)
			}
		}, []string{`spec.files.3.from: "nodes.json" cannot be read: `}},
		{"no directory", func(t *testing.T, _, from, _ string) {
			if err := os.RemoveAll(from); err != nil {
				t.Fatal(err)
			}
		}, []string{"--from ", "no such file"}},
		{"no map", func(t *testing.T, file, _, _ string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}, []string{"calico-ebpf-recorded.yaml", "no such file"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			file, from := recordedMap(t)
			repo, out := tree(t), filepath.Join(t.TempDir(), "results")
			test.change(t, file, from, repo)
			stdout, err := runner(t.Context(), "import", file, "--from", from, "--repo", repo, "--results", out)
			if exitCode(err) != exitUsage || stdout != "" {
				t.Fatalf("exit code %d, %q", exitCode(err), stdout)
			}
			for _, says := range test.says {
				if strings.HasPrefix(says, "spec.") {
					says = ": " + says // behind file and line
				}
				if !strings.Contains(err.Error(), says) {
					t.Errorf("says %q, want %q", err, says)
				}
			}
			if _, err := os.Stat(out); !os.IsNotExist(err) {
				t.Errorf("%s is there: %v", out, err)
			}
		})
	}
	if _, err := runner(t.Context(), "import", "map.yaml", "--repo", tree(t)); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "--from DIR is missing") {
		t.Errorf("no --from: %v", err)
	}
}
