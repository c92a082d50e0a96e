package lab

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/internal/check"
	"service-dataplane/internal/host"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// allScenarios are those of the tree.
func allScenarios(t *testing.T) []spec.Scenario {
	t.Helper()
	lock, err := spec.LoadLock("../../charts/lock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../../scenarios/*.yaml")
	var all []spec.Scenario
	for _, file := range files {
		some, err := spec.LoadScenarios(file, spec.Known{Features: host.Known(), Charts: lock})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

// TestTogether: one cluster serves the schedulers of IPVS, and nothing else is
// thrown together.
func TestTogether(t *testing.T) {
	all := allScenarios(t)
	guests := map[string]bool{"ipvs": true, "ipvs-lc": true, "ipvs-sh": true}
	tests := []struct {
		name    string
		skipped outcomes
		guests  map[string]bool
		want    string
	}{
		{"on the host", nil, nil, "calico-ebpf cilium-kube-proxy cilium cilium-1-19 iptables ipvs+ipvs-lc+ipvs-sh nftables"},
		{"in a guest", nil, guests, "calico-ebpf cilium-kube-proxy cilium cilium-1-19 iptables ipvs+ipvs-lc+ipvs-sh nftables"},
		{"one kernel lacks a scheduler", nil, map[string]bool{"ipvs-lc": true}, "calico-ebpf cilium-kube-proxy cilium cilium-1-19 iptables ipvs ipvs-lc ipvs-sh nftables"},
		{"the first is skipped", outcomes{{Scenario: "ipvs", Verdict: collect.Skip}}, nil, "calico-ebpf cilium-kube-proxy cilium cilium-1-19 iptables ipvs ipvs-lc+ipvs-sh nftables"},
		{"one is skipped", outcomes{{Scenario: "ipvs-lc", Verdict: collect.Skip}}, nil, "calico-ebpf cilium-kube-proxy cilium cilium-1-19 iptables ipvs ipvs-lc ipvs-sh nftables"},
	}
	for _, test := range tests {
		l := &lab{Options: Options{Scenarios: all}, guests: test.guests}
		var groups []string
		for _, group := range l.together(test.skipped) {
			var names []string
			for _, s := range group {
				names = append(names, s.Metadata.Name)
			}
			groups = append(groups, strings.Join(names, "+"))
		}
		if got := strings.Join(groups, " "); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.name, got, test.want)
		}
	}
}

// TestJobArrivesAsItWas: a guest observes the experiment and the scenarios that
// were asked for, to the last field.
func TestJobArrivesAsItWas(t *testing.T) {
	experiment, err := spec.LoadExperiment("../../experiments/service-path.yaml", check.IDs())
	if err != nil {
		t.Fatal(err)
	}
	served := slices.DeleteFunc(allScenarios(t), func(s spec.Scenario) bool { return !GuestServes(s) })
	sent := job{Experiment: experiment, Scenarios: served, NodeImage: "node:v1", Echo: "echo:0123"}
	content, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	var arrived job
	if err := json.Unmarshal(content, &arrived); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(sent, arrived) {
		t.Errorf("sent\n%+v\narrived\n%+v", sent, arrived)
	}
}

// TestChoose: whose kernel a scenario runs on, by what the host's has, what a
// guest needs and what was asked for.
func TestChoose(t *testing.T) {
	const with, without = "CONFIG_IP_VS=m\n", "CONFIG_MODULES=y\n"
	ipvs := spec.Scenario{Metadata: spec.Metadata{Name: "ipvs"}, Spec: spec.ScenarioSpec{Requires: []string{"ip_vs"}}}
	cilium := ipvs
	cilium.Spec.DataPlane.Cilium = &spec.Cilium{Version: "1.20.2"}
	tests := []struct {
		name     string
		kernel   string
		config   string
		qemu     bool
		scenario spec.Scenario
		inGuest  bool
		reason   []string // parts of it; none where the scenario runs
	}{
		{"auto, the host has it", KernelAuto, with, true, ipvs, false, nil},
		{"auto, the host lacks it", KernelAuto, without, true, ipvs, true, nil},
		{"auto, and there is no guest", KernelAuto, without, false, ipvs, false, []string{"ip_vs: ", "guest: no second kernel can run here without QEMU", "hack/guest.sh"}},
		{"host, and it lacks it", KernelHost, without, true, ipvs, false, []string{"ip_vs: ", "--kernel guest"}},
		{"host, and it has it", KernelHost, with, false, ipvs, false, nil},
		{"guest, though the host has it", KernelGuest, with, true, ipvs, true, nil},
		{"guest, and there is none", KernelGuest, with, false, ipvs, false, []string{"guest: "}},
		{"a data plane to install", KernelAuto, without, true, cilium, false, []string{"ip_vs: ", "installs cilium"}},
		{"a data plane to install, in a guest", KernelGuest, with, true, cilium, false, []string{"installs cilium"}},
	}
	for _, test := range tests {
		sys := host.System{
			Arch: "amd64",
			Files: fstest.MapFS{
				"proc/meminfo":                  {Data: []byte("MemAvailable: 16777216 kB\n")},
				"proc/sys/kernel/osrelease":     {Data: []byte("6.1.0\n")},
				"boot/config-6.1.0":             {Data: []byte(test.config)},
				"lib/modules/6.1.0/modules.dep": {Data: []byte("kernel/net/netfilter/ipvs/ip_vs.ko:\n")},
			},
			Run: func(_ context.Context, argv ...string) (string, error) {
				if argv[0] == "qemu-system-x86_64" && !test.qemu {
					return "", errors.New("not found")
				}
				return "QEMU emulator version 7.2.22", nil
			},
		}
		if test.config == without {
			delete(sys.Files.(fstest.MapFS), "lib/modules/6.1.0/modules.dep")
		}
		l := &lab{Options: Options{Kernel: test.kernel}, sys: sys}
		inGuest, reason, err := l.choose(t.Context(), test.scenario)
		if err != nil || inGuest != test.inGuest || (reason != "") != (test.reason != nil) {
			t.Errorf("%s: in a guest %v, %q, %v", test.name, inGuest, reason, err)
		}
		for _, part := range test.reason {
			if !strings.Contains(reason, part) {
				t.Errorf("%s: %q does not say %q", test.name, reason, part)
			}
		}
	}
}
