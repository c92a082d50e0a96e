package ipvs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"service-dataplane/internal/tracetest"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/iptables"
	"service-dataplane/pkg/collect/ipvs"
)

// node is what Trace reads of a node.
type node struct {
	ipvs.Raw
	rules iptables.Raw
}

func readNode(t *testing.T, dir, family string) node {
	t.Helper()
	read := func(name string) []byte {
		raw, err := os.ReadFile(filepath.Join("testdata", dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return raw
	}
	return node{
		ipvs.Raw{IPVS: read(ipvs.ServicesFile), IPSet: read(ipvs.IPSetFile), DummyAddrs: read(ipvs.DummyFile), TimerList: read(ipvs.TimerListFile)},
		iptables.Raw{Family: family, NFT: read(family + "-nft-save.txt")},
	}
}

// packet is one to a frontend, whose address is the node's: that of kube-ipvs0 for
// all but node ports.
func packet(origin collect.Origin, from, to, protocol string) collect.Packet {
	at := netip.MustParseAddrPort(to)
	return collect.Packet{Origin: origin, Source: netip.MustParseAddr(from), Destination: at, Protocol: protocol, Local: []netip.Addr{at.Addr()}}
}

func TestTraceOfEveryFrontend(t *testing.T) {
	for _, dir := range []string{"worker2", "kinds"} {
		table, err := ipvs.Decode(readNode(t, dir, "iptables").Raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range table.Frontends {
			// A source that the ranges of the load balancer have.
			family, outside := "iptables", "203.0.113.77"
			if f.Address.Is6() {
				family, outside = "ip6tables", "2001:db8::77"
			}
			n := readNode(t, dir, family)
			p := packet(collect.FromOutside, outside, netip.AddrPortFrom(f.Address, f.Port).String(), f.Protocol)
			trace, err := ipvs.Trace(n.Raw, n.rules, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, difference := range tracetest.Compare(trace, f) {
				t.Error(dir, difference)
			}
		}
	}
}

func TestTraceFates(t *testing.T) {
	for _, test := range []struct {
		name, dir, from, to, protocol string
		origin                        collect.Origin
		fate                          collect.Fate
		by                            string
	}{
		{"no real server", "kinds", "203.0.113.77", "10.96.77.2:5000", "UDP", collect.FromOutside, collect.Rejected, "ip_vs.txt:39"},
		{"a source out of range", "kinds", "198.51.100.77", "192.0.2.10:80", "TCP", collect.FromOutside, collect.Dropped, "iptables-nft-save.txt:30"},
		{"a port that is no Service's", "worker2", "203.0.113.77", "10.96.0.1:80", "TCP", collect.FromOutside, collect.Rejected, "iptables-nft-save.txt:29"},
		{"an address that is not the node's", "worker2", "10.244.2.9", "192.0.2.77:80", "TCP", collect.FromPod, collect.Untranslated, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := readNode(t, test.dir, "iptables")
			p := packet(test.origin, test.from, test.to, test.protocol)
			if test.fate == collect.Untranslated {
				p.Local = nil
			}
			trace, err := ipvs.Trace(n.Raw, n.rules, p)
			if err != nil || trace.Stopped != nil || len(trace.Endings) != 1 {
				t.Fatal(trace.Endings, trace.Stopped, err)
			}
			if e := trace.Endings[0]; e.Fate != test.fate || e.By.At() != test.by {
				t.Errorf("%s by %q, want %s by %q", e.Fate, e.By.At(), test.fate, test.by)
			}
		})
	}
}

func TestTraceMasquerade(t *testing.T) {
	n := readNode(t, "worker2", "iptables")
	for _, test := range []struct {
		name, from, to      string
		origin              collect.Origin
		marked, masqueraded collect.Decision
	}{
		{"pod", "10.244.2.9", "10.96.183.34:80", collect.FromPod, collect.No, collect.No},
		{"outside", "172.18.0.1", "10.96.183.34:80", collect.FromOutside, collect.Yes, collect.Yes},
		{"node port from a pod", "10.244.2.9", "172.18.0.2:30081", collect.FromPod, collect.Yes, collect.Yes},
		// KUBE-LOOP-BACK, for what is not marked.
		{"a backend to itself", "10.244.1.3", "10.96.183.34:80", collect.FromPod, collect.No, collect.Depends},
		{"process", "172.18.0.2", "10.96.183.34:80", collect.FromProcess, collect.Yes, collect.Yes},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace, err := ipvs.Trace(n.Raw, n.rules, packet(test.origin, test.from, test.to, "TCP"))
			if err != nil || trace.Stopped != nil || trace.Selection != collect.SelectRoundRobin {
				t.Fatal(trace.Selection, trace.Stopped, err)
			}
			if trace.Marked.Decision != test.marked || trace.Masqueraded.Decision != test.masqueraded {
				t.Errorf("marked %s, masqueraded %s; want %s, %s", trace.Marked.Decision, trace.Masqueraded.Decision, test.marked, test.masqueraded)
			}
		})
	}
}

func TestTraceStops(t *testing.T) {
	for _, test := range []struct{ name, file, old, new, at string }{
		{"forwarding method", ipvs.ServicesFile, "0AF40103:1F90      Masq ", "0AF40103:1F90      Tunnel", "ip_vs.txt:11"},
		{"scheduler", ipvs.ServicesFile, "0A60B722:0050 rr", "0A60B722:0050 nq", "ip_vs.txt:10"},
		{"flag", ipvs.ServicesFile, "0A60B722:0050 rr", "0A60B722:0050 rr odd", "ip_vs.txt:10"},
		{"every port", ipvs.ServicesFile, "0A60B722:0050 rr", "0A60B722:0000 rr", "ip_vs.txt:10"},
		{"firewall mark", ipvs.ServicesFile, "TCP  0A600001:01BB", "FWM  00004000     ", "ip_vs.txt:13"},
		{"element", ipvs.IPSetFile, "10.96.183.34,tcp:80", "10.96.183.34,tcp:http", "ipset.txt:7"},
		{"target", "iptables-nft-save.txt", "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000", "-A KUBE-MARK-MASQ -j STRANGE", "iptables-nft-save.txt:59"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := readNode(t, "worker2", "iptables")
			for name, raw := range map[string]*[]byte{ipvs.ServicesFile: &n.IPVS, ipvs.IPSetFile: &n.IPSet, "iptables-nft-save.txt": &n.rules.NFT} {
				if name == test.file {
					changed := bytes.ReplaceAll(*raw, []byte(test.old), []byte(test.new))
					if bytes.Equal(changed, *raw) {
						t.Fatal("nothing was changed")
					}
					*raw = changed
				}
			}
			trace, err := ipvs.Trace(n.Raw, n.rules, packet(collect.FromOutside, "172.18.0.1", "10.96.183.34:80", "TCP"))
			if err != nil || trace.Stopped == nil {
				t.Fatal(trace.Backends, err)
			}
			if trace.Stopped.At() != test.at || len(trace.Backends) > 0 {
				t.Errorf("stopped at %s, want %s", trace.Stopped, test.at)
			}
		})
	}
}

