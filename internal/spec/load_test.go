package spec

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// What the files of testdata may name.
var (
	testKnown = Known{Features: []string{"ip_vs", "nf_conntrack", "xt_statistic"}, Charts: Lock{Charts: []Chart{
		{Name: CiliumChart, Version: "1.20.2"}, {Name: CiliumChart, Version: "1.19.8"}, {Name: CalicoChart, Version: "v3.31.7"},
	}}}
	testChecks = []string{"mode.actual", "traffic.complete"}
)

// loadTest reads a file of testdata as what its name begins with.
func loadTest(file string) (any, error) {
	switch kind, _, _ := strings.Cut(filepath.Base(file), "-"); kind {
	case "scenario":
		all, err := LoadScenarios(file, testKnown)
		if err != nil {
			return nil, err
		}
		return all[0], nil
	case "lock":
		return LoadLock(file)
	}
	return LoadExperiment(file, testChecks)
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found
}

// TestBadFiles has one file a fault, named for it, and beside it what is said
// about it.
func TestBadFiles(t *testing.T) {
	for _, file := range files(t, "testdata/bad/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := loadTest(file)
			wantFaults(t, file, err)
		})
	}
}

// wantFaults compares what is said about a file with the .golden beside it.
func wantFaults(t *testing.T, file string, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no fault found")
	}
	got := err.Error() + "\n"
	golden := strings.TrimSuffix(file, ".yaml") + ".golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || got != string(want) {
		t.Errorf("%s (%v), got:\n%s", golden, err, got)
	}
}

// TestGoodFiles has one content in several forms.
func TestGoodFiles(t *testing.T) {
	scenario := Scenario{
		APIVersion: APIVersion, Kind: "Scenario",
		Spec: ScenarioSpec{
			Cluster:  ClusterSpec{KubeProxyMode: "iptables", PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.96.0.0/16", CNI: "ptp"},
			Requires: []string{"nf_conntrack", "xt_statistic"},
			Expect: Expectation{
				Mode: "iptables", Encoding: "iptables", Forbidden: []string{"nftables", "ipvs"},
				Selection: "random", Source: Source{ClusterIP: SourceClient, NodePort: SourceEntryNode},
				Translation: Translation{ClusterIP: TranslatedInPacket, NodePort: TranslatedInPacket},
			},
		},
	}
	experiment := Experiment{
		APIVersion: APIVersion, Kind: "Experiment",
		Spec: ExperimentSpec{
			Workload: Workload{
				Chart: "charts/echo", Namespace: "service-dataplane", Service: "echo-server",
				ClusterPort: 80, TargetPort: 8080, NodePort: 30081,
				Client: "client", ClientNode: "worker2", BackendNodes: []string{"worker", "worker2"},
			},
			Connections: 12,
			EntryPoints: []EntryPoint{
				{Name: "by-name", From: FromClient, To: ToServiceName},
				{Name: "by-port", From: FromHost, To: ToNodePort, Node: "worker"},
			},
			Checks: testChecks,
		},
	}
	lock := Lock{
		APIVersion: APIVersion, Kind: "Lock",
		Charts: []Chart{
			{Name: "cilium", Version: "1.20.2", Source: "images/cilium", Images: map[string]string{
				"agent": "quay.io/cilium/cilium:v1.20.2@sha256:2939231d0d3e3ebddcd80fffa168b7ddcc78fdf0dc864d1c8c126ff523c54f01",
			}},
			{Name: "cilium", Version: "1.19.8", Repository: "oci://quay.io/cilium/charts",
				Digest: "sha256:64d8798350e8569b8e7622563fed6e44dce2625f311e4651b774816516c744fc",
				Images: map[string]string{
					"agent": "quay.io/cilium/cilium:v1.19.8@sha256:e9f7ee1f2f3a41e44339612e3b6b88170bdde7679c9c9461f287bb27702a8ecf",
				}},
		},
	}
	for _, file := range files(t, "testdata/good/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got, err := loadTest(file)
			if err != nil {
				t.Fatal(err)
			}
			metadata := Metadata{Name: strings.TrimSuffix(filepath.Base(file), ".yaml"), Title: "A test"}
			scenario.Metadata, experiment.Metadata, lock.Metadata = metadata, metadata, metadata
			want := any(experiment)
			switch got.(type) {
			case Scenario:
				want = scenario
			case Lock:
				want = lock
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestNoFile(t *testing.T) {
	if _, err := LoadScenarios("testdata/none.yaml", Known{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := LoadLock("testdata/none.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// FuzzLoad: whatever is in a file, reading it ends with a subject or with
// faults that have a line of the file and a text.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.yaml", "../../scenarios/*.yaml", "../../experiments/*.yaml", "../../charts/lock.yaml"} {
		found, _ := filepath.Glob(pattern)
		for _, file := range found {
			raw, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s Scenario
		var e Experiment
		var l Lock
		for _, err := range []error{
			parse("scenario-plain.yaml", raw, &s, func(v *validation) { s.checkAll(v, testKnown) }),
			parse("experiment-plain.yaml", raw, &e, func(v *validation) { e.check(v, testChecks) }),
			parse("lock-plain.yaml", raw, &l, func(v *validation) { l.check(v) }),
		} {
			faults := (*Error)(nil)
			if err != nil && (!errors.As(err, &faults) || len(faults.Faults) == 0) {
				t.Fatalf("error %v has no faults", err)
			}
			if err == nil {
				continue
			}
			for _, fault := range faults.Faults {
				if fault.Line < 1 || fault.Line > lines(raw)+1 || fault.Text == "" {
					t.Errorf("fault %+v in a file of %d lines", fault, lines(raw))
				}
			}
		}
	})
}

// lines counts all that YAML takes for the end of a line.
func lines(raw []byte) int {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(string(raw))
	return strings.Count(text, "\n") + 1
}
