package iptables_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"service-dataplane/internal/tracetest"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/iptables"
)

// TestTraceOfEveryFrontend walks to every frontend of every dump from outside,
// whose backends the table lists.
func TestTraceOfEveryFrontend(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/*/*.txt")
	made, _ := filepath.Glob("testdata/made/*.txt")
	for _, file := range append(files, made...) {
		t.Run(file, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			table, err := iptables.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range table.Frontends {
				trace, err := iptables.Trace(iptables.Raw{NFT: raw, Family: "iptables"}, toFrontend(f))
				if err != nil {
					t.Fatal(err)
				}
				for _, difference := range tracetest.Compare(trace, f) {
					t.Error(difference)
				}
			}
		})
	}
}

// toFrontend is a packet from outside, from one of the source ranges that the load
// balancers of testdata/made have.
func toFrontend(f collect.Frontend) collect.Packet {
	p := collect.Packet{
		Origin: collect.FromOutside, Protocol: f.Protocol,
		Source: netip.MustParseAddr("198.18.0.77"), Local: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
	}
	at := f.Address
	if !at.IsValid() {
		at = p.Local[0]
	}
	if at.Is6() {
		p.Source = netip.MustParseAddr("2001:db8:9::77")
	}
	p.Destination = netip.AddrPortFrom(at, f.Port)
	return p
}

// dump has one Service at 10.96.0.1:80 with the given rules in its chain, the
// backends 10.244.0.1 to .3, and what else there is in nat.
func dump(service string, more ...string) iptables.Raw {
	lines := []string{
		"*nat", ":PREROUTING ACCEPT [0:0]", ":OUTPUT ACCEPT [0:0]", ":POSTROUTING ACCEPT [0:0]",
		":KUBE-SERVICES - [0:0]", ":KUBE-SVC-A - [0:0]", ":KUBE-SEP-1 - [0:0]", ":KUBE-SEP-2 - [0:0]", ":KUBE-SEP-3 - [0:0]",
		"-A PREROUTING -j KUBE-SERVICES",
		"-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-A",
		"-A KUBE-SEP-1 -p tcp -m tcp -j DNAT --to-destination 10.244.0.1:8080",
		"-A KUBE-SEP-2 -p tcp -m tcp -j DNAT --to-destination 10.244.0.2:8080",
		"-A KUBE-SEP-3 -p tcp -m tcp -j DNAT --to-destination 10.244.0.3:8080",
	}
	lines = append(lines, strings.Split(service, "\n")...)
	lines = append(lines, more...)
	return iptables.Raw{Family: "iptables", NFT: []byte(strings.Join(append(lines, "COMMIT"), "\n") + "\n")}
}

func TestTraceProbabilities(t *testing.T) {
	for _, test := range []struct{ name, rules, want string }{
		// As iptables 1.8.9 prints what kube-proxy writes for three.
		{
			"three",
			"-A KUBE-SVC-A -m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-1\n" +
				"-A KUBE-SVC-A -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-2\n-A KUBE-SVC-A -j KUBE-SEP-3",
			"1/3 10.244.0.1:8080, 1/3 10.244.0.2:8080, 1/3 10.244.0.3:8080",
		},
		{
			"no fraction that is 1/n",
			"-A KUBE-SVC-A -m statistic --mode random --probability 0.75000000000 -j KUBE-SEP-1\n-A KUBE-SVC-A -j KUBE-SEP-2",
			"3/4 10.244.0.1:8080, 1/4 10.244.0.2:8080",
		},
		{
			"not all",
			"-A KUBE-SVC-A -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-1",
			"1/2 10.244.0.1:8080, 1/2 untranslated",
		},
		{
			"none", "-A KUBE-SVC-A -m statistic --mode random --probability 0.00000000000 -j KUBE-SEP-1\n-A KUBE-SVC-A -j KUBE-SEP-2",
			"1 10.244.0.2:8080",
		},
		{
			"session affinity",
			"-A KUBE-SVC-A -m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-1 --mask 255.255.255.255 --rsource -j KUBE-SEP-1\n" +
				"-A KUBE-SVC-A -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-1\n-A KUBE-SVC-A -j KUBE-SEP-2",
			"1/2 10.244.0.1:8080, 1/2 10.244.0.2:8080",
		},
		{"dropped", "-A KUBE-SVC-A -j DROP", "1 dropped"},
		{"returns", "-A KUBE-SVC-A -j RETURN\n-A KUBE-SVC-A -j KUBE-SEP-1", "1 untranslated"},
		{"goto", "-A KUBE-SVC-A -g KUBE-SEP-1\n-A KUBE-SVC-A -j KUBE-SEP-2", "1 10.244.0.1:8080"},
		{"known to fail", "-A KUBE-SVC-A -d 10.96.0.2/32 -m odd --with some -j STRANGE\n-A KUBE-SVC-A -j KUBE-SEP-1", "1 10.244.0.1:8080"},
		{"the same either way", "-A KUBE-SVC-A -i cni0 -j KUBE-SEP-1\n-A KUBE-SVC-A -j KUBE-SEP-1", "1 10.244.0.1:8080"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace, err := iptables.Trace(dump(test.rules), tracetest.FromPod())
			if err != nil || trace.Stopped != nil {
				t.Fatal(trace.Stopped, err)
			}
			if got := tracetest.Shares(trace); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestTraceStops(t *testing.T) {
	for _, test := range []struct{ name, rule, why string }{
		{"target", "-A KUBE-SVC-A -j STRANGE", "STRANGE is neither a chain"},
		{"option of a target", "-A KUBE-SVC-A -j DNAT --to-destination 10.244.0.1:80 --random", "DNAT does something else"},
		{"range of destinations", "-A KUBE-SVC-A -j DNAT --to-destination 10.244.0.1-10.244.0.9", "not one address and port"},
		{"mark", "-A KUBE-SVC-A -j MARK --set-mark 1", "MARK does something else"},
		{"loop", "-A KUBE-SVC-A -j KUBE-SERVICES", "a loop"},
		{"loop by goto", "-A KUBE-SVC-A -g KUBE-SERVICES", "a loop"},
		{"interface", "-A KUBE-SVC-A -i cni0 -j KUBE-SEP-1\n-A KUBE-SVC-A -j KUBE-SEP-2", "does not tell \"-i cni0\""},
		{"match", "-A KUBE-SVC-A -m odd --with some -j KUBE-SEP-1\n-A KUBE-SVC-A -j KUBE-SEP-2", "does not tell \"-m odd --with some\""},
		{"revision", "-A KUBE-SVC-A -m addrtype [unsupported revision] -j DROP\n-A KUBE-SVC-A -j KUBE-SEP-2", "unsupported revision"},
		{"set", "-A KUBE-SVC-A -m set --match-set x dst -j KUBE-SEP-1", "does not tell"},
		{"prefix", "-A KUBE-SVC-A -s 10.0.0.0/255.0.255.0 -j KUBE-SEP-1", "not an address"},
		{"probability", "-A KUBE-SVC-A -m statistic --mode random --probability 2 -j KUBE-SEP-1", "not a probability"},
		{"state", "-A KUBE-SVC-A -m conntrack --ctstate ODD -j KUBE-SEP-1", "not a state"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace, err := iptables.Trace(dump(test.rule), tracetest.FromPod())
			if err != nil || trace.Stopped == nil {
				t.Fatal(tracetest.Shares(trace), err)
			}
			rule, _, _ := strings.Cut(test.rule, "\n")
			if trace.Stopped.Line.Text != rule || trace.Stopped.At() != "iptables-nft-save.txt:15" || !strings.Contains(trace.Stopped.Note, test.why) {
				t.Errorf("stopped at %s, want %q for %s", trace.Stopped, test.why, rule)
			}
			if len(trace.Hops) < 2 || len(trace.Backends) > 0 {
				t.Errorf("hops %v and backends %v, want the way up to there and none", trace.Hops, trace.Backends)
			}
		})
	}
}

// TestTraceErrors: what keeps a dump from being walked at all names the line.
func TestTraceErrors(t *testing.T) {
	_, err := iptables.Trace(dump("-A KUBE-SVC-A -j KUBE-SEP-9"), tracetest.FromPod())
	if err == nil || !strings.Contains(err.Error(), "iptables-nft-save.txt: line 15") {
		t.Errorf("a chain that does not exist: %v", err)
	}
	both := dump("-A KUBE-SVC-A -j KUBE-SEP-1")
	both.Legacy = both.NFT
	if _, err := iptables.Trace(both, tracetest.FromPod()); err == nil || !strings.Contains(err.Error(), "both hold rules") {
		t.Errorf("rules in both variants: %v", err)
	}
}

// TestTraceEnds: rules that meet each other ever more often end the walk.
func TestTraceEnds(t *testing.T) {
	var chains, rules []string
	for i := range 30 {
		chains = append(chains, fmt.Sprintf(":D-%d - [0:0]", i))
		rules = append(rules, fmt.Sprintf("-A D-%d -j D-%d\n-A D-%d -j D-%d", i, i+1, i, i+1))
	}
	raw := dump("-A KUBE-SVC-A -j D-0")
	raw.NFT = bytes.Replace(raw.NFT, []byte("-A PREROUTING"), []byte(strings.Join(append(chains, ":D-30 - [0:0]"), "\n")+"\n-A PREROUTING"), 1)
	raw.NFT = bytes.Replace(raw.NFT, []byte("COMMIT"), []byte(strings.Join(rules, "\n")+"\nCOMMIT"), 1)
	trace, err := iptables.Trace(raw, tracetest.FromPod())
	if err != nil || trace.Stopped == nil || !strings.Contains(trace.Stopped.Note, "does not end") {
		t.Errorf("chains that double: stopped at %v, %v", trace.Stopped, err)
	}
	unknown := strings.Repeat("-A KUBE-SVC-A -i cni0 -m odd -j RETURN\n", 20)
	trace, err = iptables.Trace(dump(unknown+"-A KUBE-SVC-A -j KUBE-SEP-1"), tracetest.FromPod())
	if err != nil || trace.Stopped == nil {
		t.Errorf("twenty rules that ask what is not known: %s, %v", tracetest.Shares(trace), err)
	}
}

func recorded(t *testing.T, path string) iptables.Raw {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	return iptables.Raw{Family: "iptables", NFT: raw}
}

// TestTraceMasquerade: whom the rules of shapes.restore mark, and by which rule.
func TestTraceMasquerade(t *testing.T) {
	raw := recorded(t, "kube-proxy-iptables/worker/iptables-nft-save.txt")
	table, err := iptables.Decode(raw.NFT)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range table.Frontends {
		if len(f.Backends) < 2 {
			continue
		}
		p := toFrontend(f)
		p.Origin, p.Source = collect.FromPod, f.Backends[0].Address
		trace, err := iptables.Trace(raw, p)
		if err != nil || trace.Stopped != nil {
			t.Fatal(trace.Stopped, err)
		}
		want := collect.Depends // it alone is masqueraded to itself
		if f.Masquerade == collect.MasqueradeAlways {
			want = collect.Yes
		}
		if trace.Masqueraded.Decision != want || !strings.Contains(trace.Masqueraded.By.Line.Text, "-j MASQUERADE") {
			t.Errorf("%s from a backend: %+v, want %s", f.Endpoint(), trace.Masqueraded, want)
		}
	}
}

// TestTraceLocalPolicy: what comes from outside gets the node's own backends, pods
// get all of them.
func TestTraceLocalPolicy(t *testing.T) {
	raw := recorded(t, "made/shapes-nft.txt")
	table, err := iptables.Decode(raw.NFT)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, f := range table.Frontends {
		if f.Policy != collect.PolicyLocal || f.Kind != collect.NodePort || len(f.Backends) == 0 {
			continue
		}
		outside, err := iptables.Trace(raw, toFrontend(f))
		if err != nil {
			t.Fatal(err)
		}
		p := toFrontend(f)
		p.Origin, p.Source = collect.FromPod, netip.MustParseAddr("10.244.1.99")
		pod, err := iptables.Trace(raw, p)
		if err != nil {
			t.Fatal(err)
		}
		if len(pod.Backends) <= len(outside.Backends) || outside.Marked.Decision != collect.No {
			t.Errorf("%s: from a pod %s, from outside %s", f.Endpoint(), tracetest.Shares(pod), tracetest.Shares(outside))
		}
		compared++
	}
	if compared == 0 {
		t.Error("no node port with local policy")
	}
}

// TestTraceWithoutEndpoints: the filter table rejects, and the rule is named.
func TestTraceWithoutEndpoints(t *testing.T) {
	raw := recorded(t, "calico-before/worker/iptables-save.txt")
	p := tracetest.FromPod()
	p.Destination, p.Protocol = netip.MustParseAddrPort("10.96.0.10:53"), "UDP"
	trace, err := iptables.Trace(raw, p)
	if err != nil || trace.Stopped != nil || tracetest.Shares(trace) != "1 rejected" {
		t.Fatal(tracetest.Shares(trace), trace.Stopped, err)
	}
	if by := trace.Endings[0].By.Line.Text; !strings.Contains(by, "has no endpoints") {
		t.Errorf("rejected by %s", by)
	}
}

// TestTraceSessionAffinity says of the lists that a new client is on none.
func TestTraceSessionAffinity(t *testing.T) {
	raw := recorded(t, "made/shapes-nft.txt")
	table, err := iptables.Decode(raw.NFT)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range table.Frontends {
		trace, err := iptables.Trace(raw, toFrontend(f))
		if err != nil {
			t.Fatal(err)
		}
		said := false
		for _, h := range trace.Hops {
			said = said || strings.Contains(h.Note, "a new client is not on the list")
		}
		if said != (f.AffinitySeconds > 0) {
			t.Errorf("%s: affinity of %d s, said so: %v", f.Endpoint(), f.AffinitySeconds, said)
		}
	}
}

func FuzzTrace(f *testing.F) {
	for _, file := range []string{"made/shapes-nft.txt", "kube-proxy-iptables/worker/iptables-nft-save.txt", "cilium/worker/iptables-save-counters.txt"} {
		raw, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add(dump("-A KUBE-SVC-A -m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-1").NFT)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, p := range []collect.Packet{tracetest.FromPod(), toFrontend(collect.Frontend{Port: 30081, Protocol: "TCP"})} {
			trace, err := iptables.Trace(iptables.Raw{NFT: bytes.Clone(raw), Family: "iptables"}, p)
			if err == nil {
				tracetest.Sound(t, trace)
			}
		}
	})
}
