//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/env"

	"service-dataplane/internal/check"
	"service-dataplane/internal/cluster"
	"service-dataplane/internal/command"
	"service-dataplane/internal/host"
	"service-dataplane/internal/spec"
)

// repo is the root of the tree, from this package's directory.
const repo = "../.."

// suite runs the features. Clusters are the lab's own, each with its own
// kubeconfig, so the framework is given none.
var suite env.Environment

func TestMain(m *testing.M) {
	suite = env.New()
	// Tests look for nodes left behind; those of before are not theirs.
	left, err := nodes(context.Background())
	if err == nil && left != "" {
		err = fmt.Errorf("nodes of an earlier run are there: runner clean\n%s", left)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(suite.Run(m))
}

// nodes are the names of all containers that are nodes of this project.
func nodes(ctx context.Context) (string, error) {
	return command.Output(ctx, "docker", "ps", "--all", "--format", "{{.Names}}", "--filter", "name="+cluster.Prefix)
}

// nodeImage is the choice that `runner run --node-image` gets.
func nodeImage() string { return cmp.Or(os.Getenv("NODE_IMAGE"), "auto") }

func loadExperiment(t *testing.T) spec.Experiment {
	t.Helper()
	experiment, err := spec.LoadExperiment(filepath.Join(repo, "experiments", "service-path.yaml"), check.IDs())
	if err != nil {
		t.Fatal(err)
	}
	return experiment
}

func loadScenarios(t *testing.T) []spec.Scenario {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repo, "scenarios", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	lock := loadLock(t)
	var scenarios []spec.Scenario
	for _, file := range files {
		all, err := spec.LoadScenarios(file, spec.Known{Features: host.Known(), Charts: lock})
		if err != nil {
			t.Fatal(err)
		}
		scenarios = append(scenarios, all...)
	}
	return scenarios
}

func loadLock(t *testing.T) spec.Lock {
	t.Helper()
	lock, err := spec.LoadLock(filepath.Join(repo, "charts", "lock.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return lock
}
