package conntrack

import (
	"reflect"
	"strings"
	"testing"
)

func TestDecodeStatsRecorded(t *testing.T) {
	stats, err := DecodeStats(recorded(t, "conntrack-stats.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := Stats{CPUs: 2, Counters: map[string]uint64{
		"found": 0, "invalid": 0, "insert": 0, "insert_failed": 0, "drop": 0, "early_drop": 0,
		"error": 0, "search_restart": 0, "clash_resolve": 0, "chaintoolong": 0,
	}}
	if !reflect.DeepEqual(stats, want) {
		t.Errorf("got %+v, want %+v", stats, want)
	}
}

func TestDecodeStatsSums(t *testing.T) {
	stats, err := DecodeStats([]byte("cpu=0   \tinsert=3 drop=4294967295 \ncpu=1   \tinsert=1 drop=1 unknown1=7 \n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Stats{CPUs: 2, Counters: map[string]uint64{"insert": 4, "drop": 1 << 32, "unknown1": 7}}
	if !reflect.DeepEqual(stats, want) {
		t.Errorf("got %+v, want %+v", stats, want)
	}
}

func TestDecodeStatsErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "no CPU"},
		{"another file", "entries searched found\n", "line 1"},
		{"one CPU twice", "cpu=0 drop=1\ncpu=0 drop=1\n", "line 2"},
		{"not a number", "cpu=0 drop=many\n", "line 1"},
		{"no value", "cpu=0 drop\n", "line 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := DecodeStats([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one naming %q", err, tt.want)
			}
		})
	}
}

func FuzzDecodeStats(f *testing.F) {
	f.Add(recorded(f, "conntrack-stats.txt"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		stats, err := DecodeStats(raw)
		if err == nil && stats.CPUs == 0 {
			t.Error("no CPU and no error")
		}
	})
}
