// Package probe sends the experiment's new connections through each entry
// point and records what came back. It judges nothing.
package probe
