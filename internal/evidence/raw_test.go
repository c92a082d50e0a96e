package evidence

import (
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

var scenarios = []string{"iptables", "nftables"}

// filesOf takes a raw directory into memory.
func filesOf(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	raw := os.DirFS(dir)
	err := fs.WalkDir(raw, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(raw, file)
		files[file] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func load(t *testing.T, scenario string) (fstest.MapFS, spec.Scenario, spec.Experiment) {
	t.Helper()
	files := filesOf(t, "testdata/"+scenario+"/raw")
	s := spec.Scenario{Metadata: spec.Metadata{Name: scenario}}
	s.Spec.Expect = spec.Expectation{
		Mode: scenario, Encoding: scenario, Selection: "random",
		Source:      spec.Source{ClusterIP: spec.SourceClient, NodePort: spec.SourceEntryNode},
		Translation: spec.Translation{ClusterIP: spec.TranslatedInPacket, NodePort: spec.TranslatedInPacket},
	}
	x, err := spec.LoadExperiment("../../experiments/service-path.yaml", nil)
	if x.Metadata.Name == "" { // its checks are not known here, which is an error
		t.Fatal(err)
	}
	return files, s, x
}

func TestDecode(t *testing.T) {
	for _, scenario := range scenarios {
		raw, s, x := load(t, scenario)
		e, err := Decode(raw, s, x)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range e.Problems {
			t.Errorf("%s: %s: %s", scenario, p.File, p.Text)
		}
		if len(e.Nodes) != 3 || len(e.Kernel) != 3 || len(e.Mode.Nodes) != 3 || len(e.Traffic) != len(x.Spec.EntryPoints) {
			t.Errorf("%s: %d nodes, %d kernels, %d modes, %d entry points", scenario, len(e.Nodes), len(e.Kernel), len(e.Mode.Nodes), len(e.Traffic))
		}
		for i, node := range e.Nodes {
			own := slices.Contains(node.Addresses, node.InternalIP)
			if node.Role != spec.Roles[i] || !own || node.KernelRelease == "" || !node.PodCIDR.IsValid() || node.KubeletVersion == "" {
				t.Errorf("%s: node %+v", scenario, node)
			}
		}
		if len(e.Objects.Endpoints) != 2 || e.Objects.Endpoints[0].Node != "worker" || !e.Objects.ClientIP.IsValid() {
			t.Errorf("%s: objects %+v", scenario, e.Objects)
		}
		if got := len(e.Kernel[0].Table(scenario).Frontends); got != len(e.Objects.Expected.Frontends) || got == 0 {
			t.Errorf("%s: %d frontends, expected %d", scenario, got, len(e.Objects.Expected.Frontends))
		}
	}
}

func TestNoIndexIsAnError(t *testing.T) {
	for name, raw := range map[string]fstest.MapFS{
		"none":       {},
		"no JSON":    {IndexFile: {Data: []byte("[")}},
		"file twice": {IndexFile: {Data: []byte(`[{"file":"a"},{"file":"a"}]`)}},
	} {
		if _, err := Decode(raw, spec.Scenario{}, spec.Experiment{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestUnusable: a file that cannot be used is named, once, and nothing is made
// of it.
func TestUnusable(t *testing.T) {
	const file = "worker/iptables-nft-save.txt"
	tests := []struct {
		name   string
		file   string
		change func(raw fstest.MapFS)
		want   string // in the problem
	}{
		{"missing", file, func(raw fstest.MapFS) { delete(raw, file) }, "missing"},
		{"truncated", file, func(raw fstest.MapFS) { raw[file].Data = raw[file].Data[:len(raw[file].Data)/2] }, "line"},
		{"failed", file, func(raw fstest.MapFS) { index(raw, file, collect.Failed) }, "exit code 1: Permission denied"},
		{"never collected", file, func(raw fstest.MapFS) { index(raw, file, "") }, "never collected"},
		{"absent where that is no answer", ServicesFile, func(raw fstest.MapFS) { index(raw, ServicesFile, collect.NotThere) }, "exit code 1: Permission denied"},
		{"outside of the directory", "../secret", func(raw fstest.MapFS) {
			raw[IndexFile].Data = []byte(strings.Replace(string(raw[IndexFile].Data), `"`+file+`"`, `"../secret"`, 1))
		}, "missing"},
		{"half a list", PodsFile, func(raw fstest.MapFS) {
			raw[PodsFile].Data = []byte(`{"kind":"PodList","metadata":{"continue":"abc"},"items":[]}`)
		}, "first part"},
		{"an unknown node", NodesFile, func(raw fstest.MapFS) {
			raw[NodesFile].Data = regexp.MustCompile(`"name": ?"[a-z-]*-worker2"`).ReplaceAll(raw[NodesFile].Data, []byte(`"name":"stranger"`))
		}, "stranger"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw, s, x := load(t, "iptables")
			test.change(raw)
			e, err := Decode(raw, s, x)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, p := range e.Problems {
				if p.File == test.file && strings.Contains(p.Text, test.want) {
					found++
				}
			}
			if found != 1 {
				t.Errorf("problems %+v, want one of %s that says %q", e.Problems, test.file, test.want)
			}
			if test.file == file && (e.Kernel[1].LiveIptables != "" || e.Kernel[1].IptablesRules != nil) {
				t.Errorf("live back end %q", e.Kernel[1].LiveIptables)
			}
		})
	}
}

// index sets the outcome of a command; "" takes it out of the index.
func index(raw fstest.MapFS, file string, outcome collect.Outcome) {
	var records []collect.Record
	if err := json.Unmarshal(raw[IndexFile].Data, &records); err != nil {
		panic(err)
	}
	i := slices.IndexFunc(records, func(r collect.Record) bool { return r.File == file })
	records[i].Outcome, records[i].ExitCode, records[i].Stderr = outcome, 1, "Permission denied\n"
	if outcome == "" {
		records = slices.Delete(records, i, i+1)
	}
	raw[IndexFile].Data, _ = json.Marshal(records)
}

func TestAltered(t *testing.T) {
	const file = "worker2/kube-proxy.log"
	tests := []struct {
		name   string
		change func(raw fstest.MapFS)
		want   string // "node file: text"
	}{
		{"nothing", func(fstest.MapFS) {}, ""},
		{"one byte", func(raw fstest.MapFS) { raw[file].Data[0] ^= 1 }, "worker2 worker2/kube-proxy.log: changed"},
		{"missing", func(raw fstest.MapFS) { delete(raw, file) }, "worker2 worker2/kube-proxy.log: missing"},
		{"extra", func(raw fstest.MapFS) { raw["worker/notes.txt"] = &fstest.MapFile{} }, "worker worker/notes.txt: not in index.json"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw, _, _ := load(t, "iptables")
			test.change(raw)
			altered, err := Altered(raw)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range altered {
				got += p.Node + " " + p.File + ": " + p.Text
			}
			if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("altered: %q, want %q", got, test.want)
			}
		})
	}
}
