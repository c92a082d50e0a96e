// Package conntrack reads the kernel's connection tracking on a node through
// conntrack(8): which connections to a Service were translated, to what, and
// the counters of the table. It is evidence of the traffic that passed, not of
// what is programmed, so it makes no service table.
//
// It knows no Service and no pod: who an address belongs to is the check's part.
package conntrack
