// Package ipvs reads what kube-proxy's ipvs mode programs on a node: the
// virtual services of /proc/net/ip_vs, the ip sets that say what each of them
// is, and the addresses of kube-ipvs0. It decodes them into a service table, and
// beside it what IPVS itself records of the connections that passed.
//
// It does not read iptables, where the masquerade rules that match those sets
// stand, and does not judge: a node without virtual services is an empty table.
package ipvs
