// Package host says what this machine can run: whether it has what a cluster
// needs (Inspect), whether its kernel has the features a scenario requires
// (Features), and what it is (Describe). It reads /proc, /sys and /lib/modules
// and asks a few programs; it changes nothing, loads no module, and knows
// nothing of scenarios or clusters.
package host
