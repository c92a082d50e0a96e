package evidence

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/pkg/collect"
)

const (
	connHeading = "Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData\n"
	totals      = "   Total Incoming Outgoing         Incoming         Outgoing\n" +
		"   Conns  Packets  Packets            Bytes            Bytes\n" +
		"      3C       CC       CC             3C54             63D2\n"
)

// TestScheduled gives the files of a node's IPVS.
func TestScheduled(t *testing.T) {
	const (
		clusterIP = "TCP 0AF40102 E9C6 0A603D50 0050 0AF40103 1F90 TIME_WAIT       117\n"
		nodePort  = "TCP AC120001 BC08 AC120004 7581 0AF40202 1F90 TIME_WAIT       118\n"
		dns       = "UDP 0AF40102 A3C1 0A60000A 0035 0AF40003 0035 UDP             298\n"
		otherPort = "TCP 0AF40102 E9C6 0A603D50 0051 0AF40103 1F90 TIME_WAIT       117\n"
		udp       = "UDP 0AF40102 E9C6 0A603D50 0050 0AF40103 1F90 UDP             117\n"
	)
	service := collect.Service{ClusterIP: netip.MustParseAddr("10.96.61.80"), Port: 80, NodePort: 30081, Protocol: "TCP"}
	tests := []struct {
		name          string
		conn, stats   string
		read          bool
		want          []string
		totals        string
		problem, says string
	}{
		{
			name: "the Service's alone", conn: connHeading + dns + clusterIP + otherPort + nodePort + udp, stats: totals, read: true,
			want: []string{
				"10.244.1.2:59846 10.96.61.80:80 10.244.1.3:8080 line 3",
				"172.18.0.1:48136 172.18.0.4:30081 10.244.2.2:8080 line 5",
			},
			totals: "60 connections, 204 packets and 15444 bytes in, 204 packets and 25554 bytes out",
		},
		{name: "none", conn: connHeading, stats: totals, read: true, totals: "60 connections, 204 packets and 15444 bytes in, 204 packets and 25554 bytes out"},
		{name: "not recorded", stats: totals},
		{name: "garbled", conn: connHeading + clusterIP + "TCP 0AF4\n", stats: totals, problem: "worker/ip_vs_conn.txt", says: "line 3"},
		{name: "garbled totals", conn: connHeading + clusterIP, stats: "none\n", read: true,
			want: []string{"10.244.1.2:59846 10.96.61.80:80 10.244.1.3:8080 line 2"}, problem: "worker/ip_vs_stats.txt", says: "line 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := &source{raw: fstest.MapFS{}, records: map[string]collect.Record{}, unusable: map[string]bool{}}
			for file, text := range map[string]string{"worker/ip_vs_conn.txt": test.conn, "worker/ip_vs_stats.txt": test.stats} {
				if text != "" {
					s.raw.(fstest.MapFS)[file] = &fstest.MapFile{Data: []byte(text)}
					s.records[file] = collect.Record{Outcome: collect.Captured}
				}
			}
			got := s.scheduled("worker", service)
			if (got != nil) != test.read {
				t.Fatalf("got %+v, want it read: %v", got, test.read)
			}
			var all []string
			if got != nil {
				for _, c := range got.Connections {
					all = append(all, fmt.Sprintf("%s %s %s line %d", c.Client, c.Virtual, c.Backend, c.Line.Number))
				}
				if got.Totals.Value != test.totals {
					t.Errorf("totals %q, want %q", got.Totals.Value, test.totals)
				}
			}
			if !slices.Equal(all, test.want) {
				t.Errorf("connections %q, want %q", all, test.want)
			}
			switch {
			case test.problem == "" && len(s.problems) > 0:
				t.Errorf("problems %+v", s.problems)
			case test.problem != "" && (len(s.problems) != 1 || s.problems[0].File != test.problem || !strings.Contains(s.problems[0].Text, test.says)):
				t.Errorf("problems %+v, want %s of %s", s.problems, test.says, test.problem)
			}
		})
	}
}

// TestScheduledElsewhere: a kernel without IPVS has no such record, and that of
// another mode's node, where IPVS was merely loaded, is empty.
func TestScheduledElsewhere(t *testing.T) {
	raw, s, x := load(t, "iptables")
	record(raw, "worker/ip_vs_conn.txt", connHeading)
	raw["worker/ip_vs_stats.txt"] = &fstest.MapFile{Data: []byte(totals)}
	index(raw, "worker/ip_vs_stats.txt", collect.Captured)
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Problems) > 0 {
		t.Errorf("problems %+v", e.Problems)
	}
	if e.Kernel[0].Scheduled != nil || e.Kernel[1].Scheduled == nil || len(e.Kernel[1].Scheduled.Connections) > 0 {
		t.Errorf("control-plane %+v, worker %+v", e.Kernel[0].Scheduled, e.Kernel[1].Scheduled)
	}
}

// TestNormalizeScheduled: what IPVS lists is chance.
func TestNormalizeScheduled(t *testing.T) {
	without := normalized(t, "iptables", func(fstest.MapFS) {})
	with := normalized(t, "iptables", func(raw fstest.MapFS) {
		record(raw, "worker/ip_vs_conn.txt", connHeading+"TCP AC120001 BC08 AC120004 7581 0AF40202 1F90 TIME_WAIT       118\n")
		raw["worker/ip_vs_stats.txt"] = &fstest.MapFile{Data: []byte(totals)}
		index(raw, "worker/ip_vs_stats.txt", collect.Captured)
	})
	if string(without) != string(with) {
		t.Error("connections of IPVS are in the normalized evidence")
	}
}
