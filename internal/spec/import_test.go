package spec

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// recorded is a directory that maps of testdata/import are of.
func recorded() ImportKnown {
	files := fstest.MapFS{}
	for _, name := range []string{
		"services-all.json", "worker/worker-alone.txt",
		"control-plane/nat-dump.json", "worker/nat-dump.json", "worker2/nat-dump.json",
	} {
		files[name] = &fstest.MapFile{}
	}
	return ImportKnown{Scenarios: []string{"calico-ebpf", "iptables"}, Experiments: []string{"service-path"}, Recorded: files}
}

func TestImport(t *testing.T) {
	got, err := LoadImport("testdata/import/plain.yaml", recorded())
	if err != nil {
		t.Fatal(err)
	}
	want := Import{
		APIVersion: APIVersion, Kind: "Import", Metadata: Metadata{Name: "plain", Title: "A test"},
		Spec: ImportSpec{
			Scenario: "calico-ebpf", Experiment: "service-path", Recorded: "2026-11-29T15:04:00Z", On: "a cluster",
			Files: []ImportedFile{
				{From: "services-all.json", To: "cluster/services.json", Argv: []string{"kubectl", "get", "services", "-A", "-o", "json"}},
				{From: "{node}/nat-dump.json", To: "{node}/calico-nat-dump.json", Argv: []string{"kubectl", "exec", "calico-{node}", "--", "calico-node", "-bpf", "nat", "dump", "--json"}},
				{
					To: "cluster/kube-proxy-configmap.json", Argv: []string{"kubectl", "-n", "kube-system", "get", "configmap", "kube-proxy", "-o", "json"},
					Stderr: `Error from server (NotFound): configmaps "kube-proxy" not found`, Absent: true,
				},
			},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if when := got.Spec.Time(); !when.Equal(time.Date(2026, 11, 29, 15, 4, 0, 0, time.UTC)) {
		t.Errorf("recorded at %v", when)
	}
	if one := got.Spec.Files[0].EachNode(); len(one) != 1 || !reflect.DeepEqual(one[0], got.Spec.Files[0]) {
		t.Errorf("of the cluster: %+v", one)
	}
	each := got.Spec.Files[1].EachNode()
	if len(each) != 3 || each[2].From != "worker2/nat-dump.json" || each[2].To != "worker2/calico-nat-dump.json" || each[2].Argv[2] != "calico-worker2" {
		t.Errorf("of each node: %+v", each)
	}
	if got.Spec.Files[1].Argv[2] != "calico-{node}" {
		t.Errorf("the map's own entry has become %q", got.Spec.Files[1].Argv)
	}
}

// TestBadImports: every mistake of a map at once, each with its line.
func TestBadImports(t *testing.T) {
	for _, file := range files(t, "testdata/import/bad-*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := LoadImport(file, recorded())
			wantFaults(t, file, err)
		})
	}
}

// FuzzImport: whatever is in a map, reading it ends with faults that have a line
// of the file, or with files to write each once below raw/.
func FuzzImport(f *testing.F) {
	for _, pattern := range []string{"testdata/import/*.yaml", "../lab/testdata/import/*.yaml"} {
		found, _ := filepath.Glob(pattern)
		for _, file := range found {
			raw, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	known := recorded()
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m Import
		err := parse("plain.yaml", raw, &m, func(v *validation) { m.check(v, known) })
		faults := (*Error)(nil)
		if errors.As(err, &faults) {
			for _, fault := range faults.Faults {
				if fault.Line < 1 || fault.Line > lines(raw)+1 || fault.Text == "" {
					t.Errorf("fault %+v in a file of %d lines", fault, lines(raw))
				}
			}
			return
		}
		if err != nil {
			t.Fatalf("error %v has no faults", err)
		}
		var written []string
		for _, entry := range m.Spec.Files {
			for _, one := range entry.EachNode() {
				if place, name, _ := strings.Cut(one.To, "/"); place == "" || !rawName.MatchString(name) || slices.Contains(written, one.To) || !filepath.IsLocal(one.To) {
					t.Errorf("would write %q, after %q", one.To, written)
				}
				written = append(written, one.To)
			}
		}
		if len(written) == 0 || bytes.TrimSpace(raw) == nil {
			t.Error("nothing to write")
		}
	})
}
