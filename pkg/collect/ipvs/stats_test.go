package ipvs

import (
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

func TestStats(t *testing.T) {
	const headings = totalsHeading + "\n" + unitsHeading + "\n"
	tests := []struct {
		name, text string
		want       Totals
		err        string
	}{
		{"recorded", string(fixture(t, StatsFile)), Totals{Connections: 12, PacketsIn: 60, PacketsOut: 60, BytesIn: 4332, BytesOut: 7061}, ""},
		{"more than 32 bits", headings + "1FFFFFFFF        0        0 FFFFFFFFFFFFFFFF                0\n", Totals{Connections: 1<<33 - 1, BytesIn: 1<<64 - 1}, ""},
		{"empty file", "", Totals{}, "line 3"},
		{"another file", "cpu 1\n", Totals{}, "line 1"},
		{"one heading", totalsHeading + "\n" + totalsHeading + "\n", Totals{}, "line 2"},
		{"no totals", headings, Totals{}, "line 3"},
		{"blank totals", headings + "\n", Totals{}, "line 3"},
		{"a counter short", headings + "C 3C 3C 10EC\n", Totals{}, "line 3"},
		{"no hex digits", headings + "C 3C 3C 10EC 1BX5\n", Totals{}, "line 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Stats([]byte(tt.text))
			got.Line = collect.Line{}
			switch {
			case tt.err == "" && (err != nil || got != tt.want):
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %v, want one naming %q", err, tt.err)
			}
		})
	}
}

func FuzzStats(f *testing.F) {
	f.Add(fixture(f, StatsFile))
	f.Fuzz(func(t *testing.T, raw []byte) {
		totals, err := Stats(raw)
		if err == nil && totals.Line.Number != 3 {
			t.Errorf("totals of line %d", totals.Line.Number)
		}
	})
}