// TestTraceOfGarbledRow: a row that cannot be read may be the one that is looked
// for.
func TestTraceOfGarbledRow(t *testing.T) {
	n := readNode(t, "worker2", "iptables")
	n.IPVS = bytes.ReplaceAll(n.IPVS, []byte("0A600001:01BB"), []byte("0A6001BB"))
	_, err := ipvs.Trace(n.Raw, n.rules, packet(collect.FromPod, "10.244.2.9", "10.96.183.34:80", "TCP"))
	if err == nil || !strings.Contains(err.Error(), "ip_vs.txt line 13") {
		t.Errorf("error %v, want one that names line 13", err)
	}
}

func FuzzTrace(f *testing.F) {
	for _, dir := range []string{"worker2", "kinds"} {
		var files [3][]byte
		for i, name := range []string{ipvs.ServicesFile, ipvs.IPSetFile, "iptables-nft-save.txt"} {
			files[i], _ = os.ReadFile(filepath.Join("testdata", dir, name))
		}
		f.Add(files[0], files[1], files[2])
	}
	p := packet(collect.FromOutside, "172.18.0.1", "10.96.183.34:80", "TCP")
	f.Fuzz(func(t *testing.T, services, sets, rules []byte) {
		trace, err := ipvs.Trace(ipvs.Raw{IPVS: services, IPSet: sets}, iptables.Raw{Family: "iptables", NFT: rules}, p)
		if err == nil {
			tracetest.Sound(t, trace)
		}
	})
}
