// Package diff says what two runs show differently: two derived results go in,
// one line a difference comes out. It compares normalized evidence, so that
// addresses, times and counters never show; versions are provenance.
//
// It must not know where results come from or how a report looks, and it reads
// nothing: whoever calls it has derived both sides with this program's decoders.
package diff
