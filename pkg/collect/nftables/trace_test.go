package nftables_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/tracetest"
	"service-dataplane/pkg/collect/nftables"
)

func TestTraceOfEveryFrontend(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/*.*")
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			table, err := nftables.Decode(raw)
			if err != nil {
				t.Skip(err)
			}
			for _, f := range table.Frontends {
				trace, err := nftables.Trace(file, raw, packet(f))
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

// packet is one from outside to a frontend.
func packet(f collect.Frontend) collect.Packet {
	p := collect.Packet{
		Origin: collect.FromOutside, Protocol: f.Protocol,
		Source: netip.MustParseAddr("198.51.100.77"), Local: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
	}
	at := f.Address
	if !at.IsValid() {
		at = p.Local[0]
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
