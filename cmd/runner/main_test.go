package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"service-dataplane/internal/lab"
	"service-dataplane/pkg/collect"
)

var update = flag.Bool("update", false, "write the golden files")

// runner executes a command line and returns what it printed on stdout.
func runner(ctx context.Context, args ...string) (string, error) {
	root := newRunner()
	var stdout bytes.Buffer
	root.SetArgs(args)
	root.SetOut(&stdout)
	err := root.ExecuteContext(ctx)
	return stdout.String(), err
}

// tree is a copy of what makes a directory a tree of this project.
func tree(t *testing.T) string {
	t.Helper()
	repo := filepath.Join(t.TempDir(), "tree")
	for _, dir := range []string{"scenarios", "experiments", "charts"} {
		if err := os.CopyFS(filepath.Join(repo, dir), os.DirFS(filepath.Join("../..", dir))); err != nil {
			t.Fatal(err)
		}
	}
	return repo
}

// replace changes a text in a file, where it stands first, and returns the
// line.
func replace(t *testing.T, file, old, with string) int {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(content), old)
	if !found {
		t.Fatalf("%s has no %q", file, old)
	}
	if err := os.WriteFile(file, []byte(before+with+after), 0o644); err != nil {
		t.Fatal(err)
	}
	return 1 + strings.Count(before, "\n")
}

func TestExitCode(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"passed", nil, 0},
		{"a check failed, and the report has said so", &exitError{code: exitFailed}, 1},
		{"whatever is not said otherwise is usage", errors.New("unknown flag: --scenari"), 2},
		{"the host", &exitError{exitHost, lab.ErrHost}, 3},
		{"incomplete", &exitError{exitIncomplete, lab.ErrInterrupted}, 4},
		{"wrapped", fmt.Errorf("run: %w", &exitError{code: exitIncomplete}), 4},
		{"joined", errors.Join(errors.New("another"), &exitError{code: exitHost}), 3},
	}
	for _, test := range tests {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
	if err := (&exitError{exitHost, lab.ErrHost}); !errors.Is(err, lab.ErrHost) || err.Error() != lab.ErrHost.Error() {
		t.Errorf("the error within is lost: %v", err)
	}
}

func TestRunError(t *testing.T) {
	const (
		pass, fail = collect.Pass, collect.Fail
		skip, open = collect.Skip, collect.Inconclusive
	)
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(lab.ErrInterrupted)
	tests := []struct {
		name     string
		ctx      context.Context
		outcomes []collect.Verdict
		err      error
		want     int
		says     string
	}{
		{"all pass", t.Context(), []collect.Verdict{pass, pass}, nil, 0, ""},
		{"some skipped, the rest pass", t.Context(), []collect.Verdict{skip, pass, skip}, nil, 0, ""},
		{"one fails", t.Context(), []collect.Verdict{pass, fail}, nil, 1, ""},
		{"one is open, one fails", t.Context(), []collect.Verdict{open, fail}, nil, 1, ""},
		{"one is open", t.Context(), []collect.Verdict{pass, open}, nil, 4, ""},
		{"one is open, the rest skipped", t.Context(), []collect.Verdict{skip, open}, nil, 4, ""},
		{"all skipped", t.Context(), []collect.Verdict{skip, skip}, nil, 4, ""},
		{"nothing was run", t.Context(), nil, nil, 4, ""},
		{"the host cannot", t.Context(), nil, fmt.Errorf("%w: engine: not there", lab.ErrHost), 3, "engine: not there"},
		{"the host cannot any more", t.Context(), []collect.Verdict{pass}, errors.Join(fmt.Errorf("%w: disk", lab.ErrHost), fmt.Errorf("%w: memory", lab.ErrHost)), 3, "memory"},
		{"a step failed", t.Context(), []collect.Verdict{pass}, errors.New("create cluster: exit code 1"), 4, "create cluster"},
		{"a step failed after a check did", t.Context(), []collect.Verdict{fail}, errors.New("create cluster: exit code 1"), 4, "create cluster"},
		{"interrupted", interrupted, []collect.Verdict{pass}, context.Canceled, 4, "interrupted"},
		{"interrupted while the host was examined", interrupted, nil, lab.ErrHost, 4, "interrupted"},
		{"interrupted at the very end", interrupted, []collect.Verdict{pass}, nil, 4, "interrupted"},
	}
	for _, test := range tests {
		var outcomes []lab.Outcome
		for _, v := range test.outcomes {
			outcomes = append(outcomes, lab.Outcome{Verdict: v})
		}
		err := runError(test.ctx, outcomes, test.err)
		if got := exitCode(err); got != test.want {
			t.Errorf("%s: exit code %d, want %d", test.name, got, test.want)
		}
		if test.says != "" && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: says %q, want %q", test.name, err, test.says)
		}
	}
}

