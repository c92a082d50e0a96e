//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"service-dataplane/internal/lab"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/report"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// TestServicePath runs the experiment on every scenario, those that share a cluster
// together, and compares what it finds with the committed results. BUNDLE=FILE|DIR
// in the environment takes images from there, as for -run TestServicePath/calico-ebpf.
// With RESULTS=DIR it judges what `make regression` has left there, and runs nothing.
func TestServicePath(t *testing.T) {
	experiment := loadExperiment(t)
	for _, scenarios := range together(loadScenarios(t)) {
		t.Run(scenarios[0].Metadata.Name, func(t *testing.T) {
			dir := t.TempDir()
			outcomes := ranAlready
			if os.Getenv("RESULTS") == "" {
				outcomes = runTogether
			}
			for i, outcome := range outcomes(t, experiment, scenarios, dir) {
				t.Run(outcome.Scenario, func(t *testing.T) {
					if outcome.Verdict == collect.Skip {
						t.Skip(outcome.Reason)
					}
					suite.Test(t, regression(experiment, scenarios[i], outcome))
				})
			}
		})
	}
}

func regression(experiment spec.Experiment, scenario spec.Scenario, outcome lab.Outcome) types.Feature {
	return features.New("service-path").
		Assess("every check passes", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			for _, c := range outcome.Checks {
				if c.Verdict != collect.Pass {
					t.Errorf("%s: %s: %s %v", c.ID, c.Verdict, c.Reason, c.Findings)
				}
			}
			return ctx
		}).
		Assess("normalized evidence equals the committed one", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			committed := filepath.Join(repo, "results", experiment.Metadata.Name, scenario.Metadata.Name)
			if !bytes.Equal(read(t, filepath.Join(committed, results.NormalizedFile)), read(t, filepath.Join(outcome.Dir, results.NormalizedFile))) {
				t.Errorf("%s differs from this run's:\n%s", committed, different(t, committed, outcome.Dir))
			}
			return ctx
		}).
		Assess("results follow from their raw files", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			for _, v := range verify(t, outcome.Dir) {
				if v.Failed() {
					t.Errorf("%s: %+v", v.Dir, v.Differences)
				}
			}
			return ctx
		}).
		Assess("a backend lost on one node is found there", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			loseBackend(t, outcome.Dir, scenario.Spec.Expect.Encoding)
			assertFinds(t, outcome.Dir, "kernel.table", "worker")
			return ctx
		}).
		Assess("no node of the cluster is left", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			assertNothingLeft(t)
			return ctx
		}).
		Feature()
}

// together are neighbours that share a cluster, as the lab runs them.
func together(scenarios []spec.Scenario) [][]spec.Scenario {
	var all [][]spec.Scenario
	for _, s := range scenarios {
		if n := len(all); n > 0 && all[n-1][0].SharesCluster(s) {
			all[n-1] = append(all[n-1], s)
		} else {
			all = append(all, []spec.Scenario{s})
		}
	}
	return all
}

// ranAlready are the outcomes of a run that was made before, in copies.
func ranAlready(t *testing.T, experiment spec.Experiment, scenarios []spec.Scenario, dir string) (all []lab.Outcome) {
	t.Helper()
	for _, s := range scenarios {
		from := filepath.Join(os.Getenv("RESULTS"), experiment.Metadata.Name, s.Metadata.Name)
		o := lab.Outcome{Scenario: s.Metadata.Name, Dir: filepath.Join(dir, s.Metadata.Name)}
		switch _, err := os.Stat(from); {
		case errors.Is(err, os.ErrNotExist):
			o.Verdict, o.Reason = collect.Skip, "not run before: "+from+" is not there; the run says why"
		default:
			if err := os.CopyFS(o.Dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			o.Checks = verify(t, o.Dir)[0].Checks
		}
		all = append(all, o)
	}
	return all
}

func runTogether(t *testing.T, experiment spec.Experiment, scenarios []spec.Scenario, dir string) []lab.Outcome {
	t.Helper()
	outcomes, err := lab.Run(t.Context(), lab.Options{
		Repo:        repo,
		WorkDir:     t.TempDir(),
		ResultsDir:  dir,
		Experiment:  experiment,
		Scenarios:   scenarios,
		Lock:        loadLock(t),
		NodeImage:   nodeImage(),
		ImageSource: os.Getenv("IMAGE_SOURCE"),
		Bundle:      os.Getenv("BUNDLE"),
		Kernel:      os.Getenv("KERNEL"),
		Program:     filepath.Join(repo, "bin", "runner"),
		Argv:        []string{"go", "test"},
	}, progress.New(os.Stderr, false))
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// loseBackend takes one backend of cluster DNS out of worker's raw state, as if
// the data plane had never programmed it. The workload's own would contradict
// the traffic as well.
func loseBackend(t *testing.T, dir, encoding string) {
	t.Helper()
	edit := map[string]struct{ file, pattern, with string }{
		"iptables": {"iptables-nft-save.txt", `-A KUBE-SVC-\w+ .*kube-dns:metrics -> .*--probability .*\n`, ""},
		"nftables": {"nft-ruleset.json", `"mod": 2, (.{0,60}\[\[0, \{"goto": \{"target": "endpoint-\w+-kube-system/kube-dns/tcp/metrics[^}]*\}\}\]), \[1, [^]]*\]`, `"mod": 1, $1`},
		"cilium":   {"cilium-bpf-lb-list.json", `  "[0-9.]+:9153/TCP \(2\)": \[\n[^\]]*\],\n`, ""},
		"calico":   {"calico-nat-dump.json", `(?s)("port": 9153,[^}]*?)"count": 2,\s+"local": \d+(\s+\},\s+"backends": \[)\s+\{[^}]*\},`, "$1\"count\": 1, \"local\": 0$2"},
		"ipvs":     {"ip_vs.txt", `  -> \w+:23C1 .*\n`, ""},
	}[encoding]
	file := filepath.Join(dir, results.RawDir, "worker", edit.file)
	before := read(t, file)
	pattern := regexp.MustCompile(edit.pattern)
	place := pattern.FindSubmatchIndex(before)
	if place == nil {
		t.Fatalf("%s has nothing that matches %s", file, edit.pattern)
	}
	after := pattern.Expand(slices.Clone(before[:place[0]]), []byte(edit.with), before, place)
	if err := os.WriteFile(file, append(after, before[place[1]:]...), 0o644); err != nil {
		t.Fatal(err)
	}
}

// assertFinds verifies the results and wants one check to fail, on one node.
func assertFinds(t *testing.T, dir, id, node string) {
	t.Helper()
	for _, v := range verify(t, dir) {
		for _, c := range v.Checks {
			if failed := c.Verdict == collect.Fail; failed != (c.ID == id) {
				t.Errorf("check %s: %s: %v", c.ID, c.Verdict, c.Findings)
			} else if failed && !slices.ContainsFunc(c.Findings, func(f collect.Finding) bool { return f.Node == node }) {
				t.Errorf("check %s names no finding on %s: %v", c.ID, node, c.Findings)
			}
		}
	}
}

// different says what differs between two results.
func different(t *testing.T, base, new string) string {
	t.Helper()
	r, err := lab.Diff(base, new, false)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	report.DiffTable(&text, r)
	return text.String()
}

func verify(t *testing.T, dir string) []lab.Verified {
	t.Helper()
	verified, err := lab.Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	return verified
}

func assertNothingLeft(t *testing.T) {
	t.Helper()
	left, err := nodes(t.Context())
	if err != nil || left != "" {
		t.Errorf("containers left behind: %s (%v)", left, err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
