package check

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// maxOutcomes bounds the exact test. Beyond it the counts are so large that
// the χ² approximation serves.
const maxOutcomes = 1e6

// pValue is the probability, under the shares, of counts no more likely than
// these: the exact multinomial test, with two shares the two-sided binomial.
func pValue(counts []int, shares []float64) float64 {
	n := 0
	var seen []int
	var possible []float64
	for i, c := range counts {
		if shares[i] > 0 {
			seen, possible = append(seen, c), append(possible, shares[i])
		} else if c > 0 {
			return 0
		}
		n += c
	}
	if len(possible) < 2 || n == 0 {
		return 1
	}
	if combin.GeneralizedBinomial(float64(n+len(seen)-1), float64(len(seen)-1)) > maxOutcomes {
		return chiSquared(seen, possible, n)
	}
	all, _ := math.Lgamma(float64(n + 1))
	limit := all
	for i, c := range seen {
		limit += term(c, possible[i])
	}
	// Outcomes of one probability must not differ by rounding.
	return min(1, unlikely(n, possible, all, limit+1e-7))
}

// term is an outcome's part of the logarithm of the multinomial probability.
func term(count int, share float64) float64 {
	factorial, _ := math.Lgamma(float64(count + 1))
	return float64(count)*math.Log(share) - factorial
}

// unlikely adds up the outcomes whose logarithm is not above limit. left is
// what is to be spread over the shares; base is what went before.
func unlikely(left int, shares []float64, base, limit float64) float64 {
	if len(shares) == 1 {
		if p := base + term(left, shares[0]); p <= limit {
			return math.Exp(p)
		}
		return 0
	}
	sum := 0.0
	for count := 0; count <= left; count++ {
		sum += unlikely(left-count, shares[1:], base+term(count, shares[0]), limit)
	}
	return sum
}

func chiSquared(counts []int, shares []float64, n int) float64 {
	sum := 0.0
	for i, c := range counts {
		expected := float64(n) * shares[i]
		sum += (float64(c) - expected) * (float64(c) - expected) / expected
	}
	return distuv.ChiSquared{K: float64(len(counts) - 1)}.Survival(sum)
}

// together combines independent p-values by Fisher's method. Those of an exact
// test are never too small, so this is not either.
func together(pValues []float64) float64 {
	sum := 0.0
	for _, p := range pValues {
		if p == 0 {
			return 0
		}
		sum -= 2 * math.Log(p)
	}
	return distuv.ChiSquared{K: float64(2 * len(pValues))}.Survival(sum)
}

// holm says which hypotheses fall at a familywise error rate (Holm 1979).
func holm(pValues []float64, rate float64) []bool {
	order := make([]int, len(pValues))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(pValues[a], pValues[b]) })
	rejected := make([]bool, len(pValues))
	for rank, i := range order {
		if pValues[i] > rate/float64(len(order)-rank) {
			break
		}
		rejected[i] = true
	}
	return rejected
}

// detectable is the smallest share, in steps of 0.01, that a backend would
// have to get instead of its own for n connections to show it at the level
// with power 0.8; false where even all of them would not.
func detectable(n int, share, level float64) (float64, bool) {
	low := int(math.Ceil(float64(n) * share))
	critical := low + sort.Search(n-low+1, func(i int) bool {
		return pValue([]int{low + i, n - low - i}, []float64{share, 1 - share}) <= level
	})
	if critical > n {
		return 0, false
	}
	for q := share; q < 1; q += 0.01 {
		if (distuv.Binomial{N: float64(n), P: q}).Survival(float64(critical-1)) >= 0.8 {
			return q, true
		}
	}
	return 1, true
}