// TestUsage: what is refused before anything is created, with the exit code
// and what is said. None of it may need an engine.
func TestUsage(t *testing.T) {
	repo := tree(t)
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(lab.ErrInterrupted)
	empty := t.TempDir()
	bare := tree(t)
	if err := os.RemoveAll(filepath.Join(bare, "experiments")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(bare, "experiments"), 0o755); err != nil {
		t.Fatal(err)
	}
	unlocked := tree(t)
	if err := os.Remove(filepath.Join(unlocked, "charts", "lock.yaml")); err != nil {
		t.Fatal(err)
	}
	const scenarios = "there are: calico-ebpf, cilium-kube-proxy, cilium, cilium-1-19, iptables, ipvs, ipvs-lc, ipvs-sh, nftables"
	tests := []struct {
		name string
		ctx  context.Context
		args string
		want int
		says []string
	}{
		{"an unknown verb", t.Context(), "rum", 2, []string{`unknown command "rum"`}},
		{"an unknown flag", t.Context(), "list --al", 2, []string{"--al"}},
		{"an argument too many", t.Context(), "list all", 2, []string{`"all"`}},
		{"no such form of output", t.Context(), "list -o xml --repo " + repo, 2, []string{"--output xml: want table, json or yaml"}},
		{"that is no tree", t.Context(), "list --repo " + empty, 2, []string{"--repo " + empty, "scenarios and experiments"}},
		{"a tree without experiments", t.Context(), "list --repo " + bare, 2, []string{filepath.Join(bare, "experiments") + " has no *.yaml files"}},
		{"no such scenario", t.Context(), "run --scenario nosuch --repo " + repo, 2, []string{"there is no nosuch in scenarios; " + scenarios}},
		{"no such variant", t.Context(), "run --scenario cilium-1-18 --repo " + repo, 2, []string{"there is no cilium-1-18 in scenarios; " + scenarios}},
		{"images of no such scenario", t.Context(), "image cilium nosuch --repo " + repo, 2, []string{"there is no nosuch in scenarios; " + scenarios}},
		{"a tree without a lock", t.Context(), "image --repo " + unlocked, 2, []string{"lock.yaml", "no such file"}},
		{"no such experiment either", t.Context(), "run no-path --scenario iptables,nosuch --repo " + repo, 2, []string{
			"there is no no-path in experiments; there are: calico-wrong-pool, service-path", "there is no nosuch in scenarios",
		}},
		{"an experiment on none of its scenarios", t.Context(), "run calico-wrong-pool --scenario iptables,cilium --repo " + repo, 2, []string{
			"experiment calico-wrong-pool is made on scenario calico-ebpf",
		}},
		{"and behind another one", t.Context(), "run service-path calico-wrong-pool --scenario iptables --repo " + repo, 2, []string{
			"experiment calico-wrong-pool is made on scenario calico-ebpf",
		}},
		{"verify what", t.Context(), "verify --repo " + repo, 2, []string{"accepts 1 arg(s), received 0"}},
		{"verify nothing", t.Context(), "verify --repo " + repo + " " + empty, 2, []string{empty + " holds no results", "run.yaml"}},
		{"verify what is not there", t.Context(), "verify --repo " + repo + " " + empty + "/nosuch", 2, []string{"nosuch"}},
		{"diff of one", t.Context(), "diff --repo " + repo + " " + empty, 2, []string{"accepts 2 arg(s), received 1"}},
		{"diff of nothing", t.Context(), "diff --repo " + repo + " " + empty + " " + empty + "/nosuch", 2, []string{
			"BASE: " + empty + " holds no results", "NEW: lstat " + empty + "/nosuch", "want a directory that runner run has written",
		}},
		{"no such form of a difference", t.Context(), "diff -o xml --repo " + repo + " a b", 2, []string{"--output xml: want table, json, yaml or markdown"}},
		{"which others do not have", t.Context(), "list -o markdown --repo " + repo, 2, []string{"--output markdown: want table, json or yaml"}},
		{"no such form of a report", t.Context(), "report -o json --repo " + repo + " " + empty, 2, []string{"--output json: want summary or junit"}},
		{"report of nothing", t.Context(), "report --repo " + repo + " " + empty, 2, []string{empty + " holds no results"}},
		{"image, interrupted", interrupted, "image --node-image nosuch:1 --repo " + repo, 4, []string{"interrupted"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			stdout, err := runner(test.ctx, strings.Fields(test.args)...)
			if got := exitCode(err); got != test.want {
				t.Fatalf("exit code %d, want %d", got, test.want)
			}
			for _, says := range test.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("says %q, want %q", err, says)
				}
			}
			if stdout != "" {
				t.Errorf("stdout is for results: %q", stdout)
			}
		})
	}
}

