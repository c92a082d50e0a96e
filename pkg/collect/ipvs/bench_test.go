package ipvs

import (
	"testing"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/benchtest"
)

func decodeFiles(files benchtest.Files) (collect.ServiceTable, error) {
	return Decode(Raw{
		IPVS: files[ServicesFile], IPSet: files[IPSetFile], DummyAddrs: files[DummyFile], TimerList: files[TimerListFile],
	})
}

// TestGrown: what the benchmark decodes is understood.
func TestGrown(t *testing.T) {
	files, want := grown(t, benchtest.Services(120, 5))
	table, err := decodeFiles(files)
	if got := benchtest.SizeOf(table); err != nil || got != want || got.Unparsed != 0 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// BenchmarkDecode decodes 50,000 rows of /proc/net/ip_vs and the files that explain
// them, ip sets and addresses of as many Services.
func BenchmarkDecode(b *testing.B) {
	benchtest.Run(b, func() (benchtest.Files, benchtest.Size) {
		return grown(b, benchtest.Services(12_200, 5))
	}, decodeFiles)
}
