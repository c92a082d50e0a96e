package benchtest

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Run benchmarks a decoder on the files that write makes, which must decode to a
// table of that size. Beside the usual figures, those of the decoder alone, it
// reports
//
//	x-lines        its time, in times of the line reader's
//	x-any          the same of encoding/json into any, where every file is JSON
//	peak-x-input   its peak memory, in times of the files' bytes; see peak
//	any-x-input    the same of encoding/json into any
//	input-MB, lines
//
// Every way of reading runs in each iteration, one after another. Compared is the
// least processor time of each, of all threads, since wall time tells on a busy
// machine how busy it is.
func Run(b *testing.B, write func() (Files, Size), decode Decode) {
	if inChild(decode) {
		return
	}
	files, size := write()
	dir, input := b.TempDir(), 0
	var names []string
	for name, raw := range files {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			b.Fatal(err)
		}
		names, input = append(names, name), input+len(raw)
	}
	table, err := decode(files)
	if got := SizeOf(table); err != nil || got != size {
		b.Fatalf("decoded to %+v, want %+v: %v", got, size, err)
	}

	all := sides(names, decode)
	times := map[string][]time.Duration{}
	b.SetBytes(int64(input))
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range all {
			b.StopTimer()
			runtime.GC() // what the one before left is not this one's to collect
			if s.name == decoding {
				b.StartTimer()
			}
			start := processorTime()
			if _, err := s.read(dir); err != nil {
				b.Fatal(err)
			}
			times[s.name] = append(times[s.name], processorTime()-start)
		}
		b.StartTimer()
	}
	b.StopTimer()

	count, _ := countLines(dir) // has been read above
	b.ReportMetric(float64(count), "lines")
	b.ReportMetric(float64(input)/1e6, "input-MB")
	b.ReportMetric(ratio(times[decoding], times[lines]), "x-lines")
	idle := peak(b, nothing, dir)
	b.ReportMetric(float64(peak(b, decoding, dir)-idle)/float64(input), "peak-x-input")
	if times[anyJSON] != nil {
		b.ReportMetric(ratio(times[decoding], times[anyJSON]), "x-any")
		b.ReportMetric(float64(peak(b, anyJSON, dir)-idle)/float64(input), "any-x-input")
	}
}

// processorTime is what this process has used, as user and in the kernel.
func processorTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails for other arguments only
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func ratio(a, b []time.Duration) float64 { return slices.Min(a).Seconds() / slices.Min(b).Seconds() }
