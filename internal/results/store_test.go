package results

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"service-dataplane/internal/host"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
)

// tree is what lies below a directory: files by path, directories with a
// slash.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
			return err
		case entry.IsDir():
			found[path+"/"] = ""
			return nil
		}
		content, err := fs.ReadFile(root, path)
		found[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func writeOld(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, file := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDraft: what is at the target before and after, whatever becomes of the
// draft. Nothing of it may be left beside the target.
func TestDraft(t *testing.T) {
	old := map[string]string{"x/": "", "x/s/": "", "x/s/run.yaml": "old", "x/s/raw/": "", "x/s/raw/gone.txt": "old"}
	whole := map[string]string{"x/": "", "x/s/": "", "x/s/run.yaml": "new", "x/s/README.md": "new", "x/s/raw/": "", "x/s/raw/a.txt": "new"}
	tests := []struct {
		name   string
		before map[string]string
		end    func(*Draft) error
		fails  bool
		want   map[string]string
	}{
		{"committed for the first time", nil, (*Draft).Commit, false, whole},
		{"committed", old, (*Draft).Commit, false, whole},
		{"committed, then discarded", old, func(d *Draft) error {
			if err := d.Commit(); err != nil {
				return err
			}
			return d.Discard()
		}, false, whole},
		{"discarded", old, (*Draft).Discard, false, old},
		{"discarded twice", old, func(d *Draft) error {
			if err := d.Discard(); err != nil {
				return err
			}
			return d.Discard()
		}, false, old},
		{"discarded without a target", nil, (*Draft).Discard, false, map[string]string{"x/": ""}},
		{"committed after it was removed", old, func(d *Draft) error {
			if err := os.RemoveAll(d.Dir); err != nil {
				return err
			}
			return d.Commit()
		}, true, old},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			if test.before != nil {
				writeOld(t, root, "x/s/run.yaml", "x/s/raw/gone.txt")
			}
			d, err := NewDraft(root, "x", "s")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(d.Raw(), 0o755); err != nil {
				t.Fatal(err)
			}
			files := map[string][]byte{RunFile: []byte("new"), ReadmeFile: []byte("new"), filepath.Join(RawDir, "a.txt"): []byte("new")}
			if err := d.Write(files); err != nil {
				t.Fatal(err)
			}
			if test.before != nil {
				now := tree(t, root)
				maps.DeleteFunc(now, func(path, _ string) bool { return strings.Contains(path, ".draft-") })
				if !maps.Equal(now, old) {
					t.Errorf("the draft alone has changed the target: %v", now)
				}
			}
			if err := test.end(d); (err != nil) != test.fails {
				t.Fatal(err)
			}
			if got := tree(t, root); !maps.Equal(got, test.want) {
				t.Errorf("left is %v, want %v", got, test.want)
			}
		})
	}
}

