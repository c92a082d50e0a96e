package check

import (
	"fmt"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// alpha bounds the probability that a run of a data plane that does choose at
// random fails a check of splits, over all its entry points.
const alpha = 0.001

// split is how often each backend answered through an entry point.
type split struct {
	collect.EntryPoint
	counts []int
	pValue float64
}

func (s split) String() string {
	text := make([]string, len(s.counts))
	for i, n := range s.counts {
		text[i] = fmt.Sprint(n)
	}
	return fmt.Sprintf("%s, p = %.2g", strings.Join(text, ":"), s.pValue)
}

// splits are tested each by itself, and all of them together: an imbalance too
// small to show at one entry point may be the same at each.
type splits []split

func (s *splits) add(p collect.EntryPoint, counts []int, shares []float64) {
	*s = append(*s, split{p, counts, pValue(counts, shares)})
}

// tests is how many there are.
func (s splits) tests() int {
	if len(s) < 2 {
		return len(s)
	}
	return len(s) + 1
}

// judge contradicts the splits that chance does not allow under their shares, whose
// origin the words say, and returns the others.
func (s splits) judge(j *judgement, shares string) (fine splits) {
	var family []float64
	for _, one := range s {
		family = append(family, one.pValue)
	}
	if len(s) > 1 {
		family = append(family, together(slices.Clone(family)))
	}
	rejected := holm(family, alpha)
	alone := slices.Contains(rejected[:len(s)], true) // then that says enough
	for i, one := range s {
		ref := collect.Ref{File: one.File}
		switch {
		case rejected[i]:
			j.contradict(one.From, ref, "connections are split %s under the shares %s", one, shares)
		case rejected[len(family)-1] && !alone:
			j.contradict(one.From, ref, "connections are split %s: together with the other entry points less even than chance allows under the shares %s (p = %.2g)",
				one, shares, family[len(family)-1])
		default:
			fine = append(fine, one)
		}
	}
	return fine
}
