package diff

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/evidence"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// TestCompare: one change, and what a person reads.
func TestCompare(t *testing.T) {
	frontend := func(n *evidence.Normalized, node int) *evidence.NormalizedFrontend {
		return &n.Nodes[node].Tables[0].Frontends[0]
	}
	tests := []struct {
		name   string
		change func(base, new *evidence.Normalized)
		want   []string
	}{
		{"a backend less on one node", func(_, new *evidence.Normalized) {
			f := frontend(new, 0)
			f.Backends = f.Backends[:1]
		}, []string{"worker svc:echo-server NodePort 30081: backend pod:echo-server@worker2 is missing"}},
		{"a backend more", func(base, _ *evidence.Normalized) {
			f := frontend(base, 0)
			f.Backends = f.Backends[:1]
		}, []string{"worker svc:echo-server NodePort 30081: backend pod:echo-server@worker2 is new"}},
		{"one of two backends with one symbol", func(base, new *evidence.Normalized) {
			for _, f := range []*evidence.NormalizedFrontend{frontend(base, 0), frontend(new, 0)} {
				f.Backends[0].Address, f.Backends[1].Address = "pod:kube-system/kube-dns", "pod:kube-system/kube-dns"
			}
			frontend(new, 0).Backends = frontend(new, 0).Backends[1:]
		}, []string{"worker svc:echo-server NodePort 30081: backend pod:kube-system/kube-dns is missing"}},
		{"another scheduler on every node", func(_, new *evidence.Normalized) {
			frontend(new, 0).Selection, frontend(new, 1).Selection = collect.SelectLeastConn, collect.SelectLeastConn
		}, []string{"every node svc:echo-server NodePort 30081: selection round-robin → least-connection"}},
		{"masquerade, affinity and policy", func(_, new *evidence.Normalized) {
			f := frontend(new, 1)
			f.Masquerade, f.AffinitySeconds, f.Policy = collect.MasqueradeNever, 0, collect.PolicyLocal
		}, []string{
			"worker2 svc:echo-server NodePort 30081: affinity seconds 10800 → 0",
			"worker2 svc:echo-server NodePort 30081: policy cluster → local",
			"worker2 svc:echo-server NodePort 30081: masquerade always → never",
		}},
		{"a table without names of Services, one frontend an address", func(base, new *evidence.Normalized) {
			for i, n := range []*evidence.Normalized{base, new} {
				own, loopback := *frontend(n, 0), *frontend(n, 0)
				own.Service, own.Address = "", "node:worker"
				loopback.Service, loopback.Address = "", "loopback"
				n.Nodes[0].Tables[0].Frontends = [][]evidence.NormalizedFrontend{{own, loopback}, {}}[i]
			}
		}, []string{
			"worker svc:echo-server NodePort 30081 is missing",
			"worker svc:echo-server NodePort 30081 at loopback is missing",
		}},
		{"what is no Service's, as far as the table says", func(_, new *evidence.Normalized) {
			stray := *frontend(new, 0)
			stray.Kind, stray.Service, stray.Address, stray.Port, stray.Protocol = "", "", "outside", 53, "UDP"
			new.Nodes[0].Tables[0].Frontends = append(new.Nodes[0].Tables[0].Frontends, stray)
		}, []string{"worker outside 53/UDP is new"}},
		{"a second encoding is programmed", func(_, new *evidence.Normalized) {
			second := new.Nodes[0].Tables[0]
			second.Encoding, second.File, second.Frontends = "iptables", "worker/iptables-nft-save.txt", slices.Clone(second.Frontends)
			second.Frontends[0].Port = 30082
			new.Nodes[0].Tables = append(new.Nodes[0].Tables, second)
		}, []string{"worker table iptables-nft-save.txt is new"}},
		{"one of two encodings changes", func(base, new *evidence.Normalized) {
			for _, n := range []*evidence.Normalized{base, new} {
				second := n.Nodes[0].Tables[0]
				second.Encoding, second.File, second.Frontends = "iptables", "worker/iptables-nft-save.txt", slices.Clone(second.Frontends)
				n.Nodes[0].Tables = append(n.Nodes[0].Tables, second)
			}
			new.Nodes[0].Tables[1].Frontends = nil
		}, []string{"worker svc:echo-server NodePort 30081 in iptables-nft-save.txt is missing"}},
		{"the Service is gone", func(_, new *evidence.Normalized) { new.Service = evidence.NormalizedService{} },
			[]string{"the Service is missing"}},
		{"Calico is there, and was not", func(base, _ *evidence.Normalized) { base.Mode.Calico = nil }, []string{"Calico is new"}},
		{"neither has Calico", func(base, new *evidence.Normalized) { base.Mode.Calico, new.Mode.Calico = nil, nil }, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			base, new := full(), full()
			test.change(&base, &new)
			if got := plain(compare(base, new)); !slices.Equal(got, test.want) {
				t.Errorf("got:  %q\nwant: %q", got, test.want)
			}
		})
	}
}

