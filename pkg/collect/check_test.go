package collect

import "testing"

func TestOverall(t *testing.T) {
	tests := []struct {
		name   string
		checks []Verdict
		want   Verdict
	}{
		{"all pass", []Verdict{Pass, Pass}, Pass},
		{"a skip is named elsewhere", []Verdict{Pass, Skip}, Pass},
		{"one fails", []Verdict{Pass, Fail, Pass}, Fail},
		{"one is open", []Verdict{Inconclusive, Pass}, Inconclusive},
		{"one is open, then one fails", []Verdict{Inconclusive, Fail}, Fail},
		{"one fails, then one is open", []Verdict{Fail, Inconclusive}, Fail},
		{"one is open, then skips", []Verdict{Inconclusive, Skip}, Inconclusive},
	}
	for _, test := range tests {
		var checks []Check
		for _, v := range test.checks {
			checks = append(checks, Check{Verdict: v})
		}
		if got := Overall(checks); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