// TestDraftIsBesideItsTarget: on one file system, hidden, and readable by all
// once it is there.
func TestDraftIsBesideItsTarget(t *testing.T) {
	root := t.TempDir()
	d, err := NewDraft(root, "x", "s")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(root, "x", "s"); d.Target() != want || filepath.Dir(d.Dir) != filepath.Dir(want) || filepath.Base(d.Dir)[0] != '.' {
		t.Errorf("draft %s of %s, want target %s", d.Dir, d.Target(), want)
	}
	if info, err := os.Stat(d.Dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	other, err := NewDraft(root, "x", "s")
	if err != nil || other.Dir == d.Dir {
		t.Errorf("two drafts share %s, %v", d.Dir, err)
	}
}

func TestWriteFails(t *testing.T) {
	d, err := NewDraft(t.TempDir(), "x", "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(map[string][]byte{"nosuch/file": nil}); err == nil {
		t.Error("a file in a directory that is not there is written")
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	writeOld(t, root,
		"README.md",
		"service-path/nftables/run.yaml", "service-path/nftables/raw/worker/uname.txt",
		"service-path/iptables/run.yaml",
		"service-path/.iptables.draft-1/run.yaml",
		"service-path/unfinished/README.md",
		".hidden/ipvs/run.yaml",
		"affinity/iptables/run.yaml",
	)
	tests := []struct {
		dir  string
		want []string
	}{
		{"", []string{"affinity/iptables", "service-path/iptables", "service-path/nftables"}},
		{"service-path", []string{"service-path/iptables", "service-path/nftables"}},
		{"service-path/iptables", []string{"service-path/iptables"}},
		{"service-path/.iptables.draft-1", []string{"service-path/.iptables.draft-1"}}, // asked for
		{"service-path/unfinished", nil},
	}
	for _, test := range tests {
		got, err := Find(filepath.Join(root, test.dir))
		for i := range got {
			got[i], _ = filepath.Rel(root, got[i])
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("below %q: %q, %v; want %q", test.dir, got, err, test.want)
		}
	}
	if _, err := Find(filepath.Join(root, "nosuch")); err == nil {
		t.Error("nothing is wrong with a directory that is not there")
	}
}

func TestRemoveDrafts(t *testing.T) {
	root := t.TempDir()
	writeOld(t, root,
		"README.md", ".README.md-1",
		"service-path/iptables/run.yaml",
		"service-path/iptables/.x.draft-1",
		"service-path/.iptables.draft-1/raw/worker/uname.txt",
		"service-path/.nftables.draft-2/run.yaml",
		"affinity/.ipvs.draft-3/run.yaml",
		"affinity/.draft",
		"affinity/ipvs.draft-4/run.yaml",
	)
	removed, err := RemoveDrafts(root)
	for i := range removed {
		removed[i], _ = filepath.Rel(root, removed[i])
	}
	want := []string{"affinity/.ipvs.draft-3", "service-path/.iptables.draft-1", "service-path/.nftables.draft-2"}
	if slices.Sort(removed); err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %q, %v; want %q", removed, err, want)
	}
	left := slices.DeleteFunc(slices.Sorted(maps.Keys(tree(t, root))), func(path string) bool { return strings.HasSuffix(path, "/") })
	want = []string{".README.md-1", "README.md", "affinity/.draft", "affinity/ipvs.draft-4/run.yaml", "service-path/iptables/.x.draft-1", "service-path/iptables/run.yaml"}
	if !slices.Equal(left, want) {
		t.Errorf("left is %q, want %q", left, want)
	}
	if removed, err := RemoveDrafts(filepath.Join(root, "nosuch")); err != nil || len(removed) > 0 {
		t.Errorf("where there are no results: %q, %v", removed, err)
	}
}

// full is a run with a value in every field.
func full() Run {
	return Run{
		APIVersion: spec.APIVersion, Kind: runKind,
		Started:    time.Date(2026, 11, 29, 17, 59, 26, 0, time.UTC),
		Argv:       []string{"runner", "run", "--scenario", "iptables,nftables"},
		Harness:    Harness{Revision: "c0792f1", Modified: true, Modules: map[string]string{"sigs.k8s.io/kind": "v0.31.0"}, GoVersion: "go1.26.0"},
		Host:       host.Facts{KernelRelease: "6.18.44", OS: "Debian GNU/Linux 12", Arch: "amd64", CgroupVersion: "v2", CPUs: 2, MemoryBytes: 8 << 30, EngineVersion: "28.0.0", StorageDriver: "overlay2", MissingCapabilities: []string{"CAP_SYS_RESOURCE"}},
		Image:      imagebuild.Image{Reference: "kindest/node:v1.35.0", ID: "sha256:1", Origin: "source", ContentKey: "662f9e07b7bfcd05", Bytes: 1 << 29},
		Workload:   WorkloadImage{Reference: "echo:1", Chart: "echo-0.1.0"},
		Bundle:     &Bundle{SHA256: strings.Repeat("0f", 32), Created: time.Date(2026, 11, 29, 20, 12, 4, 0, time.UTC), Revision: "d1a03e7"},
		KindConfig: "kind: Cluster\n# two lines, and one that is \"quoted\"\n",
		Scenario: spec.Scenario{
			APIVersion: spec.APIVersion, Kind: "Scenario", Metadata: spec.Metadata{Name: "iptables", Title: "kube-proxy: iptables"},
			Spec: spec.ScenarioSpec{
				Cluster:  spec.ClusterSpec{KubeProxyMode: "iptables", PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.96.0.0/16", CNI: "ptp", KubeadmConfigPatches: []string{"kind: KubeletConfiguration\n"}},
				Requires: []string{"nf_conntrack"},
				Expect:   spec.Expectation{Mode: "iptables", Encoding: "iptables", Forbidden: []string{"ipvs"}, Selection: "random", Source: spec.Source{ClusterIP: "client", NodePort: "entry-node"}},
			},
		},
		Experiment: spec.Experiment{
			APIVersion: spec.APIVersion, Kind: "Experiment", Metadata: spec.Metadata{Name: "service-path", Title: "The path"},
			Spec: spec.ExperimentSpec{
				Workload:    spec.Workload{Chart: "charts/echo", Namespace: "n", Service: "s", ClusterPort: 80, TargetPort: 8080, NodePort: 30081, Client: "c", ClientNode: "worker2", BackendNodes: []string{"worker"}},
				Connections: 12,
				EntryPoints: []spec.EntryPoint{{Name: "e", From: "client", To: "node-port", Node: "worker"}},
				Checks:      []string{"mode.actual"},
			},
		},
		Timings: []progress.Timing{{Step: "create: the cluster", Seconds: 57.444, Failed: true}},
	}
}

func TestRunRoundTrip(t *testing.T) {
	want := full()
	unnamed := want
	unnamed.APIVersion, unnamed.Kind = "", "" // are set by MarshalRun
	raw, err := MarshalRun(unnamed)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, RunFile), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v\nwant\n%+v", got, want)
	}
	if again, err := MarshalRun(got); err != nil || string(again) != string(raw) {
		t.Errorf("written again it is other bytes, %v:\n%s", err, again)
	}
}

