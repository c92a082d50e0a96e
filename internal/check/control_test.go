package check

import (
	"slices"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

// TestRecordedRunsPass is what every negative control starts from.
func TestRecordedRunsPass(t *testing.T) {
	for _, scenario := range []string{"iptables", "nftables", "cilium", "cilium-kube-proxy"} {
		t.Run(scenario, func(t *testing.T) {
			for id, c := range record(t, scenario).judge() {
				if c.Verdict != collect.Pass {
					t.Errorf("%s is %s: %s", id, c.Verdict, c.Reason)
				}
			}
		})
	}
}

const (
	servicesJSON = "cluster/services.json"
	slicesJSON   = "cluster/endpointslices.json"
	byName       = "client/clusterip-by-name.jsonl"
	nftSave      = "iptables-nft-save.txt"
)

// control is one change to a good run and what must come of it.
type control struct {
	name     string
	scenario string
	change   func(r *recorded)
	want     []turn
}

// TestNegativeControls changes one thing in the raw files of a good run. Every
// check it must turn is listed with the place it has to name; no other may
// turn.
func TestNegativeControls(t *testing.T) {
	for _, test := range slices.Concat(modeControls(), trafficControls(), kernelControls(), ciliumControls()) {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			r := record(t, test.scenario)
			test.change(r)
			want := map[string]turn{}
			for _, w := range test.want {
				want[w.id] = w
			}
			for id, c := range r.judge() {
				w, turned := want[id]
				switch {
				case !turned && c.Verdict != collect.Pass:
					t.Errorf("%s is %s: %s", id, c.Verdict, c.Reason)
				case turned && c.Verdict != w.verdict:
					t.Errorf("%s is %s, want %s: %s", id, c.Verdict, w.verdict, c.Reason)
				case turned && !w.found(c):
					t.Errorf("%s names neither %s nor its node: %+v", id, w.file, c.Findings)
				case turned && c.Reason == "":
					t.Errorf("%s gives no reason", id)
				}
			}
		})
	}
}
