package spec_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/check"
	"service-dataplane/internal/host"
	"service-dataplane/internal/spec"
)

// TestScenarios loads those of the project with their variants. Each expects
// what it makes, and forbids kube-proxy's other encodings.
func TestScenarios(t *testing.T) {
	files, _ := filepath.Glob("../../scenarios/*.yaml")
	if len(files) == 0 {
		t.Fatal("no scenarios")
	}
	names := map[string]string{}
	for _, file := range files {
		for _, s := range loadScenarios(t, file) {
			checkScenario(t, s)
			if other := names[s.Metadata.Name]; other != "" {
				t.Errorf("%s has a scenario %s, and so has %s", file, s.Metadata.Name, other)
			}
			names[s.Metadata.Name] = file
		}
	}
}

// loadScenarios loads a file of the project, which may name what its lock pins.
func loadScenarios(t *testing.T, file string) []spec.Scenario {
	t.Helper()
	scenarios, err := spec.LoadScenarios(file, spec.Known{Features: host.Known(), Charts: lock(t)})
	if err != nil {
		t.Fatal(err)
	}
	return scenarios
}

func lock(t *testing.T) spec.Lock {
	t.Helper()
	lock, err := spec.LoadLock("../../charts/lock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// TestCiliumOfAnotherVersion: what the variant shows differently from its base
// is the version's doing, so nothing else may differ.
func TestCiliumOfAnotherVersion(t *testing.T) {
	scenarios := loadScenarios(t, "../../scenarios/cilium.yaml")
	if len(scenarios) != 2 {
		t.Fatalf("%d scenarios", len(scenarios))
	}
	base, variant := scenarios[0], scenarios[1]
	if base.Metadata.Name != "cilium" || variant.Metadata.Name != "cilium-1-19" || base.Variants != nil || variant.Variants != nil {
		t.Errorf("scenarios %+v, %+v with variants %v, %v", base.Metadata, variant.Metadata, base.Variants, variant.Variants)
	}
	older, newer := variant.Spec.DataPlane.Cilium.Version, base.Spec.DataPlane.Cilium.Version
	if !strings.HasPrefix(older, "1.19.") || older == newer || variant.Metadata.Title == base.Metadata.Title {
		t.Errorf("versions %s and %s, titles %q and %q", older, newer, variant.Metadata.Title, base.Metadata.Title)
	}
	variant.Metadata, variant.Spec.DataPlane.Cilium.Version = base.Metadata, newer
	if !reflect.DeepEqual(variant, base) {
		t.Errorf("the variant is otherwise\n%+v, want\n%+v", variant, base)
	}
}

// TestLockOfTheProject: each image is of its chart's version, and what has a
// source is the module that go.sum there pins.
func TestLockOfTheProject(t *testing.T) {
	lock := lock(t)
	parts := map[string][]string{
		spec.CiliumChart: {"agent", "operator"},
		spec.CalicoChart: {"cni", "kube-controllers", "node", "operator", "typha"},
	}
	for name := range parts {
		if lock.Versions(name) == nil {
			t.Errorf("no version of %s", name)
		}
	}
	if got := lock.Versions("calico"); got != nil { // it is installed by its operator
		t.Errorf("versions %q of calico", got)
	}
	for _, want := range lock.Charts {
		name := want.Name + " " + want.Version
		got, ok := lock.Chart(want.Name, want.Version)
		if !ok || !reflect.DeepEqual(got, want) || !slices.Contains(lock.Versions(want.Name), want.Version) {
			t.Errorf("%s is found as %+v, %v", name, got, ok)
		}
		for part, image := range want.Images {
			_, tag, _ := strings.Cut(image, ":")
			tag, digest, _ := strings.Cut(tag, "@")
			switch {
			case want.Name == spec.CalicoChart && part == "operator": // has versions of its own
				if !strings.HasPrefix(image, "quay.io/tigera/operator:v1.") {
					t.Errorf("%s: its image %s is %s", name, part, image)
				}
			case tag != "v"+strings.TrimPrefix(want.Version, "v"), want.Name == spec.CiliumChart && digest == "":
				t.Errorf("%s: its image %s is %s", name, part, image)
			}
		}
		if got := slices.Sorted(maps.Keys(want.Images)); !slices.Equal(got, parts[want.Name]) {
			t.Errorf("%s: images %q, want %q", name, got, parts[want.Name])
		}
		if want.Source != "" && !slices.Contains(required(t, want.Source), want.Name+" v"+want.Version) {
			t.Errorf("%s/go.mod does not require %s", want.Source, name)
		}
	}
	if got, ok := lock.Chart("cilium", "1.18.0"); ok {
		t.Errorf("cilium 1.18.0 is %+v", got)
	}
}

// required are the modules of a go.mod of the tree, each by the last element of
// its path and its version.
func required(t *testing.T, dir string) []string {
	t.Helper()
	command := exec.Command("go", "mod", "edit", "-json")
	command.Dir = filepath.Join("../..", dir)
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range module.Require {
		all = append(all, path.Base(r.Path)+" "+r.Version)
	}
	return all
}

func checkScenario(t *testing.T, s spec.Scenario) {
	name, e := s.Metadata.Name, s.Spec.Expect
	want := s.Spec.Cluster.KubeProxyMode
	if c := s.Spec.DataPlane.Cilium; c != nil && c.KubeProxyReplacement() {
		want = "cilium"
	}
	if c := s.Spec.DataPlane.Calico; c != nil && c.KubeProxyReplacement() {
		want = "calico"
	}
	if e.Mode != want {
		t.Errorf("%s: expects mode %s where it makes %s", name, e.Mode, want)
	}
	all := slices.Sorted(slices.Values(append(e.Forbidden, e.Encoding)))
	if !slices.Contains(all, "iptables") || !slices.Contains(all, "ipvs") || !slices.Contains(all, "nftables") {
		t.Errorf("%s: expected and forbidden encodings are %q", name, all)
	}
	if len(s.Spec.Requires) == 0 {
		t.Errorf("%s: requires nothing of the kernel", name)
	}
}

// TestExperiments loads those of the project, with the checks and on the
// scenarios there are.
func TestExperiments(t *testing.T) {
	files, _ := filepath.Glob("../../experiments/*.yaml")
	if len(files) == 0 {
		t.Fatal("no experiments")
	}
	scenarios := map[string]spec.Scenario{}
	scenarioFiles, _ := filepath.Glob("../../scenarios/*.yaml")
	for _, file := range scenarioFiles {
		for _, s := range loadScenarios(t, file) {
			scenarios[s.Metadata.Name] = s
		}
	}
	for _, file := range files {
		e, err := spec.LoadExperiment(file, check.IDs())
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range e.Spec.Scenarios {
			s, there := scenarios[name]
			if !there || e.Spec.Refusal != nil && s.Spec.DataPlane.Calico == nil {
				t.Errorf("%s: cannot be made on %s, of which there is %v", file, name, there)
			}
		}
		if e.Spec.Refusal != nil { // and no workload
			continue
		}
		if _, err := os.Stat(filepath.Join("../..", e.Spec.Workload.Chart, "Chart.yaml")); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
