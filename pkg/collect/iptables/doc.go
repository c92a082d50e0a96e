// Package iptables reads the service rules of kube-proxy's iptables mode (as of
// Kubernetes 1.35) from what iptables-save 1.8 prints, legacy or nf_tables, IPv4
// or IPv6. Decode turns one dump into a service table; Count and Live say which
// dump of a node holds the rules. It knows nothing of clusters, of Services as
// the API has them, or of what the rules should be.
package iptables
