package collect

import (
	"math"
	"math/big"
)

// Share is a part of all new connections, exactly: a fraction from 0 to 1. The
// zero Share is none of them.
type Share struct{ of *big.Rat }

// Part is numerator/denominator; the denominator must not be 0.
func Part(numerator, denominator int64) Share { return Share{big.NewRat(numerator, denominator)} }

// Whole is all connections.
func Whole() Share { return Part(1, 1) }

// Rat is the fraction, a copy.
func (s Share) Rat() *big.Rat {
	r := new(big.Rat)
	if s.of != nil {
		r.Set(s.of)
	}
	return r
}

// Times is that part of the share.
func (s Share) Times(part Share) Share { return Share{new(big.Rat).Mul(s.Rat(), part.Rat())} }

// Plus is both shares together.
func (s Share) Plus(other Share) Share { return Share{new(big.Rat).Add(s.Rat(), other.Rat())} }

// Minus is what the other share leaves.
func (s Share) Minus(other Share) Share { return Share{new(big.Rat).Sub(s.Rat(), other.Rat())} }

// Compare is -1, 0 or 1 for less, equal and more.
func (s Share) Compare(other Share) int { return s.Rat().Cmp(other.Rat()) }

// None says that there is nothing in the share.
func (s Share) None() bool { return s.Rat().Sign() == 0 }

// Float is the nearest float64.
func (s Share) Float() float64 {
	f, _ := s.Rat().Float64()
	return f
}

// String is "1/3", "1", or a decimal where the fraction is none that one would
// read.
func (s Share) String() string {
	r := s.Rat()
	if r.Denom().BitLen() > 20 {
		return r.FloatString(9)
	}
	return r.RatString()
}

// MarshalText writes the fraction itself, however long.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.Rat().RatString()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Share) UnmarshalText(text []byte) error {
	s.of = new(big.Rat)
	return s.of.UnmarshalText(text)
}

// ofStatistic is 2^31: the statistic match of the kernel draws one of so many
// numbers (net/netfilter/xt_statistic.c).
const ofStatistic = 1 << 31

// StatisticShare is what iptables' "-m statistic --mode random --probability p"
// takes; false where p is none. The kernel keeps p as a multiple of 2^-31
// (libxt_statistic.c), and kube-proxy writes 1/n with ten digits, so that one third
// comes back as 0.33333333349: a multiple next to 1/n is called 1/n.
func StatisticShare(p float64) (Share, bool) {
	if !(p >= 0 && p <= 1) {
		return Share{}, false
	}
	kept := int64(math.Round(p * ofStatistic))
	if kept == 0 {
		return Share{}, true
	}
	n := int64(math.Round(ofStatistic / float64(kept)))
	if off := kept*n - ofStatistic; -n < off && off < n {
		return Part(1, n), true
	}
	return Part(kept, ofStatistic), true
}