// TestRunBundle: what a run was made from is read again as it was, also where
// there is nothing to know it by.
func TestRunBundle(t *testing.T) {
	created := time.Date(2026, 11, 29, 20, 12, 4, 0, time.UTC)
	for _, test := range []struct {
		name   string
		bundle *Bundle
		yaml   string // in run.yaml
	}{
		{"none", nil, ""},
		{"a file", &Bundle{SHA256: "0f", Created: created, Revision: "d1a03e7"}, "bundle:\n  sha256: 0f\n  created: 2026-11-29T20:12:04Z\n  revision: d1a03e7\n"},
		{"a digest of digits", &Bundle{SHA256: "0123", Created: created}, "bundle:\n  sha256: \"0123\"\n  created: 2026-11-29T20:12:04Z\n"},
		{"a digest that reads as a number", &Bundle{SHA256: "12e4"}, "bundle:\n  sha256: \"12e4\"\n"},
		{"a directory", &Bundle{}, "bundle: {}\n"},
	} {
		want := full()
		want.Bundle = test.bundle
		raw, err := MarshalRun(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(raw), "\nbundle:"); got != (test.bundle != nil) || !strings.Contains(string(raw), "\n"+test.yaml) {
			t.Errorf("%s: want %q in\n%s", test.name, test.yaml, raw)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, RunFile), raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadRun(dir); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read %+v, %v; want %+v", test.name, got.Bundle, err, test.bundle)
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Run
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got.Bundle, test.bundle) || strings.Contains(string(text), "0001-01-01") {
			t.Errorf("%s: as JSON %+v, %v; want %+v", test.name, got.Bundle, err, test.bundle)
		}
	}
}

func TestReadRunIsStrict(t *testing.T) {
	raw, err := MarshalRun(full())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, old, with, want string }{
		{"an unknown field", "timings:\n", "weather: fine\ntimings:\n", "weather"},
		{"an unknown field within", "  revision: ", "  revisoin: ", "revisoin"},
		{"an unknown field of a bundle", "bundle:\n  sha256: ", "bundle:\n  sha512: ", "sha512"},
		{"another kind", "kind: Run\n", "kind: Scenario\n", "Scenario"},
		{"another version", "v1alpha1\nkind: Run\n", "v1\nkind: Run\n", "service-dataplane/v1 Run, want service-dataplane/v1alpha1 Run"},
		{"another type", "connections: 12", "connections: twelve", "twelve"},
		{"not YAML", "kind: Run\n", "kind: [\n", "line"},
		{"empty", string(raw), "", "EOF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), RunFile)
			changed := strings.Replace(string(raw), test.old, test.with, 1)
			if changed == string(raw) {
				t.Fatalf("run.yaml has no %q", test.old)
			}
			if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := ReadRun(filepath.Dir(file))
			if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %s and %s", err, file, test.want)
			}
		})
	}
	if _, err := ReadRun(t.TempDir()); !os.IsNotExist(err) {
		t.Errorf("a directory without run.yaml: %v", err)
	}
}
