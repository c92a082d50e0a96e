package conntrack

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

func recorded(t testing.TB, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The client's node saw every connection of the client to the ClusterIP.
func TestDecodeRecorded(t *testing.T) {
	tests := []struct {
		file, clusterIP string
		backends        map[string]int
	}{
		{"iptables-worker2.txt", "10.96.149.194:80", map[string]int{"10.244.1.2:8080": 26, "10.244.2.2:8080": 17}},
		{"nftables-worker2.txt", "10.96.104.167:80", map[string]int{"10.244.1.2:8080": 26, "10.244.2.2:8080": 20}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			flows, err := Decode(recorded(t, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if len(flows) != 150 {
				t.Errorf("%d flows of 150 lines", len(flows))
			}
			backends := map[string]int{}
			for _, f := range flows {
				if f.Original.Destination != netip.MustParseAddrPort(tt.clusterIP) {
					continue
				}
				backend, translated := f.DNAT()
				if !translated {
					t.Errorf("not translated: %s", f.Line)
				}
				if source, translated := f.SNAT(); translated {
					t.Errorf("source became %s: %s", source, f.Line)
				}
				backends[backend.String()]++
			}
			if !reflect.DeepEqual(backends, tt.backends) {
				t.Errorf("backends %v, want %v", backends, tt.backends)
			}
		})
	}
}

func TestDecodeLine(t *testing.T) {
	tuple := func(source, destination string) Tuple {
		return Tuple{netip.MustParseAddrPort(source), netip.MustParseAddrPort(destination)}
	}
	tests := []struct {
		name, text string
		want       Flow
		dnat, snat string
	}{
		{
			name: "ClusterIP, default output",
			text: "tcp      6 99 ESTABLISHED src=10.244.1.4 dst=10.96.149.194 sport=49000 dport=80 src=10.244.1.2 dst=10.244.1.4 sport=8080 dport=49000 [ASSURED] mark=0 use=1",
			want: Flow{
				Protocol: "tcp", TimeoutSeconds: 99, State: "ESTABLISHED", Assured: true,
				Original: tuple("10.244.1.4:49000", "10.96.149.194:80"), Reply: tuple("10.244.1.2:8080", "10.244.1.4:49000"),
				Other: []string{"use=1"},
			},
			dnat: "10.244.1.2:8080",
		},
		{
			name: "masqueraded node port, extended output",
			text: "ipv4     2 tcp      6 109 SYN_SENT src=172.18.0.1 dst=172.18.0.3 sport=40000 dport=30081 [UNREPLIED] src=10.244.1.2 dst=172.18.0.3 sport=8080 dport=15000 mark=16384 use=1",
			want: Flow{
				Protocol: "tcp", TimeoutSeconds: 109, State: "SYN_SENT", Unreplied: true, Mark: 0x4000,
				Original: tuple("172.18.0.1:40000", "172.18.0.3:30081"), Reply: tuple("10.244.1.2:8080", "172.18.0.3:15000"),
				Other: []string{"use=1"},
			},
			dnat: "10.244.1.2:8080", snat: "172.18.0.3:15000",
		},
		{
			name: "IPv6",
			text: "ipv6     10 udp      17 19 src=fd00::4 dst=fd00:10:96::a sport=5353 dport=53 [UNREPLIED] src=fd00::2 dst=fd00::4 sport=53 dport=5353 mark=0 use=1",
			want: Flow{
				Protocol: "udp", TimeoutSeconds: 19, Unreplied: true,
				Original: tuple("[fd00::4]:5353", "[fd00:10:96::a]:53"), Reply: tuple("[fd00::2]:53", "[fd00::4]:5353"),
				Other: []string{"use=1"},
			},
			dnat: "[fd00::2]:53",
		},
		{
			name: "counters and zone",
			text: "udp      17 19 src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 packets=3 bytes=4 src=10.0.0.2 dst=10.0.0.1 sport=2 dport=1 packets=5 bytes=6 mark=0 zone=9 use=1",
			want: Flow{
				Protocol: "udp", TimeoutSeconds: 19,
				Original: tuple("10.0.0.1:1", "10.0.0.2:2"), Reply: tuple("10.0.0.2:2", "10.0.0.1:1"),
				Other: []string{"packets=3", "bytes=4", "packets=5", "bytes=6", "zone=9", "use=1"},
			},
		},
		{
			name: "offloaded: no timeout, no state",
			text: "tcp      6 src=198.51.100.100 dst=192.0.2.100 sport=41676 dport=1122 src=192.0.2.100 dst=198.51.100.100 sport=1122 dport=41676 [OFFLOAD] mark=0 use=2",
			want: Flow{
				Protocol: "tcp",
				Original: tuple("198.51.100.100:41676", "192.0.2.100:1122"), Reply: tuple("192.0.2.100:1122", "198.51.100.100:41676"),
				Other: []string{"[OFFLOAD]", "use=2"},
			},
		},
		{
			name: "ICMP",
			text: "icmp     1 19 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=77 [UNREPLIED] src=10.0.0.2 dst=10.0.0.1 type=0 code=0 id=77 mark=0 use=1",
			want: Flow{
				Protocol: "icmp", TimeoutSeconds: 19, Unreplied: true,
				Original: tuple("10.0.0.1:0", "10.0.0.2:0"), Reply: tuple("10.0.0.2:0", "10.0.0.1:0"),
				Other: []string{"type=8", "code=0", "id=77", "type=0", "code=0", "id=77", "use=1"},
			},
		},
	}
	text := func(address netip.AddrPort, translated bool) string {
		if !translated {
			return ""
		}
		return address.String()
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			flows, err := Decode([]byte(tt.text + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Line = collect.Line{Number: 1, Text: tt.text}
			if len(flows) != 1 || !reflect.DeepEqual(flows[0], tt.want) {
				t.Fatalf("got  %+v\nwant %+v", flows, tt.want)
			}
			if got := text(flows[0].DNAT()); got != tt.dnat {
				t.Errorf("destination became %q, want %q", got, tt.dnat)
			}
			if got := text(flows[0].SNAT()); got != tt.snat {
				t.Errorf("source became %q, want %q", got, tt.snat)
			}
		})
	}
}

func TestDecodeNothing(t *testing.T) {
	flows, err := Decode(nil)
	if err != nil || len(flows) != 0 {
		t.Errorf("got %v, %v", flows, err)
	}
}

func TestDecodeErrors(t *testing.T) {
	const good = "udp      17 19 src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 src=10.0.0.2 dst=10.0.0.1 sport=2 dport=1 mark=0 use=1\n"
	tests := []struct{ name, text string }{
		{"the summary of standard error", "conntrack v1.4.7 (conntrack-tools): 4 flow entries have been shown.\n"},
		{"blank line", "\n"},
		{"the family alone", "ipv4     2\n"},
		{"one direction", "udp      17 19 src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2\n"},
		{"three directions", "udp 17 19 src=10.0.0.1 dst=10.0.0.2 src=10.0.0.2 dst=10.0.0.1 src=10.0.0.1 dst=10.0.0.2\n"},
		{"a port above every address", "udp 17 19 sport=1 src=10.0.0.1 dst=10.0.0.2 src=10.0.0.2 dst=10.0.0.1\n"},
		{"no destination", "udp 17 19 src=10.0.0.1 sport=1 src=10.0.0.2 dst=10.0.0.1\n"},
		{"a name for an address", "udp 17 19 src=kube dst=10.0.0.2 src=10.0.0.2 dst=10.0.0.1\n"},
		{"a name for a port", "udp 17 19 src=10.0.0.1 dst=10.0.0.2 sport=dns src=10.0.0.2 dst=10.0.0.1\n"},
		{"a mark that is no number", "udp 17 19 src=10.0.0.1 dst=10.0.0.2 src=10.0.0.2 dst=10.0.0.1 mark=0x4000\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			flows, err := Decode([]byte(good + tt.text))
			if err == nil {
				t.Fatalf("decoded as %+v", flows)
			}
			if !strings.Contains(err.Error(), "line 2:") {
				t.Errorf("error does not name line 2: %v", err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, file := range []string{"iptables-worker2.txt", "forms.txt"} {
		for line := range strings.Lines(string(recorded(f, file))) {
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		flows, err := Decode(raw)
		if err != nil {
			return
		}
		var text strings.Builder
		for _, flow := range flows {
			for _, a := range []netip.AddrPort{flow.Original.Source, flow.Original.Destination, flow.Reply.Source, flow.Reply.Destination} {
				if !a.IsValid() {
					t.Errorf("no address in %s", flow.Line)
				}
			}
			text.WriteString(flow.Line.Text + "\n")
		}
		if strings.TrimSuffix(text.String(), "\n") != strings.TrimSuffix(string(raw), "\n") {
			t.Errorf("the flows' lines are not the input's")
		}
	})
}
