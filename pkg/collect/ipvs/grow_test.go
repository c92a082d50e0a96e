package ipvs

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"service-dataplane/pkg/collect/internal/benchtest"
)

// grown is what a recorded node printed with more Services in it, in the kernel's,
// ipset's and iproute2's form.
func grown(t testing.TB, services []benchtest.Service) (benchtest.Files, benchtest.Size) {
	t.Helper()
	raw := evidence(t, "worker")
	recorded, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	nodeAddress := netip.MustParseAddr("172.18.0.3")
	var rows, addresses strings.Builder
	members := map[string][]string{}
	add := func(set, element string) { members[set] = append(members[set], "add "+set+" "+element+"\n") }
	row := func(s benchtest.Service, at netip.AddrPort) {
		flags := ""
		if s.Sticky {
			flags = fmt.Sprintf("persistent %d FFFFFFFF", benchtest.AffinitySeconds*250) // ticks of that node
		}
		fmt.Fprintf(&rows, "TCP  %s rr  %s\n", inHex(at), flags)
		for _, e := range s.Endpoints {
			fmt.Fprintf(&rows, "  -> %s      Masq    1      0          0         \n", inHex(e))
		}
	}
	for _, s := range services {
		row(s, s.Address)
		add(clusterIPSet, fmt.Sprintf("%s,tcp:%d", s.Address.Addr(), s.Address.Port()))
		add("KUBE-IPVS-IPS", s.Address.Addr().String())
		fmt.Fprintf(&addresses, `,{"family":"inet","local":"%s","prefixlen":32,"scope":"global","label":"kube-ipvs0","valid_life_time":4294967295,"preferred_life_time":4294967295}`,
			s.Address.Addr())
		if s.NodePort != 0 {
			row(s, netip.AddrPortFrom(nodeAddress, s.NodePort))
			add(nodePortSet+"TCP", fmt.Sprint(s.NodePort))
		}
	}
	var sets strings.Builder
	for line := range strings.Lines(string(raw.IPSet)) {
		sets.WriteString(line)
		if f := strings.Fields(line); f[0] == "create" {
			sets.WriteString(strings.Join(members[f[1]], ""))
		}
	}
	return benchtest.Files{
		ServicesFile:  append(raw.IPVS, rows.String()...),
		IPSetFile:     []byte(sets.String()),
		DummyFile:     []byte(strings.Replace(string(raw.DummyAddrs), "}]}]", "}"+addresses.String()+"]}]", 1)),
		TimerListFile: raw.TimerList,
	}, benchtest.SizeOf(recorded).With(services)
}

// inHex is an address as /proc/net/ip_vs has it.
func inHex(a netip.AddrPort) string { return fmt.Sprintf("%X:%04X", a.Addr().AsSlice(), a.Port()) }
