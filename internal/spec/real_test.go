package spec_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"service-dataplane/internal/check"
	"service-dataplane/internal/host"
	"service-dataplane/internal/spec"
)

// TestScenarios loads those of the project. Each forbids all encodings but its
// own.
func TestScenarios(t *testing.T) {
	files, _ := filepath.Glob("../../scenarios/*.yaml")
	if len(files) == 0 {
		t.Fatal("no scenarios")
	}
	for _, file := range files {
		s, err := spec.LoadScenario(file, host.Known())
		if err != nil {
			t.Error(err)
			continue
		}
		e := s.Spec.Expect
		if e.Mode != s.Spec.Cluster.KubeProxyMode {
			t.Errorf("%s: expects mode %s of a kube-proxy in mode %s", file, e.Mode, s.Spec.Cluster.KubeProxyMode)
		}
		all := slices.Sorted(slices.Values(append(e.Forbidden, e.Encoding)))
		if !slices.Equal(all, []string{"iptables", "ipvs", "nftables"}) {
			t.Errorf("%s: expected and forbidden encodings are %q", file, all)
		}
		if len(s.Spec.Requires) == 0 {
			t.Errorf("%s: requires nothing of the kernel", file)
		}
	}
}

// TestExperiments loads those of the project, with the checks there are.
func TestExperiments(t *testing.T) {
	files, _ := filepath.Glob("../../experiments/*.yaml")
	if len(files) == 0 {
		t.Fatal("no experiments")
	}
	for _, file := range files {
		e, err := spec.LoadExperiment(file, check.IDs())
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := os.Stat(filepath.Join("../..", e.Spec.Workload.Chart, "Chart.yaml")); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