// TestChecks: a check that passed has to pass, and one that fails is a
// regression wherever it comes from.
func TestChecks(t *testing.T) {
	const (
		pass, fail = collect.Pass, collect.Fail
		skip, open = collect.Skip, collect.Inconclusive
		none       = collect.Verdict("")
	)
	want := map[[2]collect.Verdict]Kind{
		{pass, fail}: Regression, {pass, open}: Regression, {pass, skip}: Regression, {pass, none}: Regression,
		{fail, pass}: Improvement, {fail, open}: Change, {fail, skip}: Change, {fail, none}: Change,
		{open, pass}: Improvement, {open, fail}: Regression, {open, skip}: Change, {open, none}: Change,
		{skip, pass}: Improvement, {skip, fail}: Regression, {skip, open}: Change, {skip, none}: Change,
		{none, pass}: Improvement, {none, fail}: Regression, {none, open}: Change, {none, skip}: Change,
	}
	verdicts := []collect.Verdict{pass, fail, skip, open, none}
	for _, was := range verdicts {
		for _, is := range verdicts {
			with := func(v collect.Verdict) (n evidence.Normalized) {
				if v != none {
					n.Checks = []evidence.NormalizedCheck{{ID: "mode.actual", Verdict: v}}
				}
				return n
			}
			found := compare(with(was), with(is))
			switch {
			case was == is && len(found) > 0:
				t.Errorf("%s twice: %q", was, plain(found))
			case was != is && (len(found) != 1 || found[0].Kind != want[[2]collect.Verdict{was, is}]):
				t.Errorf("%q to %q: %+v, want a %s", was, is, found, want[[2]collect.Verdict{was, is}])
			}
		}
	}
}

// run is a result of an experiment and a scenario, with evidence of one node.
func run(experiment, scenario string) Result {
	r := Result{Evidence: collect.Evidence{Nodes: []collect.Node{{Role: "worker", KubeletVersion: "v1.35.0", KernelRelease: "6.18.44"}}}}
	r.Run.Experiment.Metadata.Name, r.Run.Scenario.Metadata.Name = experiment, scenario
	return r
}

func lines(r Report) []string {
	var all []string
	for _, d := range r.Differences {
		all = append(all, fmt.Sprintf("%s: %s %s", d.Kind, r.Label(d.Name), d.Statement()))
	}
	return all
}

func TestTrees(t *testing.T) {
	iptables, ipvs := run("service-path", "iptables"), run("service-path", "ipvs")
	changed := run("service-path", "iptables")
	changed.Checks = []collect.Check{{ID: "mode.actual", Verdict: collect.Fail}}
	pool, calico := run("wrong-pool", "calico"), run("service-path", "calico")
	tests := []struct {
		name      string
		base, new []Result
		allow     bool
		want      []string
	}{
		{"the same", []Result{ipvs, iptables}, []Result{iptables, ipvs}, false, nil},
		{"one differs", []Result{ipvs, iptables}, []Result{changed, ipvs}, false, []string{"regression: iptables check mode.actual: is new: fail"}},
		{"one is missing", []Result{iptables, ipvs}, []Result{iptables}, false, []string{"regression: ipvs is missing in NEW"}},
		{"one may be missing", []Result{iptables, ipvs}, []Result{iptables}, true, []string{"change: ipvs is missing in NEW"}},
		{"one is new", []Result{ipvs}, []Result{iptables, ipvs}, false, []string{"change: iptables is in NEW only"}},
		{"nothing in common", []Result{ipvs}, []Result{iptables}, true, []string{"change: ipvs is missing in NEW", "change: iptables is in NEW only"}},
		{"two experiments on one scenario", []Result{pool, calico}, []Result{calico}, false, []string{"regression: wrong-pool/calico is missing in NEW"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := lines(Trees(test.base, test.new, test.allow)); !slices.Equal(got, test.want) {
				t.Errorf("got:  %q\nwant: %q", got, test.want)
			}
		})
	}
}

