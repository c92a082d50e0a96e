package check

import (
	"slices"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

// TestRecordedRunsPass is what every negative control starts from.
func TestRecordedRunsPass(t *testing.T) {
	for run, checks := range map[string]int{"iptables": 16, "nftables": 16, "ipvs": 16, "ipvs-lc": 16, "ipvs-sh": 16, "cilium": 16, "cilium-kube-proxy": 16, "calico-ebpf": 16, wrongPool: 3} {
		t.Run(run, func(t *testing.T) {
			judged := record(t, run).judge()
			if len(judged) != checks {
				t.Errorf("%d checks, want %d", len(judged), checks)
			}
			for id, c := range judged {
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
	name   string
	run    string
	change func(r *recorded)
	want   []turn
}

func controls() []control {
	return slices.Concat(modeControls(), trafficControls(), tracedControls(), kernelControls(), ipvsControls(), ciliumControls(), calicoControls(), refusalControls())
}

// TestEveryCheckHasAControl: a check that no control turns could be one that cannot
// fail. That of what was collected never does, it is undecided.
func TestEveryCheckHasAControl(t *testing.T) {
	type turning struct {
		id      string
		verdict collect.Verdict
	}
	turned := map[turning]int{}
	for _, c := range controls() {
		for _, w := range c.want {
			turned[turning{w.id, w.verdict}]++
		}
	}
	for _, id := range IDs() {
		want := collect.Fail
		if id == "collect.complete" {
			want = collect.Inconclusive
		}
		if turned[turning{id, want}] == 0 {
			t.Errorf("no control makes %s %s", id, want)
		}
	}
}

// TestNegativeControls changes one thing in the raw files of a good run. Every
// check it must turn is listed with the place it has to name; no other may
// turn.
func TestNegativeControls(t *testing.T) {
	for _, test := range controls() {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			r := record(t, test.run)
			test.change(r)
			want := map[string]turn{}
			for _, w := range test.want {
				want[w.id] = w
			}
			judged := r.judge()
			for id := range want {
				if _, made := judged[id]; !made {
					t.Errorf("%s is not made", id)
				}
			}
			for id, c := range judged {
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
