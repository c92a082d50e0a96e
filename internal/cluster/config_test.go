package cluster

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"service-dataplane/internal/host"
	"service-dataplane/internal/spec"
)

var update = flag.Bool("update", false, "write the golden files")

// equalsGolden compares with a file of testdata, or writes it.
func equalsGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs, got:\n%s", file, got)
	}
}

// TestKindConfig has a golden file for each scenario of the project, on a host
// with cgroup v2 and on one with v1.
func TestKindConfig(t *testing.T) {
	files, _ := filepath.Glob("../../scenarios/*.yaml")
	if len(files) == 0 {
		t.Fatal("no scenarios")
	}
	lock, err := spec.LoadLock("../../charts/lock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		scenarios, err := spec.LoadScenarios(file, spec.Known{Features: host.Known(), Charts: lock})
		if err != nil {
			t.Fatal(err)
		}
		for i, scenario := range scenarios {
			if i > 0 && scenario.Spec.Cluster.IPVSScheduler == "" {
				continue // the file's own cluster
			}
			for suffix, cgroupV1 := range map[string]bool{"": false, "-cgroup-v1": true} {
				checkKindConfig(t, scenario, suffix, cgroupV1)
			}
		}
	}
}

func checkKindConfig(t *testing.T, scenario spec.Scenario, suffix string, cgroupV1 bool) {
	got, err := KindConfig(scenario, cgroupV1)
	if err != nil {
		t.Fatal(err)
	}
	equalsGolden(t, "kind/"+scenario.Metadata.Name+suffix+".yaml", got)

	// kind reads it as strictly.
	decoder := yaml.NewDecoder(bytes.NewReader(got))
	decoder.KnownFields(true)
	var config v1alpha4.Cluster
	if err := decoder.Decode(&config); err != nil {
		t.Errorf("%s%s: %v", scenario.Metadata.Name, suffix, err)
	}
	if len(config.Nodes) != len(spec.Roles) {
		t.Errorf("%s%s: %d nodes", scenario.Metadata.Name, suffix, len(config.Nodes))
	}
}

// TestKubeadmPatches: a scenario's own come after the host's, which it may
// override, and do not end up in the scenario.
func TestKubeadmPatches(t *testing.T) {
	patches := append(make([]string, 0, 4), "kind: KubeProxyConfiguration\nipvs:\n  scheduler: lc\n")
	scenario := spec.Scenario{Spec: spec.ScenarioSpec{Cluster: spec.ClusterSpec{KubeProxyMode: "ipvs", KubeadmConfigPatches: patches}}}
	got, err := KindConfig(scenario, true)
	if err != nil {
		t.Fatal(err)
	}
	var config v1alpha4.Cluster
	if err := yaml.Unmarshal(got, &config); err != nil {
		t.Fatal(err)
	}
	if p := config.KubeadmConfigPatches; len(p) != 3 || !strings.Contains(p[0], "failCgroupV1: false") || p[1] != oneControlPlane || p[2] != patches[0] {
		t.Errorf("patches are %q", p)
	}
	if p := scenario.Spec.Cluster.KubeadmConfigPatches; len(p) != 1 {
		t.Errorf("the scenario now has %q", p)
	}
}

func TestConflist(t *testing.T) {
	equalsGolden(t, "10-ptp.conflist", []byte(conflist("10.244.1.0/24")))
}

func TestOneLine(t *testing.T) {
	tests := []struct{ message, want string }{
		{"Ensuring node image (kindest/node:v1.35.0) 🖼 ...\n", "Ensuring node image (kindest/node:v1.35.0) ..."},
		{" ✓ Preparing nodes 📦 📦 📦 ", "Preparing nodes"},
		{" • Starting control-plane 🕹️  ...\n", "Starting control-plane ..."},
		{"WARNING: overriding docker network\nproceed at your own risk", "WARNING: overriding docker network proceed at your own risk"},
		{"\r\x1b[Ktab\tstop", "[Ktab stop"},
		{"naïve – or not", "naïve or not"},
		{"\n", ""},
		{"", ""},
	}
	for _, test := range tests {
		if got := oneLine(test.message); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.message, got, test.want)
		}
	}
}
