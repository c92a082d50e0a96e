package check

import (
	"fmt"
	"math"
	"testing"
)

func TestPValue(t *testing.T) {
	half := []float64{0.5, 0.5}
	third := []float64{1. / 3, 1. / 3, 1. / 3}
	tests := []struct {
		counts []int
		shares []float64
		want   float64
	}{
		{[]int{12, 0}, half, 2.0 / 4096},
		{[]int{11, 1}, half, 2 * 13.0 / 4096},
		{[]int{6, 6}, half, 1},
		{[]int{107, 93}, half, 0.3580},
		{[]int{0, 12}, []float64{0, 1}, 1},
		{[]int{1, 11}, []float64{0, 1}, 0},
		{[]int{3, 1}, []float64{0.9, 0.1}, 0.3439}, // all but 0.9^4
		{[]int{3, 0, 0}, third, 1.0 / 9},
		{[]int{1, 1, 1}, third, 1},
		{[]int{0, 0}, half, 1},
		{[]int{3400, 3300, 3300}, third, 0.3679}, // χ² is 2 with two degrees of freedom: exp(-1)
	}
	for _, test := range tests {
		if got := pValue(test.counts, test.shares); math.Abs(got-test.want) > 5e-5 {
			t.Errorf("pValue(%v, %v) = %.5f, want %.5f", test.counts, test.shares, got, test.want)
		}
	}
}

func TestHolm(t *testing.T) {
	tests := []struct {
		pValues []float64
		want    []bool
	}{
		{[]float64{0.01, 0.04, 0.03, 0.005}, []bool{true, false, false, true}}, // 0.0125, 0.0167, 0.025
		{[]float64{0.02, 0.02, 0.02}, []bool{false, false, false}},
		{[]float64{0.05}, []bool{true}},
	}
	for _, test := range tests {
		if got := holm(test.pValues, 0.05); fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("holm(%v) = %v, want %v", test.pValues, got, test.want)
		}
	}
}

func TestTogether(t *testing.T) {
	for _, test := range []struct {
		pValues []float64
		want    float64
	}{
		{[]float64{0.5, 0.5}, 0.5966}, // 1 - pchisq(-4 * log(0.5), 4)
		{[]float64{1, 1, 1}, 1},
		{[]float64{0.5, 0}, 0},
	} {
		if got := together(test.pValues); math.Abs(got-test.want) > 5e-5 {
			t.Errorf("together(%v) = %.5f, want %.5f", test.pValues, got, test.want)
		}
	}
}

// TestDetectable: the share found must have the power that is claimed, by
// counting outcomes, and one step less must not.
func TestDetectable(t *testing.T) {
	if share, ok := detectable(12, 0.5, 0.001/9); ok {
		t.Errorf("12 connections show a share of %v at 0.001 over 9 tests; want nothing", share)
	}
	for _, n := range []int{20, 200, 1000} {
		share, ok := detectable(n, 0.5, 0.001/9)
		if !ok {
			t.Fatalf("%d connections show nothing", n)
		}
		power := func(q float64) float64 {
			sum := 0.0
			for k := n / 2; k <= n; k++ {
				if pValue([]int{k, n - k}, []float64{0.5, 0.5}) <= 0.001/9 {
					log := func(n int) float64 { l, _ := math.Lgamma(float64(n + 1)); return l }
					sum += math.Exp(log(n) - log(k) - log(n-k) + float64(k)*math.Log(q) + float64(n-k)*math.Log(1-q))
				}
			}
			return sum
		}
		if power(share) < 0.8 || power(share-0.01) >= 0.8 {
			t.Errorf("n = %d: power at %.2f is %.3f, at %.2f %.3f", n, share, power(share), share-0.01, power(share-0.01))
		}
	}
}
