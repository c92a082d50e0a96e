package nftables_test

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"service-dataplane/internal/tracetest"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/nftables"
)

// TestTraceOfEveryFrontend walks to every frontend of every listing from outside,
// whose backends the table lists.
func TestTraceOfEveryFrontend(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/*.*")
	for _, file := range files {
		if extension := filepath.Ext(file); extension != ".json" && extension != ".txt" {
			continue
		}
		raw := read(t, file)
		table, err := nftables.Decode(raw)
		if err != nil {
			continue // decode_test.go knows which
		}
		for _, f := range table.Frontends {
			trace, err := nftables.Trace(file, raw, toFrontend(f))
			switch {
			case err != nil:
				t.Errorf("%s: %s: %v", file, f.Endpoint(), err)
				continue
			case trace.Stopped != nil && len(table.Unparsed) > 0:
				continue // as of TestTraceStops
			case trace.Marked.Decision == collect.Depends && strings.Contains(trace.Marked.Reason, "iifname"):
				f.Masquerade = "" // by the interface a packet comes from
			}
			for _, difference := range tracetest.Compare(trace, f) {
				t.Errorf("%s: %s", file, difference)
			}
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// toFrontend is a packet from outside, of the source ranges in testdata/made.
func toFrontend(f collect.Frontend) collect.Packet {
	p := collect.Packet{Origin: collect.FromOutside, Protocol: f.Protocol, Source: netip.MustParseAddr("198.51.100.77")}
	at := f.Address
	if !at.IsValid() {
		at = netip.MustParseAddr("192.0.2.1")
		if len(f.Backends) > 0 && f.Backends[0].Address.Is6() {
			at = netip.MustParseAddr("2001:db8::1")
		}
	}
	if at.Is6() {
		p.Source = netip.MustParseAddr("2001:db8::77")
	}
	if f.Kind == collect.NodePort {
		p.Local = append(p.Local, at)
	}
	p.Destination = netip.AddrPortFrom(at, f.Port)
	return p
}

// listing is a table with one Service at 10.96.0.1:80, three backends and, for each
// pair of old and new, that text instead.
func listing(t *testing.T, oldNew ...string) []byte {
	t.Helper()
	text := `table ip kube-proxy {
	map service-ips {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.1 . tcp . 80 : goto service-A-ns/s/tcp/p,
			     10.96.0.2 . tcp . 80 : goto reject-chain }
	}
	chain nat-prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		jump services
	}
	chain nat-postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		meta mark & 0x00004000 == 0x00000000 return
		masquerade fully-random
	}
	chain services {
		ip daddr . meta l4proto . th dport vmap @service-ips
	}
	chain service-A-ns/s/tcp/p {
		ip daddr 10.96.0.1 ip saddr != 10.244.0.0/16 jump mark-for-masquerade
		numgen random mod 3 vmap { 0 : goto endpoint-1, 1 : goto endpoint-2, 2 : goto endpoint-3 }
	}
	chain mark-for-masquerade {
		meta mark set meta mark | 0x00004000
	}
	chain reject-chain {
		reject
	}
	chain endpoint-1 {
		meta l4proto tcp dnat to 10.244.0.1:8080
	}
	chain endpoint-2 {
		meta l4proto tcp dnat to 10.244.0.2:8080
	}
	chain endpoint-3 {
		meta l4proto tcp dnat to 10.244.0.3:8080
	}
}
`
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(text, oldNew[i]) {
			t.Fatalf("%q is not in the listing", oldNew[i])
		}
		text = strings.ReplaceAll(text, oldNew[i], oldNew[i+1])
	}
	return []byte(text)
}

func TestTraceProbabilities(t *testing.T) {
	for _, test := range []struct {
		name, old, new, want string
	}{
		{"three", "", "", "1/3 10.244.0.1:8080, 1/3 10.244.0.2:8080, 1/3 10.244.0.3:8080"},
		{"two slots of one", "2 : goto endpoint-3", "2 : goto endpoint-1", "2/3 10.244.0.1:8080, 1/3 10.244.0.2:8080"},
		{"a number without an element", ", 2 : goto endpoint-3", "", "1/3 10.244.0.1:8080, 1/3 10.244.0.2:8080, 1/3 untranslated"},
		{"rejected", "goto service-A-ns/s/tcp/p", "goto reject-chain", "1 rejected"},
		{"dropped", "goto service-A-ns/s/tcp/p", "drop", "1 dropped"},
		{"policy", "priority srcnat; policy accept", "priority srcnat; policy drop", "1 dropped"},
		{"no element", "10.96.0.1 . tcp", "10.96.0.1 . udp", "1 untranslated"},
		{"set of addresses", "ip saddr != 10.244.0.0/16", "ip saddr != { 10.244.0.0/16, 10.245.0.0/16 }", "1/3 10.244.0.1:8080, 1/3 10.244.0.2:8080, 1/3 10.244.0.3:8080"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace, err := nftables.Trace("nft.txt", listing(t, test.old, test.new), tracetest.FromPod())
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
	for _, test := range []struct{ name, old, new, at string }{
		{"expression", "ip daddr . meta l4proto . th dport vmap", "ip daddr . meta l4proto . th sport vmap", "nft.txt:17"},
		{"statement", "jump services", "queue to 1", "nft.txt:9"},
		{"verdict in a map", "tcp . 80 : goto service-A-ns/s/tcp/p", "tcp . 80 : queue", "nft.txt:4"},
		{"verdict drawn", "1 : goto endpoint-2", "1 : queue", "nft.txt:21"},
		{"number drawn twice", "1 : goto endpoint-2", "0 : goto endpoint-2", "nft.txt:21"},
		{"drawn in turn", "numgen random", "numgen inc", "nft.txt:21"},
		{"key of a map", "10.96.0.1 . tcp . 80 :", "10.96.0.1-10.96.0.9 . tcp . 80 :", "nft.txt:4"},
		{"attribute of a map", "type ipv4_addr . inet_proto . inet_service : verdict\n", "typeof ip daddr : verdict\n", ""},
		{"chain", "goto service-A-ns/s/tcp/p", "goto service-B", "nft.txt:17"},
		{"map", "@service-ips", "@other", "nft.txt:17"},
		{"loop", "\t\treject\n", "\t\tgoto service-A-ns/s/tcp/p\n\t\treject\n", ""},
		{"loop by goto", "0 : goto endpoint-1", "0 : goto services", "nft.txt:21"},
		{"dnat", "dnat to 10.244.0.2:8080", "dnat to 10.244.0.2:8080 random", "nft.txt:33"},
		{"mark", "meta mark set meta mark | 0x00004000", "meta mark set 0x4000", ""},
		{"table", "table ip kube-proxy {\n", "table ip kube-proxy {\n\tflags dormant\n", "nft.txt:2"},
		{"priority", "priority dstnat", "priority early", "nft.txt:7"},
		{"state", "\t\tjump services", "\t\tct state != established drop\n\t\tjump services", "nft.txt:9"},
		{"interface", "numgen", "iifname \"eth0\" goto endpoint-1\n\t\tnumgen", "nft.txt:21"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace, err := nftables.Trace("nft.txt", listing(t, test.old, test.new), tracetest.FromPod())
			switch {
			case err != nil:
				t.Fatal(err)
			case test.at == "": // not on the way of this packet
				if trace.Stopped != nil || len(trace.Backends) != 3 {
					t.Errorf("%s, stopped at %v", tracetest.Shares(trace), trace.Stopped)
				}
			case trace.Stopped == nil || trace.Stopped.At() != test.at || len(trace.Backends) > 0:
				t.Errorf("%s, stopped at %v, want %s", tracetest.Shares(trace), trace.Stopped, test.at)
			}
		})
	}
}

// TestTraceStopsInJSON: what of a rule, an element or a set is not known is kept in
// its place.
func TestTraceStopsInJSON(t *testing.T) {
	raw := read(t, "testdata/recorded/worker.json")
	table, err := nftables.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, old, new string }{
		{"expression", `{"numgen": {"mode": "random"`, `{"numgen": {"mode": "inc"`},
		{"statement", `{"jump": {"target": "services"}}`, `{"queue": null}, {"jump": {"target": "services"}}`},
		{"verdict", `{"goto": {"target": "service-`, `{"queue": {"target": "service-`},
		{"rule", `"chain": "services", `, `"chain": "services", "odd": true, `},
		{"table", `{"table": {"family": "ip", "name": "kube-proxy", `, `{"table": {"family": "ip", "name": "kube-proxy", "flags": "dormant", `},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := bytes.ReplaceAll(raw, []byte(test.old), []byte(test.new))
			if bytes.Equal(changed, raw) {
				t.Fatal("nothing was changed")
			}
			trace, err := nftables.Trace("nft.json", changed, toFrontend(table.Frontends[0]))
			if err != nil || trace.Stopped == nil {
				t.Fatal(tracetest.Shares(trace), err)
			}
		})
	}
}

func TestTraceMasquerade(t *testing.T) {
	outside := tracetest.FromPod()
	outside.Origin, outside.Source = collect.FromOutside, netip.MustParseAddr("192.0.2.77")
	for _, test := range []struct {
		name, old, new string
		packet         collect.Packet
		marked         collect.Decision
		by             string
	}{
		{"pod", "", "", tracetest.FromPod(), collect.No, ""},
		{"outside", "", "", outside, collect.Yes, "nft.txt:20"},
		{"interface", "ip saddr != 10.244.0.0/16", "iifname != \"cni0\"", outside, collect.Depends, "nft.txt:20"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace, err := nftables.Trace("nft.txt", listing(t, test.old, test.new), test.packet)
			if err != nil || trace.Stopped != nil {
				t.Fatal(trace.Stopped, err)
			}
			if trace.Marked.Decision != test.marked || trace.Masqueraded.Decision != test.marked {
				t.Errorf("marked %s, masqueraded %s, want %s", trace.Marked.Decision, trace.Masqueraded.Decision, test.marked)
			}
			if by := trace.Marked.By; test.by != "" && (by == nil || by.At() != test.by) {
				t.Errorf("by %v, want %s", by, test.by)
			}
		})
	}
}

// TestTraceOrder: base chains of one hook are met by their priority.
func TestTraceOrder(t *testing.T) {
	const late = "\tchain late {\n\t\ttype filter hook prerouting priority %s; policy accept;\n\t\tip daddr 10.96.0.1 drop\n\t}\n\tchain nat-prerouting {"
	for priority, want := range map[string]string{
		"dstnat - 10": "1 dropped", "-101": "1 dropped", "raw": "1 dropped",
		"dstnat + 10": "1/3 10.244.0.1:8080, 1/3 10.244.0.2:8080, 1/3 10.244.0.3:8080",
	} {
		raw := listing(t, "\tchain nat-prerouting {", strings.ReplaceAll(late, "%s", priority))
		trace, err := nftables.Trace("nft.txt", raw, tracetest.FromPod())
		if got := tracetest.Shares(trace); err != nil || got != want {
			t.Errorf("priority %s: %s, %v, %v", priority, got, trace.Stopped, err)
		}
	}
}

func FuzzTrace(f *testing.F) {
	for _, file := range []string{"recorded/worker.txt", "recorded/worker.json", "made/policies.txt", "made/affinity.json"} {
		raw, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, p := range []collect.Packet{tracetest.FromPod(), toFrontend(collect.Frontend{Kind: collect.NodePort, Port: 30081, Protocol: "TCP"})} {
			trace, err := nftables.Trace("nft.txt", raw, p)
			if err == nil {
				tracetest.Sound(t, trace)
			}
		}
	})
}
