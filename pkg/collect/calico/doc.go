// Package calico reads what Calico's eBPF data plane says of a node: the NAT maps
// decoded into a service table, session affinity, connection tracking and the
// programs attached to the cgroup; and what its objects say of the cluster:
// TigeraStatus, Installation and FelixConfiguration.
//
// It knows no Service of the API and does not judge: a data plane that is off is
// a value like any other.
package calico
