package cilium

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

// The 12 connections to the node port have gone to the two backends as their
// clients counted, and each has its OUT flow.
func TestDecodeConntrackWorker(t *testing.T) {
	flows, err := DecodeConntrack(read(t, "worker", ConntrackFile))
	if err != nil {
		t.Fatal(err)
	}
	backends, err := BackendAddresses(read(t, "worker", LBFile), read(t, "worker", FrontendsFile))
	if err != nil {
		t.Fatal(err)
	}
	directions := map[string]int{}
	chosen := map[string]int{}
	arrived := map[string]int{}
	for _, f := range flows {
		directions[f.Direction]++
		if f.Direction == "SVC" {
			if f.Destination != netip.MustParseAddrPort("172.18.0.3:30081") || f.RevNAT != 6 {
				t.Errorf("flow of another frontend: %s", f.Line)
			}
			chosen[backends[f.BackendID].String()]++
		} else if f.BackendID != 0 {
			t.Errorf("backend of no service: %s", f.Line)
		}
		if f.Direction == "OUT" && f.RevNAT == 6 {
			arrived[f.Destination.String()]++
		}
	}
	want := map[string]int{"10.245.1.86:8080": 10, "10.245.2.76:8080": 2}
	if !reflect.DeepEqual(chosen, want) || !reflect.DeepEqual(arrived, want) {
		t.Errorf("backends chosen %v, flows to them %v; want %v", chosen, arrived, want)
	}
	if want := map[string]int{"SVC": 12, "IN": 27, "OUT": 12}; !reflect.DeepEqual(directions, want) {
		t.Errorf("directions %v, want %v", directions, want)
	}
}

func TestDecodeConntrackLine(t *testing.T) {
	const rest = "expires=4656 Packets=0 Bytes=0 RxFlagsSeen=0x00 LastRxReport=0 TxFlagsSeen=0x1b LastTxReport=4646 "
	ap := netip.MustParseAddrPort
	tests := []struct {
		name, text string
		want       Flow
	}{
		{
			"to a frontend",
			"TCP SVC 172.18.0.1:35166 -> 172.18.0.3:30081 " + rest + "Flags=0x0013 [ RxClosing TxClosing SeenNonSyn ] RevNAT=6 SourceSecurityID=0 BackendID=8 NatPort=0",
			Flow{
				Protocol: "TCP", Direction: "SVC", Source: ap("172.18.0.1:35166"), Destination: ap("172.18.0.3:30081"),
				RevNAT: 6, BackendID: 8, Flags: []string{"RxClosing", "TxClosing", "SeenNonSyn"},
			},
		},
		{
			"IPv6 has no brackets",
			"UDP SVC fd00:245:1::99:40000 -> fd00:97::a:53 " + rest + "Flags=0x0000 [ ] RevNAT=21 SourceSecurityID=5483 BackendID=11 NatPort=0",
			Flow{
				Protocol: "UDP", Direction: "SVC", Source: ap("[fd00:245:1::99]:40000"), Destination: ap("[fd00:97::a]:53"),
				RevNAT: 21, BackendID: 11,
			},
		},
		{
			"an ICMP error",
			"ICMP IN 10.245.0.217:0 -> 10.245.2.76:0 related " + rest + "Flags=0x0010 [ SeenNonSyn ] RevNAT=0 SourceSecurityID=2 BackendID=0 NatPort=0",
			Flow{
				Protocol: "ICMP", Direction: "IN", Source: ap("10.245.0.217:0"), Destination: ap("10.245.2.76:0"),
				Flags: []string{"related", "SeenNonSyn"},
			},
		},
		{
			"a translated source in the place of the backend",
			"TCP OUT fd00::1:35172 -> fd00::86:8080 " + rest + "Flags=0x0820 [ NodePort Unknown=0x0800 ] RevNAT=6 SourceSecurityID=2 BackendID=72057594037927936 NatPort=35172",
			Flow{
				Protocol: "TCP", Direction: "OUT", Source: ap("[fd00::1]:35172"), Destination: ap("[fd00::86]:8080"),
				RevNAT: 6, Flags: []string{"NodePort", "Unknown=0x0800"},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			flows, err := DecodeConntrack([]byte("\n" + tt.text + " \n\n"))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Line = collect.Line{Number: 2, Text: tt.text}
			if len(flows) != 1 || !reflect.DeepEqual(flows[0], tt.want) {
				t.Errorf("got  %+v\nwant %+v", flows, tt.want)
			}
		})
	}
}

func TestDecodeConntrackNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "\n\n\n"} {
		if flows, err := DecodeConntrack([]byte(text)); err != nil || len(flows) != 0 {
			t.Errorf("%q: %v, %v", text, flows, err)
		}
	}
}

func TestDecodeConntrackErrors(t *testing.T) {
	const good = "TCP SVC 172.18.0.1:35166 -> 172.18.0.3:30081 expires=4656 Flags=0x0013 [ SeenNonSyn ] RevNAT=6 BackendID=8 NatPort=0 \n"
	tests := []struct{ name, old, new string }{
		{"a message", good, "Unable to open /sys/fs/bpf/tc/globals/cilium_ct4_global: no such file or directory. Skipping.\n"},
		{"truncated in the flags", "SeenNonSyn ] RevNAT=6 BackendID=8 NatPort=0 ", "Seen"},
		{"truncated at the flags", "[ SeenNonSyn ] RevNAT=6 BackendID=8 NatPort=0 ", ""},
		{"truncated behind the flags", "RevNAT=6 BackendID=8 NatPort=0 ", ""},
		{"truncated in front of the backend", "BackendID=8 NatPort=0 ", ""},
		{"no flags", "Flags=0x0013 [ SeenNonSyn ] ", ""},
		{"another direction", "SVC", "SIDEWAYS"},
		{"no arrow", "->", "<-"},
		{"no port", "172.18.0.1:35166", "172.18.0.1"},
		{"a port above 65535", "172.18.0.1:35166", "172.18.0.1:65536"},
		{"a name for an address", "172.18.0.3:30081", "worker:30081"},
		{"a value twice", "RevNAT=6", "RevNAT=6 RevNAT=7"},
		{"a word without a value", "expires=4656", "expires"},
		{"a number that is none", "RevNAT=6", "RevNAT=six"},
		{"a backend above 32 bits", "BackendID=8", "BackendID=4294967296"},
		{"the form with time differences", "expires=4656", "expires=4656 (remaining: 12 sec(s))"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("the line has no %q", tt.old)
			}
			flows, err := DecodeConntrack([]byte(good + strings.Replace(good, tt.old, tt.new, 1)))
			if err == nil {
				t.Fatalf("decoded as %+v", flows)
			}
			if !strings.HasPrefix(err.Error(), ConntrackFile+": line 2: ") {
				t.Errorf("error does not name line 2: %v", err)
			}
		})
	}
}
