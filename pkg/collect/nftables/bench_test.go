package nftables

import (
	"testing"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/benchtest"
)

func decodeFiles(files benchtest.Files) (collect.ServiceTable, error) {
	return Decode(files["nft-ruleset.json"])
}

// TestGrown: what the benchmark decodes is understood.
func TestGrown(t *testing.T) {
	files, want := grown(t, benchtest.Services(120, 3))
	table, err := decodeFiles(files)
	if got := benchtest.SizeOf(table); err != nil || got != want || got.Unparsed != 0 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// BenchmarkDecode decodes a ruleset of 45,000 Services with two endpoints each, on
// average.
func BenchmarkDecode(b *testing.B) {
	benchtest.Run(b, func() (benchtest.Files, benchtest.Size) {
		return grown(b, benchtest.Services(45_000, 3))
	}, decodeFiles)
}
