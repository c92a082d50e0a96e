package check

import (
	"net/netip"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

// TestTrackedByCilium adds to what was recorded under Cilium another connection
// to worker's node port.
func TestTrackedByCilium(t *testing.T) {
	const endpoint = "10.245.1.86:8080"
	beside := func(in *subject) { in.expect.Mode = "iptables" }
	nothing := func(in *subject) {
		for i := range in.Kernel {
			in.Kernel[i].Translations = nil
		}
	}
	tests := []struct {
		name             string
		change           func(*subject)
		tracker, backend string
		want             collect.Verdict
		says             string
	}{
		{"as recorded", nil, "", "", collect.Pass, ""},
		{"to a stranger", nil, collect.TrackedByCilium, "10.245.9.9:8080", collect.Fail, "worker: 1 connections to 172.18.0.3:30081 are translated to 10.245.9.9:8080, which is no ready endpoint"},
		{"to a backend without an address", nil, collect.TrackedByCilium, "", collect.Fail, "worker: 1 connections to 172.18.0.3:30081 go to a backend that Cilium's maps do not have"},
		{"translated by the kernel", nil, collect.TrackedByKernel, endpoint, collect.Fail, "by the kernel's connection tracking, want by Cilium"},
		{"past Cilium", nil, collect.TrackedByKernel, "", collect.Fail, "have passed Cilium untranslated"},
		{"by both where kube-proxy is wanted", beside, collect.TrackedByKernel, endpoint, collect.Pass, ""},
		{"not translated where kube-proxy is wanted", beside, collect.TrackedByKernel, "", collect.Fail, "are not translated"},
		{"nothing tracked", nothing, "", "", collect.Inconclusive, "no connection to the Service is tracked"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			in := partial(t, func(*recorded) {})
			if test.change != nil {
				test.change(&in)
			}
			if test.tracker != "" {
				more := collect.Translation{Tracker: test.tracker, Destination: netip.MustParseAddrPort("172.18.0.3:30081"), Count: 1}
				more.Backend, _ = netip.ParseAddrPort(test.backend)
				in.Kernel[1].Translations = append(in.Kernel[1].Translations, more)
			}
			if got, says := verdict(tracked, in); got != test.want || !strings.Contains(says, test.says) {
				t.Errorf("%s: %q, want %s: %q", got, says, test.want, test.says)
			}
		})
	}
}
