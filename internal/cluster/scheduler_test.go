package cluster

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestWithScheduler: the configuration that kubeadm wrote changes in one line.
func TestWithScheduler(t *testing.T) {
	raw, err := os.ReadFile("../../results/service-path/iptables/raw/cluster/kube-proxy-configmap.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct{ Data map[string]string }
	if err := json.Unmarshal(raw, &recorded); err != nil {
		t.Fatal(err)
	}
	before := recorded.Data[proxyConfig]
	once, err := withScheduler(before, "lc")
	if err != nil {
		t.Fatal(err)
	}
	twice, err := withScheduler(once, "sh")
	if err != nil {
		t.Fatal(err)
	}
	for got, scheduler := range map[string]string{once: "lc", twice: "sh"} {
		if want := strings.Replace(before, `  scheduler: ""`, "  scheduler: "+scheduler, 1); got != want || got == before {
			t.Errorf("%s:\n%s", scheduler, got)
		}
	}
	for _, other := range []string{"", "mode: ipvs\n", "ipvs:\n  minSyncPeriod: 0s\nscheduler: rr\n"} {
		if got, err := withScheduler(other, "lc"); err == nil {
			t.Errorf("%q became %q", other, got)
		}
	}
}
