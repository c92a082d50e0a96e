package ipvs

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

const header = "IP Virtual Server version 1.2.1 (size=4096)\n" + serviceHeading + "\n" + serverHeading + "\n"

func TestServices(t *testing.T) {
	const v6 = "[2001:0db8:0000:0000:0000:0000:0000:0001]:0050"
	tests := []struct {
		name, text string
		want       VirtualService
	}{
		{
			name: "TCP", text: "TCP  0A600001:01BB rr  ",
			want: VirtualService{Protocol: "TCP", Hex: "0A600001:01BB", Address: netip.MustParseAddrPort("10.96.0.1:443"), Scheduler: "rr"},
		},
		{
			name: "persistent", text: "TCP  0A600001:01BB rr  persistent 2700000 FFFFFFFF",
			want: VirtualService{Protocol: "TCP", Hex: "0A600001:01BB", Address: netip.MustParseAddrPort("10.96.0.1:443"), Scheduler: "rr", PersistentTicks: 2700000},
		},
		{
			name: "one packet", text: "UDP  0A60000A:0035 wlc ops ",
			want: VirtualService{Protocol: "UDP", Hex: "0A60000A:0035", Address: netip.MustParseAddrPort("10.96.0.10:53"), Scheduler: "wlc", OnePacket: true},
		},
		{
			name: "one packet and persistent", text: "UDP  0A60000A:0035 rr ops persistent 90000 FFFFFF00",
			want: VirtualService{Protocol: "UDP", Hex: "0A60000A:0035", Address: netip.MustParseAddrPort("10.96.0.10:53"), Scheduler: "rr", OnePacket: true, PersistentTicks: 90000},
		},
		{
			name: "IPv6", text: "TCP  " + v6 + " mh ",
			want: VirtualService{Protocol: "TCP", Hex: v6, Address: netip.MustParseAddrPort("[2001:db8::1]:80"), Scheduler: "mh"},
		},
		{
			name: "SCTP", text: "SCTP  0A604D03:1B58 sh  ",
			want: VirtualService{Protocol: "SCTP", Hex: "0A604D03:1B58", Address: netip.MustParseAddrPort("10.96.77.3:7000"), Scheduler: "sh"},
		},
		{
			name: "firewall mark", text: "FWM  0000001F rr ",
			want: VirtualService{Protocol: "FWM", Hex: "0000001F", Scheduler: "rr"},
		},
		{
			name: "another protocol, no scheduler", text: "IP_47  0A604D03:0000 none  ",
			want: VirtualService{Protocol: "IP_47", Hex: "0A604D03:0000", Address: netip.MustParseAddrPort("10.96.77.3:0"), Scheduler: "none"},
		},
		{
			name: "unknown flags", text: "TCP  0A600001:01BB rr up down ",
			want: VirtualService{Protocol: "TCP", Hex: "0A600001:01BB", Address: netip.MustParseAddrPort("10.96.0.1:443"), Scheduler: "rr", UnknownFlags: []string{"up", "down"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Services([]byte(header + tt.text + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Line = collect.Line{Number: 4, Text: tt.text}
			if len(got) != 1 || !reflect.DeepEqual(got[0], tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestServicesRealServers(t *testing.T) {
	text := "  -> [fd00:0010:0244:0000:0000:0000:0000:0002]:0035      Route   3      12         345       "
	services, err := Services([]byte(header + "UDP  0A60000A:0035 rr  \n" + text + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []RealServer{{
		Hex:     "[fd00:0010:0244:0000:0000:0000:0000:0002]:0035",
		Address: netip.MustParseAddrPort("[fd00:10:244::2]:53"),
		Forward: "Route", Weight: 3, ActiveConns: 12, InactiveConns: 345,
		Line: collect.Line{Number: 5, Text: text},
	}}
	if len(services) != 1 || !reflect.DeepEqual(services[0].RealServers, want) {
		t.Errorf("got %+v, want %+v", services, want)
	}
}

func TestServicesErrors(t *testing.T) {
	const service = "TCP  0A600001:01BB rr  \n"
	tests := []struct {
		name, text string
		line       string
	}{
		{"empty file", "", "line 1"},
		{"another file", "sl  local_address rem_address\n", "line 1"},
		{"blank line", header + "\n", "line 4"},
		{"two words", header + "TCP  0A600001:01BB\n", "line 4"},
		{"dotted address", header + "TCP  10.96.0.1:443 rr  \n", "line 4"},
		{"short address", header + "TCP  0A6001:01BB rr  \n", "line 4"},
		{"no hex digits", header + "TCP  0A60000G:01BB rr  \n", "line 4"},
		{"decimal port", header + "TCP  0A600001:443 rr  \n", "line 4"},
		{"no hex port", header + "TCP  0A600001:-1BB rr  \n", "line 4"},
		{"open bracket", header + "TCP  [2001:0db8::1:0050 rr \n", "line 4"},
		{"IPv4 in brackets", header + "TCP  [10.96.0.1]:0050 rr \n", "line 4"},
		{"zone", header + "TCP  [fe80::1%eth0]:0050 rr \n", "line 4"},
		{"mark too big", header + "FWM  100000000 rr \n", "line 4"},
		{"persistence without netmask", header + "TCP  0A600001:01BB rr  persistent 300\n", "line 4"},
		{"negative persistence", header + "TCP  0A600001:01BB rr  persistent -1 FFFFFFFF\n", "line 4"},
		{"orphan real server", header + "  -> 0AF40102:1F90      Masq    1      0          0\n", "line 4"},
		{"cut real server", header + service + "  -> 0AF40102:1F90      Masq    1\n", "line 5"},
		{"negative weight", header + service + "  -> 0AF40102:1F90      Masq    -1      0          0\n", "line 5"},
		{"real server of no address", header + service + "  -> nowhere      Masq    1      0          0\n", "line 5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			services, err := Services([]byte(tt.text))
			if err == nil {
				t.Fatalf("parsed as %+v", services)
			}
			if !strings.Contains(err.Error(), tt.line+":") {
				t.Errorf("error does not name %s: %v", tt.line, err)
			}
		})
	}
}

func TestKernel(t *testing.T) {
	version, size, err := Kernel([]byte(header))
	if err != nil || version != "1.2.1" || size != "4096" {
		t.Errorf("got %q, %q, %v", version, size, err)
	}
	if _, _, err := Kernel([]byte("IP Virtual Server version 1.2.1\n")); err == nil {
		t.Error("a version line without size gave no error")
	}
}
