package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/diff"
	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

func statements(r diff.Report) []string {
	var all []string
	for _, d := range r.Differences {
		all = append(all, strings.Join(strings.Fields(string(d.Kind)+": "+d.Where()+" "+d.Statement()), " "))
	}
	return all
}

// TestDiffCommitted: results do not differ from themselves.
func TestDiffCommitted(t *testing.T) {
	c := copyOf(t)
	r, err := Diff(c.dir, c.dir, false)
	if err != nil || len(r.Compared) < 6 || len(r.Differences)+len(r.Provenance)+len(r.Notes) > 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

// lowest are the nodes of the two endpoints of the committed run of iptables, first
// the one of the lower address: kube-proxy writes its rule first.
func lowest(t *testing.T) (first, second string) {
	t.Helper()
	raw, err := os.ReadFile("../../results/service-path/iptables/evidence.json")
	if err != nil {
		t.Fatal(err)
	}
	var document results.Document
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	all := document.Evidence.Objects.Endpoints
	slices.SortFunc(all, func(a, b collect.Endpoint) int { return a.Address.Compare(b.Address) })
	return all[0].Node, all[1].Node
}

// TestDiffRawFiles changes one thing in the raw files of a run: a line says so,
// whatever the derived files beside them say.
func TestDiffRawFiles(t *testing.T) {
	const rules = "raw/worker/iptables-nft-save.txt"
	gone, left := lowest(t)
	way := func(share, node string) string {
		return fmt.Sprintf("%s to pod:echo-server@%s at 8080, masqueraded: yes", share, node)
	}
	ways := way("1/2", "worker") + ", " + way("1/2", "worker2") + " → " + way("1", left)
	tests := []struct {
		name, scenario string
		change         func(*copied)
		want           []string
	}{
		{"a backend is not chosen any more", "iptables", func(c *copied) {
			c.replace(rules, `^-A KUBE-SVC-\w+ -m comment --comment "service-dataplane/echo-server:http -> .*--probability.*\n`, "")
		}, []string{
			"regression: worker svc:echo-server ClusterIP 80: backend pod:echo-server@" + left + ": probability 0.5 → 1",
			"regression: worker svc:echo-server ClusterIP 80: backend pod:echo-server@" + gone + " is missing",
			"regression: worker svc:echo-server NodePort 30081: backend pod:echo-server@" + left + ": probability 0.5 → 1",
			"regression: worker svc:echo-server NodePort 30081: backend pod:echo-server@" + gone + " is missing",
			"regression: worker traffic nodeport-worker: walk: selection random → none",
			"regression: worker traffic nodeport-worker: walk: ways " + ways,
			"regression: worker traffic host-nodeport-worker: walk: selection random → none",
			"regression: worker traffic host-nodeport-worker: walk: ways " + ways,
			"regression: check traffic.selection: pass → fail",
			"regression: check traffic.traced: pass → fail",
			"regression: check kernel.table: pass → fail",
		}},
		{"another scheduler of IPVS", "ipvs", func(c *copied) {
			const file = "raw/worker/ip_vs.txt" // one row for each address of the node
			c.write(file, regexp.MustCompile(`(?m)^(TCP  \w+:7581) rr`).ReplaceAll(c.read(file), []byte("$1 lc")))
		}, []string{
			"regression: worker svc:echo-server NodePort 30081: selection round-robin → least-connection",
			"regression: worker traffic nodeport-worker: walk: selection round-robin → least-connection",
			"regression: worker traffic host-nodeport-worker: walk: selection round-robin → least-connection",
			"regression: check kernel.table: pass → fail",
		}},
		{"another scheduler", "cilium", func(c *copied) {
			c.replace("raw/worker/cilium-status.json", `"algorithm": "Random"`, `"algorithm": "Maglev"`)
		}, []string{
			"regression: worker svc:echo-server NodePort 30081 in cilium-bpf-lb-list.json: selection random → maglev",
			"regression: worker traffic host-nodeport-worker: walk: selection random → maglev",
			"regression: check kernel.table: pass → fail",
		}},
		{"every source is masqueraded", "iptables", func(c *copied) {
			c.replace(rules, `^(-A KUBE-SVC-A4KG4DGVQAT3OXM5) ! -s 10.244.0.0/16 `, "$1 ")
		}, []string{
			"regression: worker svc:echo-server ClusterIP 80: masquerade off-cluster → always",
			"regression: check kernel.table: pass → fail",
		}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			base := copyOf(t, "service-path", test.scenario)
			new := copyOf(t, "service-path", test.scenario)
			test.change(new)
			r, err := Diff(base.dir, new.dir, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := statements(r); !slices.Equal(got, test.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			want := []string{"NEW: " + new.dir + ": raw is not as it was recorded (1 of its files), normalized.json is not what the raw files lead to, which is what was compared; see runner verify"}
			if !slices.Equal(r.Notes, want) {
				t.Errorf("notes: %q, want %q", r.Notes, want)
			}
		})
	}
}

// TestDiffEditedNormalized: what is committed beside the raw files says nothing.
func TestDiffEditedNormalized(t *testing.T) {
	base, new := copyOf(t, "service-path", "iptables"), copyOf(t, "service-path", "iptables")
	base.replace(results.NormalizedFile, `"declared": "iptables"`, `"declared": "ipvs"`)
	r, err := Diff(base.dir, new.dir, false)
	if err != nil || len(r.Differences) > 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "BASE: "+base.dir) || !strings.Contains(r.Notes[0], "runner verify") {
		t.Errorf("%v, %q, %q", err, statements(r), r.Notes)
	}
}

// TestDiffVersion: other versions that show the same are provenance.
func TestDiffVersion(t *testing.T) {
	base, new := copyOf(t, "service-path", "iptables"), copyOf(t, "service-path", "iptables")
	new.replace(results.RunFile, `helm.sh/helm/v3: \S+`, "helm.sh/helm/v3: v3.99.0")
	r, err := Diff(base.dir, new.dir, false)
	if err != nil || len(r.Differences) > 0 || len(r.Provenance) != 1 || !strings.HasSuffix(r.Provenance[0].Text, "→ v3.99.0") {
		t.Errorf("%v, %q, %q", err, statements(r), r.Provenance)
	}
}

// TestDiffOtherScenario: two results by their directories, whatever they are of.
func TestDiffOtherScenario(t *testing.T) {
	dir := filepath.Join(committed, "service-path")
	r, err := Diff(filepath.Join(dir, "iptables"), filepath.Join(dir, "nftables"), false)
	if err != nil || len(r.Compared) != 1 || r.Compared[0].Scenario != "iptables → nftables" {
		t.Fatalf("%v, %+v", err, r.Compared)
	}
	for _, want := range []string{
		"regression: mode: declared iptables → nftables",
		"regression: every node svc:echo-server NodePort 30081 in nft-ruleset.json is new",
	} {
		if !slices.Contains(statements(r), want) {
			t.Errorf("no %q in\n%s", want, strings.Join(statements(r), "\n"))
		}
	}
}

func TestDiffCannot(t *testing.T) {
	c := copyOf(t, "service-path", "iptables")
	empty, twice := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.CopyFS(filepath.Join(twice, name), os.DirFS(c.dir)); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		base, new string
		says      []string
	}{
		"nothing there": {filepath.Join(empty, "nosuch"), c.dir, []string{"BASE: ", "nosuch: no such file or directory", "want a directory that runner run has written"}},
		"no results":    {c.dir, empty, []string{"NEW: " + empty + " holds no results", "run.yaml"}},
		"neither":       {empty, empty, []string{"BASE: ", "NEW: "}},
		"one twice":     {c.dir, twice, []string{"NEW: ", filepath.Join(twice, "a") + " and " + filepath.Join(twice, "b"), "name one of them"}},
	} {
		_, err := Diff(test.base, test.new, false)
		for _, want := range test.says {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}
