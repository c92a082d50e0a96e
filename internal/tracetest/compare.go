// Package tracetest compares traces with service tables of the same bytes, for the
// tests of those that make them.
package tracetest

import (
	"fmt"
	"math"
	"net/netip"
	"slices"

	"service-dataplane/pkg/collect"
)

// Compare says where a trace to a frontend differs from what the service table has
// of it; nil where nowhere.
func Compare(t collect.Trace, f collect.Frontend) (differences []string) {
	differ := func(format string, args ...any) {
		differences = append(differences, fmt.Sprintf("%s: %s: ", f.Endpoint(), t.Packet)+fmt.Sprintf(format, args...))
	}
	if t.Stopped != nil {
		differ("stopped at %s", t.Stopped)
		return differences
	}
	sum, shares := collect.Share{}, map[netip.AddrPort]float64{}
	for _, b := range t.Backends {
		sum = sum.Plus(b.Probability)
		shares[b.Backend] += b.Probability.Float()
	}
	for _, e := range t.Endings {
		sum = sum.Plus(e.Probability)
	}
	if sum.Compare(collect.Whole()) != 0 {
		differ("probabilities add up to %s", sum)
	}
	active := slices.DeleteFunc(slices.Clone(f.Backends), func(b collect.Backend) bool { return b.State != collect.Active })
	total := 0
	for _, b := range active {
		total += b.Weight
	}
	if len(shares) != len(active) {
		differ("%d backends, the table has %d", len(shares), len(active))
	}
	for _, b := range active {
		want := b.Probability
		if total > 0 {
			want = float64(b.Weight) / float64(total)
		}
		if at := netip.AddrPortFrom(b.Address, b.Port); math.Abs(shares[at]-want) > 1e-9 {
			differ("%s gets %v, the table says %v", at, shares[at], want)
		}
	}
	marked := map[collect.Masquerade]collect.Decision{collect.MasqueradeAlways: collect.Yes, collect.MasqueradeNever: collect.No, collect.MasqueradeOffCluster: collect.Yes}
	if t.Packet.Origin == collect.FromPod {
		marked[collect.MasqueradeOffCluster] = collect.No
	}
	if want, told := marked[f.Masquerade]; told && len(active) > 0 && t.Marked.Decision != want {
		differ("marked: %s, the table says %s", t.Marked.Decision, f.Masquerade)
	}
	fates := map[string]collect.Fate{"reject": collect.Rejected, "drop": collect.Dropped}
	if want, told := fates[f.NoBackends]; told && (len(t.Endings) != 1 || t.Endings[0].Fate != want) {
		differ("endings %v, the table says %s", t.Endings, f.NoBackends)
	}
	return differences
}
