package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"service-dataplane/internal/diff"
)

// TestDiff is `runner diff` on two copies of a committed result.
func TestDiff(t *testing.T) {
	committed := os.DirFS("../../results/service-path/iptables")
	repo := tree(t)
	for _, side := range []string{"base", "new"} {
		if err := os.CopyFS(repo+"/"+side+"/service-path/iptables", committed); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(repo)
	compare := func(args ...string) (string, int) {
		out, err := runner(t.Context(), append([]string{"diff"}, args...)...)
		return out, exitCode(err)
	}
	if out, code := compare("base", "base"); code != exitPassed || out != "" {
		t.Errorf("the same: exit code %d\n%s", code, out)
	}

	replace(t, "new/service-path/iptables/run.yaml", "sigs.k8s.io/kind: v0.", "sigs.k8s.io/kind: v9.")
	if out, code := compare("base", "new"); code != exitPassed || !strings.HasPrefix(out, "provenance:\n  iptables: module sigs.k8s.io/kind v0.") {
		t.Errorf("another version: exit code %d\n%s", code, out)
	}

	replace(t, "new/service-path/iptables/raw/worker/iptables-nft-save.txt", "KUBE-SVC-A4KG4DGVQAT3OXM5 ! -s 10.244.0.0/16", "KUBE-SVC-A4KG4DGVQAT3OXM5")
	const what = "svc:echo-server ClusterIP 80: masquerade off-cluster → always"
	out, code := compare("base", "new")
	for _, want := range []string{"✗ iptables worker: " + what + "\n", "✗ iptables: check kernel.table: pass → fail\n", "note: NEW: new/service-path/iptables: raw is not as it was recorded"} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("masquerade added: exit code %d, want %q\n%s", code, want, out)
		}
	}
	if out, code = compare("base", "new", "-o", "markdown"); code != exitFailed || !strings.Contains(out, "| ✗ regression | `iptables` | worker | "+what+" |\n") {
		t.Errorf("markdown: exit code %d\n%s", code, out)
	}
	for form, decode := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal} {
		out, code := compare("base", "new", "--output", form)
		var r diff.Report
		if err := decode([]byte(out), &r); err != nil || code != exitFailed {
			t.Fatalf("%s: exit code %d, %v\n%s", form, code, err, out)
		}
		if d := r.Differences[0]; d.Kind != diff.Regression || d.Scenario != "iptables" || d.Nodes[0] != "worker" || !strings.HasSuffix(d.Text, "→ always") || len(r.Provenance) != 1 {
			t.Errorf("%s: %+v", form, r)
		}
	}

	if err := os.CopyFS("new/service-path/nftables", os.DirFS("new/service-path/iptables")); err != nil {
		t.Fatal(err)
	}
	replace(t, "new/service-path/nftables/run.yaml", "    name: iptables\n", "    name: nftables\n")
	if out, code := compare("new", "base"); code != exitFailed || !strings.Contains(out, "✗ nftables is missing in NEW\n") {
		t.Errorf("one is missing: exit code %d\n%s", code, out)
	}
	if out, code := compare("new", "base", "--allow-missing"); code != exitFailed || !strings.Contains(out, "– nftables is missing in NEW\n") {
		t.Errorf("which is allowed, but that is not all: exit code %d\n%s", code, out)
	}
	if out, code := compare("base", "new", "--allow-missing"); code != exitFailed || !strings.Contains(out, "– nftables is in NEW only\n") {
		t.Errorf("one is new: exit code %d\n%s", code, out)
	}
	if err := os.RemoveAll("new/service-path/iptables"); err != nil {
		t.Fatal(err)
	}
	if out, code := compare("base", "new", "--allow-missing"); code != exitUsage || out != "" {
		t.Errorf("nothing in common: exit code %d\n%s", code, out)
	}
}
