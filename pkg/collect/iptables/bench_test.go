package iptables

import (
	"testing"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/benchtest"
)

func decodeFiles(files benchtest.Files) (collect.ServiceTable, error) {
	return Decode(files["iptables-nft-save.txt"])
}

// TestGrown: what the benchmark decodes is understood.
func TestGrown(t *testing.T) {
	files, want := grown(t, benchtest.Services(120, 10))
	table, err := decodeFiles(files)
	if got := benchtest.SizeOf(table); err != nil || got != want || got.Unparsed != 0 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// BenchmarkDecode decodes a dump of 700,000 lines.
func BenchmarkDecode(b *testing.B) {
	benchtest.Run(b, func() (benchtest.Files, benchtest.Size) {
		return grown(b, benchtest.Services(27_500, 10))
	}, decodeFiles)
}
