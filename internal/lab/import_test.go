package lab

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/check"
	"service-dataplane/internal/host"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// calicoMap is of what was recorded of Calico on a cluster that this runner did
// not make. The directory beside it has the files it names.
const calicoMap = "testdata/import/calico-ebpf-recorded.yaml"

// imports makes the options of an import, and says what a map may name.
func imports(t *testing.T, from string) (ImportOptions, spec.ImportKnown) {
	t.Helper()
	lock, err := spec.LoadLock("../../charts/lock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := spec.LoadScenarios("../../scenarios/calico-ebpf.yaml", spec.Known{Features: host.Known(), Charts: lock})
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := spec.LoadExperiment("../../experiments/service-path.yaml", check.IDs())
	if err != nil {
		t.Fatal(err)
	}
	recorded := os.DirFS(from)
	return ImportOptions{
			File: calicoMap, Recorded: recorded, Scenario: scenarios[0], Experiment: experiment,
			ResultsDir: filepath.Join(t.TempDir(), "results"),
		}, spec.ImportKnown{
			Scenarios: []string{scenarios[0].Metadata.Name}, Experiments: []string{experiment.Metadata.Name}, Recorded: recorded,
		}
}

// importCalico imports what was recorded, or a changed copy of it.
func importCalico(t *testing.T, from string) (Outcome, string, string) {
	t.Helper()
	o, known := imports(t, from)
	var err error
	if o.Map, err = spec.LoadImport(o.File, known); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	outcome, err := Import(o, progress.New(&said, false))
	if err != nil {
		t.Fatal(err)
	}
	return outcome, o.ResultsDir, said.String()
}

// recordedOfCalico is a copy that a test may change.
func recordedOfCalico(t *testing.T) *copied {
	t.Helper()
	c := &copied{t, t.TempDir()}
	if err := os.CopyFS(c.dir, os.DirFS(strings.TrimSuffix(calicoMap, ".yaml"))); err != nil {
		t.Fatal(err)
	}
	return c
}

// decided are the checks that what was recorded of Calico decides; the others
// are skipped for files that nobody recorded.
var decided = []string{"mode.actual", "mode.version", "objects.service", "objects.endpoints", "kernel.table"}

func TestImport(t *testing.T) {
	outcome, root, said := importCalico(t, recordedOfCalico(t).dir)
	if outcome.Verdict != collect.Pass || outcome.Scenario != "calico-ebpf" || outcome.Dir != filepath.Join(root, "service-path", "calico-ebpf-recorded") {
		t.Errorf("%s, %s in %s", outcome.Verdict, outcome.Scenario, outcome.Dir)
	}
	if said != "" {
		t.Errorf("the map names what nothing reads: %s", said)
	}
	for _, c := range outcome.Checks {
		want := collect.Skip
		if slices.Contains(decided, c.ID) {
			want = collect.Pass
		}
		if c.Verdict != want {
			t.Errorf("%s is %s, want %s: %s", c.ID, c.Verdict, want, c.Reason)
		}
		if c.Verdict == collect.Skip && !strings.Contains(c.Reason, "not recorded: ") && c.ID != "kernel.conntrack" {
			t.Errorf("%s is skipped: %s", c.ID, c.Reason)
		}
	}
	// Of the two maps there is no file but those it names, as they were.
	raw := os.DirFS(filepath.Join(outcome.Dir, results.RawDir))
	for to, from := range map[string]string{
		"cluster/services.json": "services-all.json", "worker2/calico-nat-dump.json": "worker2/nat-dump.json", "worker/iptables-legacy-save.txt": "worker/iptables-legacy-save.txt",
	} {
		got, err := fs.ReadFile(raw, to)
		want, wantErr := os.ReadFile(filepath.Join(strings.TrimSuffix(calicoMap, ".yaml"), from))
		if err != nil || wantErr != nil || string(got) != string(want) {
			t.Errorf("%s is not %s: %v, %v", to, from, err, wantErr)
		}
	}
	all, err := Verify(root)
	if err != nil || len(all) != 1 || all[0].Failed() || all[0].Undecided() {
		t.Errorf("verify: %+v, %v", all, err)
	}
	if changed, err := Update(root); err != nil || len(changed) > 0 {
		t.Errorf("update has changed %q, %v", changed, err)
	}
	run, err := results.ReadRun(outcome.Dir)
	if err != nil || run.Imported == nil || run.Imported.Map != "calico-ebpf-recorded" || !run.Started.IsZero() {
		t.Errorf("run.yaml: %+v, %v", run.Imported, err)
	}
	page := (&copied{t, outcome.Dir}).read(results.ReadmeFile)
	if !strings.Contains(string(page), "No run of this program made this evidence.") {
		t.Errorf("README begins %.500s", page)
	}
}

// TestImportRecords: the index has of each file what the map says of it.
func TestImportRecords(t *testing.T) {
	outcome, _, _ := importCalico(t, recordedOfCalico(t).dir)
	o, known := imports(t, strings.TrimSuffix(calicoMap, ".yaml"))
	m, err := spec.LoadImport(o.File, known)
	if err != nil {
		t.Fatal(err)
	}
	records := map[string]collect.Record{}
	for _, r := range index(t, outcome.Dir) {
		records[r.File] = r
	}
	for _, entry := range m.Spec.Files {
		for _, f := range entry.EachNode() {
			r, ok := records[f.To]
			delete(records, f.To)
			if !ok || r.Node != path.Dir(f.To) || !slices.Equal(r.Argv, f.Argv) || r.Stderr != f.Stderr || r.ExitCode != 0 || r.Outcome != collect.Captured || len(r.SHA256) != 64 {
				t.Errorf("%s is recorded as %+v", f.To, r)
			}
		}
	}
	if len(records) > 0 {
		t.Errorf("recorded as well: %v", records)
	}
}

// TestImportTwice: the same map and files give the same bytes, and take the
// former ones' place.
func TestImportTwice(t *testing.T) {
	o, known := imports(t, recordedOfCalico(t).dir)
	var err error
	if o.Map, err = spec.LoadImport(o.File, known); err != nil {
		t.Fatal(err)
	}
	var before fs.FS
	for range 2 {
		outcome, err := Import(o, progress.New(io.Discard, false))
		if err != nil {
			t.Fatal(err)
		}
		if before == nil {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(outcome.Dir)); err != nil {
				t.Fatal(err)
			}
			before = os.DirFS(dir)
			continue
		}
		err = fs.WalkDir(before, ".", func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			was, err := fs.ReadFile(before, file)
			if is := (&copied{t, outcome.Dir}).read(file); string(is) != string(was) {
				t.Errorf("%s is another one", file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if drafts, err := results.RemoveDrafts(o.ResultsDir); err != nil || len(drafts) > 0 {
		t.Errorf("left %q, %v", drafts, err)
	}
}

// TestImportAbsent: that something does not exist is evidence too, and what
// nothing reads is named.
func TestImportAbsent(t *testing.T) {
	o, _ := imports(t, recordedOfCalico(t).dir)
	o.Map = spec.Import{Metadata: spec.Metadata{Name: "absent"}, Spec: spec.ImportSpec{
		Recorded: "2026-11-29T15:04:00Z",
		Files: []spec.ImportedFile{
			{To: "cluster/kube-proxy-configmap.json", Argv: []string{"kubectl"}, Stderr: "Error from server (NotFound): not there", Absent: true},
			{From: "installation.json", To: "cluster/installation.json", Argv: []string{"kubectl"}},
			{From: "felixconfiguration.json", To: "cluster/felixconfiguration.json", Argv: []string{"kubectl"}},
			{From: "pods.json", To: "cluster/pod.json", Argv: []string{"kubectl"}},
		},
	}}
	var said strings.Builder
	outcome, err := Import(o, progress.New(&said, false))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "cluster/pod.json: no run records") || strings.Count(said.String(), "no run records") != 1 {
		t.Errorf("said %q", said.String())
	}
	i := slices.IndexFunc(outcome.Checks, func(c collect.Check) bool { return c.ID == "mode.declared" })
	if c := outcome.Checks[i]; c.Verdict != collect.Pass || !slices.ContainsFunc(c.Findings, func(f collect.Finding) bool { return f.Text == "kube-proxy has no ConfigMap" }) {
		t.Errorf("%+v", c)
	}
	records := index(t, outcome.Dir)
	i = slices.IndexFunc(records, func(r collect.Record) bool { return r.File == "cluster/kube-proxy-configmap.json" })
	if r := records[i]; r.Outcome != collect.NotThere || r.ExitCode != 1 || r.Bytes != 0 {
		t.Errorf("%+v", r)
	}
}

// TestImportOfText: older versions print the maps as text alone, and one form is
// enough.
func TestImportOfText(t *testing.T) {
	o, known := imports(t, recordedOfCalico(t).dir)
	var err error
	if o.Map, err = spec.LoadImport(o.File, known); err != nil {
		t.Fatal(err)
	}
	o.Map.Spec.Files = slices.DeleteFunc(o.Map.Spec.Files, func(f spec.ImportedFile) bool { return f.From == "{node}/nat-dump.json" })
	outcome, err := Import(o, progress.New(io.Discard, false))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range outcome.Checks {
		read := slices.ContainsFunc(c.Findings, func(f collect.Finding) bool { return f.Ref.File == "worker/calico-nat-dump.txt" })
		if slices.Contains(decided, c.ID) && c.Verdict != collect.Pass || c.ID == "kernel.table" && !read {
			t.Errorf("%s is %s: %s %+v", c.ID, c.Verdict, c.Reason, c.Findings)
		}
	}
}

// TestImportOfNothing: where no check can be made that is no pass.
func TestImportOfNothing(t *testing.T) {
	o, _ := imports(t, recordedOfCalico(t).dir)
	o.Map = spec.Import{Metadata: spec.Metadata{Name: "nothing"}, Spec: spec.ImportSpec{
		Files: []spec.ImportedFile{{From: "pods.json", To: "cluster/pods.json", Argv: []string{"kubectl"}}},
	}}
	outcome, err := Import(o, progress.New(io.Discard, false))
	if err != nil || outcome.Verdict != collect.Skip || outcome.Reason == "" {
		for _, c := range outcome.Checks {
			t.Log(c.ID, c.Verdict, c.Reason)
		}
		t.Errorf("%s, %q, %v", outcome.Verdict, outcome.Reason, err)
	}
}

// serviceRules are those of a Service as kube-proxy writes them.
const serviceRules = `:KUBE-SEP-GHKNKZT3RRJFZPKT - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-A4KG4DGVQAT3OXM5 - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SEP-GHKNKZT3RRJFZPKT -s 10.244.95.133/32 -m comment --comment "service-dataplane/echo-server:http" -j KUBE-MARK-MASQ
-A KUBE-SEP-GHKNKZT3RRJFZPKT -p tcp -m comment --comment "service-dataplane/echo-server:http" -m tcp -j DNAT --to-destination 10.244.95.133:8080
-A KUBE-SERVICES -d 10.96.221.2/32 -p tcp -m comment --comment "service-dataplane/echo-server:http cluster IP" -m tcp --dport 80 -j KUBE-SVC-A4KG4DGVQAT3OXM5
-A KUBE-SVC-A4KG4DGVQAT3OXM5 ! -s 10.244.0.0/16 -d 10.96.221.2/32 -p tcp -m comment --comment "service-dataplane/echo-server:http cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ
-A KUBE-SVC-A4KG4DGVQAT3OXM5 -m comment --comment "service-dataplane/echo-server:http -> 10.244.95.133:8080" -j KUBE-SEP-GHKNKZT3RRJFZPKT
`

// TestImportNegativeControls changes one thing in what was recorded and lists
// the one check that it must turn.
func TestImportNegativeControls(t *testing.T) {
	tests := []struct {
		name   string
		change func(c *copied)
		want   turned
	}{
		{"a backend missing on one node", func(c *copied) {
			c.replace("worker/nat-dump.json", `(?s)("addr": "10.96.221.2",.*?"count": )2(.*?"backends": \[\s*\{.*?\}),\s*\{.*?\}`, "${1}1$2")
		}, turned{"kernel.table", collect.Fail, "worker", "worker/calico-nat-dump.json"}},
		{"a Service that goes nowhere on one node", func(c *copied) {
			c.replace("worker2/nat-dump.json", `(?s)("addr": "10.96.221.2",.*?"count": )2,\s*"local": 1(.*?"backends": )\[.*?\]`, `${1}-1, "local": 0${2}null`)
		}, turned{"kernel.table", collect.Fail, "worker2", "worker2/calico-nat-dump.json"}},
		{"kube-proxy meant for three nodes", func(c *copied) {
			c.replace("kube-proxy-ds.json", `"desiredNumberScheduled": 0`, `"desiredNumberScheduled": 3`)
		}, turned{"mode.sole", collect.Fail, "cluster", "cluster/kube-proxy-daemonset.json"}},
		{"a rule for a Service in iptables", func(c *copied) {
			c.replace("worker/iptables-save.txt", `^(\*nat\n(?:.*\n)*?)(-A PREROUTING)`, "$1"+serviceRules+"$2")
		}, turned{"mode.sole", collect.Fail, "worker", "worker/iptables-nft-save.txt"}},
		{"eBPF not enabled", func(c *copied) {
			c.replace("felixconfiguration.json", `"bpfEnabled": true`, `"bpfEnabled": false`)
		}, turned{"mode.declared", collect.Fail, "cluster", "cluster/felixconfiguration.json"}},
		{"a component degraded", func(c *copied) {
			c.replace("tigerastatus.json", `"status": "False",(\s*"type": "Degraded")`, `"status": "True",$1`)
		}, turned{"mode.actual", collect.Fail, "cluster", "cluster/tigerastatus.json"}},
		{"another version on one node", func(c *copied) {
			c.replace("worker2/calico-node-v.txt", `v3\.31\.7`, "v3.31.6")
		}, turned{"mode.version", collect.Fail, "worker2", "worker2/calico-version.txt"}},
		{"translated to a stranger", func(c *copied) {
			c.replace("worker/conntrack-dump.json", `"10\.244\.95\.133:8080"(,\s*"orig_dst": "172\.18\.0\.6:30081")`, `"10.244.95.99:8080"$1`)
		}, turned{"kernel.conntrack", collect.Fail, "worker", "worker/calico-conntrack.json"}},
		{"the programs at connect() not listed", func(c *copied) {
			c.write("worker/bpftool-cgroup-show.json", []byte("[]\n"))
		}, turned{"mode.actual", collect.Inconclusive, "worker", "worker/calico-cgroup.json"}},
		{"a program at connect() of IPv6 alone", func(c *copied) {
			c.replace("worker/bpftool-cgroup-show.json", `\{[^}]*"calico_connect_v4"[^}]*\},`, "")
		}, turned{"mode.actual", collect.Inconclusive, "worker", "worker/calico-cgroup.json"}},
		{"a dump cut off", func(c *copied) {
			c.write("worker/nat-dump.json", c.read("worker/nat-dump.json")[:1000])
		}, turned{"kernel.table", collect.Inconclusive, "worker", "worker/calico-nat-dump.json"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			c := recordedOfCalico(t)
			test.change(c)
			outcome, root, _ := importCalico(t, c.dir)
			all, err := Verify(root)
			if err != nil || len(all) != 1 || len(all[0].Differences) > 0 || all[0].Failed() != (test.want.verdict == collect.Fail) {
				t.Errorf("verify: %+v, %v", all, err)
			}
			for _, check := range outcome.Checks {
				switch {
				case check.ID == test.want.id:
					if check.Verdict != test.want.verdict || !slices.ContainsFunc(check.Findings, func(f collect.Finding) bool {
						return f.Node == test.want.node && f.Ref.File == test.want.file
					}) {
						t.Errorf("%s is %s: %s %+v", check.ID, check.Verdict, check.Reason, check.Findings)
					}
				case slices.Contains(decided, check.ID) && check.Verdict != collect.Pass,
					!slices.Contains(decided, check.ID) && check.Verdict != collect.Skip && !cannotDecode.MatchString(test.name):
					t.Errorf("%s is %s too: %s", check.ID, check.Verdict, check.Reason)
				}
			}
		})
	}
}

// cannotDecode: what is not understood is no more skipped.
var cannotDecode = regexp.MustCompile(`cut off`)

// TestImportNotThere: of files that are not there nothing is written.
func TestImportNotThere(t *testing.T) {
	c := recordedOfCalico(t)
	c.remove("worker/nat-dump.json")
	o, known := imports(t, c.dir)
	_, err := spec.LoadImport(o.File, known)
	if err == nil || !strings.Contains(err.Error(), `"worker/nat-dump.json" is not there`) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(o.ResultsDir); !os.IsNotExist(err) {
		t.Errorf("%s: %v", o.ResultsDir, err)
	}
}

// index is what raw/index.json of a result directory has.
func index(t *testing.T, dir string) []collect.Record {
	t.Helper()
	var records []collect.Record
	if err := json.Unmarshal((&copied{t, dir}).read("raw/index.json"), &records); err != nil {
		t.Fatal(err)
	}
	return records
}
