package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// TestTrace is `runner trace` on a copy of a committed result.
func TestTrace(t *testing.T) {
	repo := tree(t)
	dir := filepath.Join(repo, "result")
	if err := os.CopyFS(dir, os.DirFS("../../results/service-path/iptables")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(repo)
	node := nodeAddress(t, dir)
	walk := func(more ...string) (string, int) {
		out, err := runner(t.Context(), append([]string{"trace", "result", "--node", "worker2", "--from", "client"}, more...)...)
		return out, exitCode(err)
	}
	out, code := walk("--to", node+":30081")
	if code != exitPassed {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for _, want := range []string{
		"1     nat PREROUTING ", " worker2/iptables-nft-save.txt:",
		"marked for masquerade: yes: worker2/iptables-nft-save.txt:",
		"of new connections, random:\n1/2   pod:echo-server@worker",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for form, decode := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal} {
		out, code := walk("--to", node+":30081", "--output", form)
		var r collect.Walk
		if err := decode([]byte(out), &r); err != nil || code != exitPassed {
			t.Fatalf("%s: exit code %d, %v", form, code, err)
		}
		if len(r.Trace.Backends) != 2 || r.Trace.Backends[0].Probability.String() != "1/2" || len(r.Trace.Hops) < 5 {
			t.Errorf("%s: %+v", form, r)
		}
	}
	if _, code := walk("--to", node); code != exitUsage {
		t.Errorf("no port: exit code %d", code)
	}

	replace(t, "result/raw/worker2/iptables-nft-save.txt", "-A KUBE-MARK-MASQ -j MARK --set-xmark", "-A KUBE-MARK-MASQ -j STRANGE --set-xmark")
	out, code = walk("--to", node+":30081")
	if code != exitIncomplete || !strings.Contains(out, "nat PREROUTING") || !strings.Contains(out, "The walk stops here.") {
		t.Errorf("a rule that is not understood: exit code %d\n%s", code, out)
	}
	replace(t, "result/raw/worker2/iptables-nft-save.txt", "COMMIT", "COMIT")
	if _, code = walk("--to", node+":30081"); code != exitIncomplete {
		t.Errorf("a dump that cannot be read: exit code %d", code)
	}
}

// nodeAddress is worker2's in a result.
func nodeAddress(t *testing.T, dir string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, results.EvidenceFile))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Evidence struct {
			Nodes []struct{ Role, InternalIP string }
		}
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	for _, n := range document.Evidence.Nodes {
		if n.Role == "worker2" {
			return n.InternalIP
		}
	}
	t.Fatal("no worker2")
	return ""
}
