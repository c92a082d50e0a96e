package tracetest

import (
	"testing"

	"service-dataplane/pkg/collect"
)

// Sound fails where no walk can have made the trace: probabilities below 0 or above
// 1 and, of one that has not stopped, that do not add up to 1.
func Sound(t *testing.T, trace collect.Trace) {
	t.Helper()
	sum := collect.Share{}
	check := func(s collect.Share) {
		t.Helper()
		if s.Compare(collect.Share{}) < 0 || s.Compare(collect.Whole()) > 0 {
			t.Errorf("probability %s", s)
		}
	}
	for _, h := range trace.Hops {
		check(h.Probability)
	}
	for _, b := range trace.Backends {
		check(b.Probability)
		sum = sum.Plus(b.Probability)
	}
	for _, e := range trace.Endings {
		check(e.Probability)
		sum = sum.Plus(e.Probability)
	}
	if trace.Stopped == nil && sum.Compare(collect.Whole()) != 0 {
		t.Errorf("probabilities add up to %s", sum)
	}
}
