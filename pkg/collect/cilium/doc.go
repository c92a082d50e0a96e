// Package cilium reads what Cilium's eBPF data plane says of a node: the load
// balancing maps and the agent's own list of Services, both decoded into service
// tables, and besides them the agent's status, the reach of its health probes,
// Cilium's connection tracking and the programs that are attached to cgroups.
//
// It knows no Service of the API and does not judge: a node without the agent
// has no files, and a replacement that is off is a value like any other.
package cilium
