package collect

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// ServiceTable is what one kernel encoding of one node programs: which
// frontend leads to which backends. Every decoder returns this one form.
type ServiceTable struct {
	// Encoding names the kernel state it was read from: "iptables",
	// "nftables", "ipvs", …
	Encoding string `json:"encoding"`
	// Frontends in the order of Sort.
	Frontends []Frontend `json:"frontends"`
	// Unparsed holds what belongs to the encoding and was not understood. A
	// table with unparsed lines may be incomplete and proves no equality.
	Unparsed []Line `json:"unparsed,omitempty"`
}

// FrontendKind says which part of a Service the frontend implements. It is ""
// where the kernel state does not tell an ExternalIP from a LoadBalancer.
type FrontendKind string

// The kinds of a Service's frontends.
const (
	ClusterIP    FrontendKind = "ClusterIP"
	NodePort     FrontendKind = "NodePort"
	ExternalIP   FrontendKind = "ExternalIP"
	LoadBalancer FrontendKind = "LoadBalancer"
)

// Frontend is one address, port and protocol that a data plane translates.
type Frontend struct {
	Kind FrontendKind `json:"kind"`
	// Address is the virtual address. The zero Addr means any address of the
	// node: a NodePort that the kernel matches by "local destination". An
	// encoding that lists node addresses one by one has a frontend for each.
	Address netip.Addr `json:"address,omitzero"`
	Port    uint16     `json:"port"`
	// Protocol is "TCP", "UDP" or "SCTP", as the API spells it.
	Protocol string `json:"protocol"`
	// Service is the port's name where the kernel state carries it, in
	// kube-proxy's form "namespace/name:port" ("namespace/name" for a port
	// without a name), else "".
	Service string `json:"service,omitempty"`
	// Selection is how a backend is chosen for a new connection.
	Selection Selection `json:"selection,omitempty"`
	// AffinitySeconds is the timeout of ClientIP session affinity; 0 is none.
	AffinitySeconds int `json:"affinitySeconds,omitempty"`
	// Policy is the traffic policy the rules implement for this frontend.
	Policy Policy `json:"policy,omitempty"`
	// Masquerade says for which sources entering the frontend marks the
	// connection for masquerade; "" where the table does not tell.
	Masquerade Masquerade `json:"masquerade"`
	// NoBackends is what happens to a new connection when Backends is empty:
	// "reject", "drop", or "" where the table does not say.
	NoBackends string `json:"noBackends,omitempty"`
	// Backends in the order of Sort.
	Backends []Backend `json:"backends"`
	// Line is where the frontend is matched in the raw file.
	Line Line `json:"line"`
}

// Selection is how a data plane picks one of several backends.
type Selection string

// The ways of picking a backend.
const (
	SelectRandom     Selection = "random"
	SelectRoundRobin Selection = "round-robin"
	SelectLeastConn  Selection = "least-connection"
	SelectSourceHash Selection = "source-hash"
	SelectMaglev     Selection = "maglev"
)

// Policy is a Service's traffic policy as the kernel implements it.
type Policy string

// The traffic policies.
const (
	PolicyCluster Policy = "cluster"
	PolicyLocal   Policy = "local"
)

// Masquerade says whose connections are marked for masquerade on entry.
type Masquerade string

// The sources whose connections are marked.
const (
	// MasqueradeNever: entering the frontend marks nothing.
	MasqueradeNever Masquerade = "never"
	// MasqueradeOffCluster: sources outside the pod network are marked.
	MasqueradeOffCluster Masquerade = "off-cluster"
	// MasqueradeAlways: every source is marked.
	MasqueradeAlways Masquerade = "always"
)

// BackendState says whether a backend takes new connections.
type BackendState string

// The states of a backend.
const (
	Active      BackendState = "active"
	Terminating BackendState = "terminating"
	Quarantined BackendState = "quarantined"
)

// Backend is one translated destination of a frontend.
type Backend struct {
	Address netip.Addr `json:"address"`
	Port    uint16     `json:"port"`
	// Probability that a new connection without affinity is sent here, in
	// (0, 1]; the active backends of a frontend add up to 1. 0 where the
	// encoding chooses otherwise (see Weight).
	Probability float64 `json:"probability,omitempty"`
	// Weight as IPVS keeps it; 0 takes no new connections.
	Weight int          `json:"weight,omitempty"`
	State  BackendState `json:"state"`
	// Line is where the translation stands in the raw file.
	Line Line `json:"line"`
}

// Line points into a raw file.
type Line struct {
	// Number counts from 1; 0 where the source has no lines (JSON in one
	// line), and Text then holds the element.
	Number int    `json:"number,omitempty"`
	Text   string `json:"text"`
}

func (l Line) String() string {
	if l.Number == 0 {
		return l.Text
	}
	return fmt.Sprintf("%d: %s", l.Number, l.Text)
}

// Sort brings frontends and their backends into one order, so that two tables
// of the same state are equal whatever order the kernel listed them in.
func (t *ServiceTable) Sort() {
	slices.SortStableFunc(t.Frontends, func(a, b Frontend) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind),
			a.Address.Compare(b.Address),
			cmp.Compare(a.Port, b.Port),
			cmp.Compare(a.Protocol, b.Protocol),
		)
	})
	for _, f := range t.Frontends {
		slices.SortStableFunc(f.Backends, func(a, b Backend) int {
			return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port))
		})
	}
}

// Endpoint is the frontend's address, port and protocol as one would type
// them: "10.96.0.10:53/UDP", "*:30081/TCP" for any address of the node.
func (f Frontend) Endpoint() string {
	if !f.Address.IsValid() {
		return fmt.Sprintf("*:%d/%s", f.Port, f.Protocol)
	}
	return fmt.Sprintf("%s/%s", netip.AddrPortFrom(f.Address, f.Port), f.Protocol)
}
