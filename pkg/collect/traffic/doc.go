// Package traffic is the form of a probe's output: one new connection a line.
// The workload writes it, evidence is decoded from it.
package traffic
