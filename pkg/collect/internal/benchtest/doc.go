// Package benchtest is for the benchmarks of the decoders: Services of a large
// cluster go in, each decoder's package writes them as its kernel state, and Run
// says what decoding those files costs in time and memory beside merely reading
// them. Tests import it, nothing else does.
//
// It must not know any encoding.
package benchtest
