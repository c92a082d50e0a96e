package lab

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/check"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// wrongPool is the run of a refusal in this tree.
var wrongPool = filepath.Join("calico-wrong-pool", "calico-ebpf")

// verdicts are the checks that did not pass.
func verdicts(checks []collect.Check) []string {
	var all []string
	for _, c := range checks {
		if c.Verdict != collect.Pass {
			all = append(all, c.ID+" "+string(c.Verdict))
		}
	}
	return all
}

// TestVerifyRefusal: a run of a refusal is verified as all others are, with its own
// page.
func TestVerifyRefusal(t *testing.T) {
	const status, proxy = "raw/cluster/tigerastatus.json", "raw/cluster/kube-proxy-daemonset.json"
	derived := []string{"README.md: line", "evidence.json: line", "normalized.json: line"}
	tests := []struct {
		name        string
		change      func(c *copied)
		checks      []string
		differences []string
	}{
		{"untouched", func(*copied) {}, nil, nil},
		{"the operator says something else", func(c *copied) { c.replace(status, `is not within the platform's`, "overlaps with the platform's") },
			[]string{"refusal.stated fail"}, append([]string{status + ": changed", "evidence.json: records check refusal.stated as pass"}, derived...)},
		{"kube-proxy meant for no node", func(c *copied) { c.replace(proxy, `"desiredNumberScheduled":3`, `"desiredNumberScheduled":0`) },
			[]string{"refusal.untouched fail"}, append([]string{proxy + ": changed", "evidence.json: records check refusal.untouched as pass"}, derived...)},
		{"the operator's words missing", func(c *copied) { c.remove(status) },
			[]string{"refusal.stated inconclusive", "collect.complete inconclusive"},
			append([]string{status + ": missing", "evidence.json: records check refusal.stated as pass", "evidence.json: records check collect.complete as pass"}, derived...)},
		{"another message wanted", func(c *copied) { c.replace("run.yaml", `(message: )is not within .*`, "${1}no such pool") },
			[]string{"refusal.stated fail"}, append([]string{"evidence.json: records check refusal.stated as pass"}, derived...)},
		{"another mode of kube-proxy to begin with", func(c *copied) { c.replace("run.yaml", `(\n    cluster:\n +kubeProxyMode: )iptables`, "${1}nftables") },
			[]string{"refusal.untouched fail"}, append([]string{"evidence.json: records check refusal.untouched as pass"}, derived...)},
		{"another pool asked for", func(c *copied) { c.replace("run.yaml", `(cidr: )192\.168\.0\.0/16`, "${1}172.16.0.0/16") }, nil, []string{"README.md: line"}},
		{"README edited", func(c *copied) { c.replace("README.md", `\z`, "All is well.\n") }, nil, []string{"README.md: line"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			c := copyOf(t, wrongPool)
			test.change(c)
			all, err := Verify(c.dir)
			if err != nil || len(all) != 1 {
				t.Fatal(err, len(all))
			}
			if got := verdicts(all[0].Checks); !slices.Equal(got, test.checks) || len(all[0].Checks) != 3 {
				t.Errorf("of %d checks: %q, want %q", len(all[0].Checks), got, test.checks)
			}
			left := slices.Clone(test.differences)
			for _, d := range all[0].Differences {
				i := slices.IndexFunc(left, func(want string) bool { return strings.HasPrefix(d.File+": "+d.Text, want) })
				if i < 0 {
					t.Errorf("also differs: %s: %s", d.File, d.Text)
					continue
				}
				left = slices.Delete(left, i, i+1)
			}
			if len(left) > 0 {
				t.Errorf("does not differ: %q", left)
			}
			if page := string(c.read(results.ReadmeFile)); !strings.Contains(page, "## What the operator says") || strings.Contains(page, "## 3 Traffic") {
				t.Errorf("the page is another one:\n%.500s", page)
			}
		})
	}
}

// TestImportRefusal: evidence of a refusal that was recorded elsewhere is judged and
// shown as that of a run is, and what nobody recorded is skipped.
func TestImportRefusal(t *testing.T) {
	const status, proxyMode = "cluster/tigerastatus.json", "worker/proxyMode.txt"
	for _, test := range []struct {
		name    string
		without []string
		checks  []string
	}{
		{"whole", nil, nil},
		{"without the operator's words", []string{status}, []string{"refusal.stated skip", "collect.complete skip"}},
		{"without a node's mode", []string{proxyMode}, []string{"refusal.untouched skip", "collect.complete skip"}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			c := copyOf(t, wrongPool)
			o, _ := imports(t, filepath.Join(c.dir, results.RawDir))
			var err error
			if o.Experiment, err = spec.LoadExperiment("../../experiments/calico-wrong-pool.yaml", check.IDs()); err != nil {
				t.Fatal(err)
			}
			o.Map = spec.Import{Metadata: spec.Metadata{Name: "by-hand"}, Spec: spec.ImportSpec{Recorded: "2026-11-29T15:04:00Z", On: "a cluster"}}
			for _, r := range index(t, c.dir) {
				if !slices.Contains(test.without, r.File) {
					o.Map.Spec.Files = append(o.Map.Spec.Files, spec.ImportedFile{From: r.File, To: r.File, Argv: r.Argv, Stderr: r.Stderr, Absent: r.Outcome == collect.NotThere})
				}
			}
			var said strings.Builder
			outcome, err := Import(o, progress.New(&said, false))
			if err != nil || outcome.Verdict != collect.Pass {
				t.Fatalf("%s, %v", outcome.Verdict, err)
			}
			if got := verdicts(outcome.Checks); !slices.Equal(got, test.checks) || len(outcome.Checks) != 3 {
				t.Errorf("of %d checks: %q, want %q", len(outcome.Checks), got, test.checks)
			}
			page := string((&copied{t, outcome.Dir}).read(results.ReadmeFile))
			if !strings.Contains(page, "No run of this program made this evidence.") || !strings.Contains(page, "## What the operator says") {
				t.Errorf("the page begins %.500s", page)
			}
			for _, file := range test.without {
				if strings.Contains(page, "(raw/"+file) {
					t.Errorf("the page leads to %s, which is not there", file)
				}
			}
			if index := string((&copied{t, o.ResultsDir}).read(results.ReadmeFile)); !strings.Contains(index, "| [calico-ebpf, recorded](calico-wrong-pool/by-hand/README.md) |") || !strings.Contains(index, "| 2026-11-29 |") {
				t.Errorf("the index is\n%s", index)
			}
			if all, err := Verify(o.ResultsDir); err != nil || len(all) != 1 || all[0].Failed() {
				t.Errorf("verify: %+v, %v", all, err)
			}
		})
	}
}
