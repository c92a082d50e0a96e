package ipvs

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

func fixture(t testing.TB, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "worker", file))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The worker served 12 connections of a pod and 12 of the host at its node port,
// in turn.
func TestConnectionsWorker(t *testing.T) {
	connections, err := Connections(fixture(t, ConnectionsFile))
	if err != nil {
		t.Fatal(err)
	}
	type use struct{ client, virtual, server string }
	got := map[use]int{}
	for _, c := range connections {
		got[use{c.Client.Addr().String(), c.Virtual.String(), c.Server.String()}]++
	}
	want := map[use]int{
		{"10.244.1.2", "172.18.0.3:30081", "10.244.1.3:8080"}: 6,
		{"10.244.1.2", "172.18.0.3:30081", "10.244.2.2:8080"}: 6,
		{"172.18.0.1", "172.18.0.3:30081", "10.244.1.3:8080"}: 6,
		{"172.18.0.1", "172.18.0.3:30081", "10.244.2.2:8080"}: 6,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestConnections(t *testing.T) {
	at := netip.MustParseAddrPort
	tests := []struct {
		name, text string
		want       Connection
	}{
		{
			name: "closed", text: "TCP 0AF40102 E9C6 0A603D50 0050 0AF40103 1F90 TIME_WAIT       117",
			want: Connection{Protocol: "TCP", Client: at("10.244.1.2:59846"), Virtual: at("10.96.61.80:80"), Server: at("10.244.1.3:8080"), State: "TIME_WAIT", ExpiresSeconds: 117},
		},
		{
			name: "a name as long as its column", text: "SCTP 0AF40102 1B58 0A604D03 1B58 0AF40107 1B58 COOKIE_ECHOED     900",
			want: Connection{Protocol: "SCTP", Client: at("10.244.1.2:7000"), Virtual: at("10.96.77.3:7000"), Server: at("10.244.1.7:7000"), State: "COOKIE_ECHOED", ExpiresSeconds: 900},
		},
		{
			name: "template of session affinity", text: "TCP 0AF40102 0000 0A603D50 0050 0AF40103 1F90 ASSURED       10799",
			want: Connection{Protocol: "TCP", Client: at("10.244.1.2:0"), Virtual: at("10.96.61.80:80"), Server: at("10.244.1.3:8080"), State: "ASSURED", ExpiresSeconds: 10799},
		},
		{
			name: "IPv6",
			text: "UDP fd00:0010:0244:0001:0000:0000:0000:0002 14E9 fd00:0010:0096:0000:0000:0000:0000:000a 0035 fd00:0010:0244:0000:0000:0000:0000:0002 0035 UDP             299",
			want: Connection{Protocol: "UDP", Client: at("[fd00:10:244:1::2]:5353"), Virtual: at("[fd00:10:96::a]:53"), Server: at("[fd00:10:244::2]:53"), State: "UDP", ExpiresSeconds: 299},
		},
		{
			name: "IPv4 to a tunnel's end of IPv6", text: "TCP 0AF40102 E9C6 0A603D50 0050 fd00:0010:0244:0000:0000:0000:0000:0002 1F90 ESTABLISHED     899",
			want: Connection{Protocol: "TCP", Client: at("10.244.1.2:59846"), Virtual: at("10.96.61.80:80"), Server: at("[fd00:10:244::2]:8080"), State: "ESTABLISHED", ExpiresSeconds: 899},
		},
		{
			name: "persistence engine", text: "UDP 0AF40102 13C4 0A603D50 13C4 0AF40103 13C4 UDP               0 sip a84b4c76e66710@pc33 x",
			want: Connection{Protocol: "UDP", Client: at("10.244.1.2:5060"), Virtual: at("10.96.61.80:5060"), Server: at("10.244.1.3:5060"), State: "UDP"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Connections([]byte(connectionHeading + "\n" + tt.text + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Line = collect.Line{Number: 2, Text: tt.text}
			if len(got) != 1 || got[0] != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
	if got, err := Connections([]byte(connectionHeading + "\n")); err != nil || len(got) != 0 {
		t.Errorf("heading alone: %v, %v", got, err)
	}
}

func TestConnectionsErrors(t *testing.T) {
	row := func(old, new string) string {
		return connectionHeading + "\n" + strings.Replace("TCP 0AF40102 E9C6 0A603D50 0050 0AF40103 1F90 TIME_WAIT       117\n", old, new, 1)
	}
	tests := []struct{ name, text, line string }{
		{"empty file", "", "line 1"},
		{"the synchronised connections", "Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Origin Expires\n", "line 1"},
		{"blank line", connectionHeading + "\n\n", "line 2"},
		{"no expiry", row("       117", ""), "line 2"},
		{"dotted address", row("0AF40102", "10.244.1.2"), "line 2"},
		{"short address", row("0A603D50", "A603D50"), "line 2"},
		{"no hex digits", row("0AF40103", "0AF4010G"), "line 2"},
		{"brackets", row("0AF40102", "[fd00::2]"), "line 2"},
		{"zone", row("0AF40102", "fe80::1%eth0"), "line 2"},
		{"decimal port", row("E9C6", "59846"), "line 2"},
		{"no hex port", row("0050", "-050"), "line 2"},
		{"negative expiry", row("117", "-1"), "line 2"},
		{"a second row", row("", "") + "TCP\n", "line 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			connections, err := Connections([]byte(tt.text))
			if err == nil {
				t.Fatalf("parsed as %+v", connections)
			}
			if !strings.Contains(err.Error(), tt.line+":") {
				t.Errorf("error does not name %s: %v", tt.line, err)
			}
		})
	}
}

func FuzzConnections(f *testing.F) {
	for line := range strings.Lines(string(fixture(f, ConnectionsFile))) {
		f.Add([]byte(connectionHeading + "\n" + line))
	}
	f.Add([]byte(connectionHeading + "\nUDP fd00::2 14E9 fd00::a 0035 fd00::3 0035 UDP 299 sip call id\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		connections, err := Connections(raw)
		if err != nil {
			return
		}
		text := connectionHeading + "\n"
		for _, c := range connections {
			if !c.Client.IsValid() || !c.Virtual.IsValid() || !c.Server.IsValid() {
				t.Errorf("no address in %s", c.Line)
			}
			text += c.Line.Text + "\n"
		}
		if strings.TrimSuffix(text, "\n") != strings.TrimSuffix(string(raw), "\n") {
			t.Errorf("the connections' lines are not the input's")
		}
	})
}