// TestEveryMistakeAtOnce: of every file, each with its place.
func TestEveryMistakeAtOnce(t *testing.T) {
	t.Chdir(tree(t))
	const scenario, experiment = "scenarios/iptables.yaml", "experiments/service-path.yaml"
	want := []string{
		fmt.Sprintf("%s:%d: spec.connections", experiment, replace(t, experiment, "connections: 12", "connections: 0")),
		fmt.Sprintf("%s:%d: spec.cluster.cni", scenario, replace(t, scenario, "cni: ptp", "cni: pt")),
		fmt.Sprintf("%s:%d: spec.expect.selection", scenario, replace(t, scenario, "selection: random", "selection: fair")),
	}
	_, err := runner(t.Context(), "list")
	if exitCode(err) != exitUsage {
		t.Fatal(err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("%q, want %q", lines[i], want[i])
		}
	}
}

// TestHelp: of the verbs by what they name that people look for.
func TestHelp(t *testing.T) {
	for verb, says := range map[string][]string{
		"":      {"run ", "list ", "doctor ", "verify ", "update ", "clean ", "image ", "Exit codes:"},
		"run":   {"runner run [EXPERIMENT...]", "--scenario strings", "--node-image", "--image-source"},
		"image": {"runner image [SCENARIO...]", "images of the data planes", "  runner image cilium\n", "--node-image string", `--image-source string   images of data planes: auto, registry or source (default "auto")`, "--repo string"},
	} {
		// Asked for anywhere, without a tree: it is where one begins.
		t.Chdir(t.TempDir())
		out, err := runner(t.Context(), append(strings.Fields(verb), "--help")...)
		if exitCode(err) != exitPassed {
			t.Errorf("%s: %v", verb, err)
		}
		for _, want := range says {
			if !strings.Contains(out, want) {
				t.Errorf("%s --help does not say %q:\n%s", verb, want, out)
			}
		}
	}
}

func TestList(t *testing.T) {
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(tree(t), "scenarios")) // the tree is found from below
	for _, form := range []string{"table", "json", "yaml"} {
		golden := filepath.Join(testdata, "list."+form)
		got, err := runner(t.Context(), "list", "--output", form)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || got != string(want) {
			t.Errorf("%s (%v), got:\n%s", golden, err, got)
		}
	}
}
