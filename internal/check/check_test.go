package check

import (
	"net/netip"
	"path"
	"slices"
	"testing"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

func TestNothingProvesNothing(t *testing.T) {
	for _, scenario := range []string{"iptables", "nftables", "ipvs", "cilium", "cilium-kube-proxy", "calico-ebpf", wrongPool} {
		r := recorded{T: t}
		r.load(scenario)
		for _, c := range Run(collect.Evidence{}, r.scenario, r.experiment) {
			if c.Verdict == collect.Pass || c.Reason == "" || c.Statement == "" {
				t.Errorf("%s: without evidence %s is %s: %q", scenario, c.ID, c.Verdict, c.Reason)
			}
		}
	}
}

func TestUnknownCheck(t *testing.T) {
	var x spec.Experiment
	x.Spec.Checks = []string{"kernel.speed"}
	if got := Run(collect.Evidence{}, spec.Scenario{}, x); len(got) != 1 || got[0].Verdict != collect.Inconclusive {
		t.Errorf("Run = %+v, want one inconclusive check", got)
	}
}

// TestEveryFileCounts takes each file away in turn.
func TestEveryFileCounts(t *testing.T) {
	onlyIPVS := []string{"ip_vs_conn.txt", "ip_vs_stats.txt", "ipset.txt", "kube-ipvs0.json", "timer_list.txt"}
	for _, scenario := range []string{"iptables", "cilium", "calico-ebpf", wrongPool} {
		t.Run(scenario, func(t *testing.T) {
			r := record(t, scenario)
			index := r.raw[evidence.IndexFile].Data
			for file := range r.raw {
				if file == evidence.IndexFile {
					continue
				}
				r.raw[evidence.IndexFile].Data = index
				r.outcome(file, collect.Failed, "not today")
				c := r.judge()["collect.complete"]
				needed := !slices.Contains(onlyIPVS, path.Base(file))
				if needed != (c.Verdict == collect.Inconclusive) || needed && c.Findings[0].Ref.File != file {
					t.Errorf("without %s: %s: %s", file, c.Verdict, c.Reason)
				}
			}
		})
	}
}

// TestLocalPolicy: each node is to have its own backends and no others.
func TestLocalPolicy(t *testing.T) {
	here, there := netip.MustParseAddr("10.244.1.2"), netip.MustParseAddr("10.244.2.2")
	leaving := netip.MustParseAddr("10.244.1.3")
	endpoint := func(a netip.Addr, state collect.BackendState, probability float64) collect.Backend {
		return collect.Backend{Address: a, Port: 8080, State: state, Probability: probability}
	}
	frontend := func(noBackends string, backends ...collect.Backend) collect.Frontend {
		f := collect.Frontend{
			Kind: collect.NodePort, Port: 30081, Protocol: "TCP", Policy: collect.PolicyLocal,
			Masquerade: collect.MasqueradeNever, NoBackends: noBackends, Backends: backends,
		}
		if len(backends) > 0 {
			f.Selection = collect.SelectRandom
		}
		return f
	}
	tests := []struct {
		name   string
		want   collect.Frontend // of all nodes
		worker collect.Frontend // as the kernel has it
		equal  bool
	}{
		{"its own", frontend("", endpoint(here, collect.Active, 0), endpoint(there, collect.Active, 0)),
			frontend("", endpoint(here, collect.Active, 1)), true},
		{"another node's too", frontend("", endpoint(here, collect.Active, 0), endpoint(there, collect.Active, 0)),
			frontend("", endpoint(here, collect.Active, 0.5), endpoint(there, collect.Active, 0.5)), false},
		{"none here", frontend("", endpoint(there, collect.Active, 0)), frontend("drop"), true},
		{"none here, but rejected", frontend("", endpoint(there, collect.Active, 0)), frontend("reject"), false},
		{"none anywhere", frontend("reject"), frontend("reject"), true},
		{"a terminating one beside an active one", frontend("", endpoint(here, collect.Active, 0), endpoint(leaving, collect.Terminating, 0)),
			frontend("", endpoint(here, collect.Active, 1)), true},
		{"only a terminating one", frontend("", endpoint(there, collect.Active, 0), endpoint(leaving, collect.Terminating, 0)),
			frontend("", endpoint(leaving, collect.Active, 1)), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			node := collect.Node{Role: "worker", InternalIP: netip.MustParseAddr("172.18.0.3")}
			in := subject{Evidence: collect.Evidence{Nodes: []collect.Node{node}}}
			in.Objects.Pods = []collect.Pod{{Node: "worker", Address: here}, {Node: "worker", Address: leaving}, {Node: "worker2", Address: there}}
			in.Objects.Expected.Frontends = []collect.Frontend{test.want}
			var j judgement
			got := collect.ServiceTable{Encoding: "iptables", Frontends: []collect.Frontend{test.worker}}
			equal(in, node, account{NodeTable: collect.NodeTable{ServiceTable: got}}, &j)
			if (len(j.against) == 0) != test.equal {
				t.Errorf("equal = %t, want %t: %+v", len(j.against) == 0, test.equal, j.against)
			}
		})
	}
}