// TestRunsOfOtherNames: whoever names two results wants those two compared.
func TestRunsOfOtherNames(t *testing.T) {
	r := Runs(run("service-path", "ipvs"), run("service-path", "ipvs-lc"))
	if want := []Name{{"service-path", "ipvs → ipvs-lc"}}; !slices.Equal(r.Compared, want) || len(r.Differences) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestSummary(t *testing.T) {
	for want, r := range map[string]Report{
		"0 runs compared: no difference":                    {},
		"1 run compared: no difference; provenance differs": {Compared: make([]Name, 1), Provenance: make([]Provenance, 1)},
		"2 runs compared: 1 regression, 2 improvements, 1 other change": {Compared: make([]Name, 2), Differences: []Difference{
			{Kind: Improvement}, {Kind: Regression}, {Kind: Change}, {Kind: Improvement},
		}},
	} {
		if got := r.Summary(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestProvenance: what a run was made with and of is no difference of what it
// shows, and what several runs share is said once.
func TestProvenance(t *testing.T) {
	image := func(tag, id string) imagebuild.Image {
		return imagebuild.Image{Reference: "localhost/node:" + tag, ID: "sha256:" + id, Bytes: int64(len(tag))}
	}
	tests := []struct {
		name   string
		change func(base, new *Result)
		want   []string
	}{
		{"nothing", func(_, _ *Result) {}, nil},
		{"Kubernetes", func(_, new *Result) { new.Evidence.Nodes[0].KubeletVersion = "v1.36.0" }, []string{"Kubernetes v1.35.0 → v1.36.0"}},
		{"kernel", func(_, new *Result) { new.Evidence.Nodes[0].KernelRelease = "7.0.1" }, []string{"kernel 6.18.44 → 7.0.1"}},
		{"image", func(base, new *Result) {
			base.Run.Image, new.Run.Image = image("a", "0123456789abcdef"), image("b", "0123456789abcdef")
		},
			[]string{"node image localhost/node:a → localhost/node:b"}},
		{"image built again", func(base, new *Result) {
			base.Run.Image, new.Run.Image = image("a", "0123456789abcdef"), image("a", "fedcba9876543210")
		},
			[]string{"node image ID 0123456789ab → fedcba987654"}},
		{"chart", func(base, new *Result) {
			base.Run.DataPlane = &dataplane.Installed{Name: "cilium", Version: "1.20.1"}
			new.Run.DataPlane = &dataplane.Installed{Name: "cilium", Version: "1.20.2", Images: dataplane.Images{"agent": image("c", "00")}}
		}, []string{"data plane cilium 1.20.1 → cilium 1.20.2", "image agent none → localhost/node:c", "image agent ID none → 00"}},
		{"harness", func(_, new *Result) {
			new.Run.Harness = results.Harness{Revision: "0123456789abcdef", Modified: true, GoVersion: "go1.26.8", Modules: map[string]string{"kind": "v0.31.0"}}
		}, []string{"harness none → 0123456789ab, modified", "Go none → go1.26.8", "module kind none → v0.31.0"}},
		{"a guest's kernel", func(_, new *Result) {
			new.Run.Guest = &results.Guest{}
			new.Run.Guest.Accelerator = "tcg"
		}, []string{"accelerator none → tcg"}},
		{"what the scenario wants", func(base, new *Result) {
			base.Run.Scenario.Spec.Expect.Selection, new.Run.Scenario.Spec.Expect.Selection = "random", "round-robin"
			new.Run.Scenario.Spec.Requires = []string{"bpf", "vxlan"}
			new.Run.Experiment.Spec.EntryPoints = []spec.EntryPoint{{Name: "by-name"}}
		}, []string{
			"scenario file spec.expect.selection random → round-robin", "scenario file spec.requires none → bpf vxlan",
			"experiment file spec.entryPoints.0.name none → by-name",
		}},
		{"what is another in each run", func(_, new *Result) {
			new.Run.Started, new.Run.Argv = new.Run.Started.AddDate(1, 0, 0), []string{"runner", "run"}
			new.Run.Host.MemoryBytes, new.Run.Host.CPUs = 1, 64
			new.Evidence.Nodes[0].InternalIP, new.Evidence.Nodes[0].Name = netip.MustParseAddr("172.18.0.9"), "sdp-2-worker"
		}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			base, new := run("service-path", "iptables"), run("service-path", "iptables")
			test.change(&base, &new)
			r := Runs(base, new)
			var got []string
			for _, p := range r.Provenance {
				got = append(got, p.Text)
			}
			if len(r.Differences) > 0 || !slices.Equal(got, test.want) {
				t.Errorf("got:  %q, differences %q\nwant: %q", got, lines(r), test.want)
			}
		})
	}
	base, new := run("service-path", "iptables"), run("service-path", "iptables")
	other, newOther := run("service-path", "ipvs"), run("service-path", "ipvs")
	new.Run.Harness.GoVersion, newOther.Run.Harness.GoVersion = "go1.27.0", "go1.27.0"
	r := Trees([]Result{base, other}, []Result{new, newOther}, false)
	if len(r.Provenance) != 1 || len(r.Provenance[0].Runs) != 2 {
		t.Errorf("one change of two runs: %+v", r.Provenance)
	}
}
