package collect

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Origin is where a packet comes from, seen from the node it meets.
type Origin string

// The origins.
const (
	// FromProcess: a process in the node's own network namespace.
	FromProcess Origin = "process"
	// FromPod: a pod on the node with a network namespace of its own.
	FromPod Origin = "pod"
	// FromOutside: it arrives from another machine, a node or not.
	FromOutside Origin = "outside"
)

// Packet is the first packet of a new connection as it meets a node. Its
// client is new: no list of session affinity has it. Its mark is 0, which is
// what netfilter sees unless a program in front of it, such as one of BPF,
// says otherwise.
type Packet struct {
	Origin      Origin         `json:"origin" yaml:"origin"`
	Source      netip.Addr     `json:"source" yaml:"source"`
	Destination netip.AddrPort `json:"destination" yaml:"destination"`
	// Protocol is "TCP", "UDP" or "SCTP".
	Protocol string `json:"protocol" yaml:"protocol"`
	// Local are the addresses of the node, those of every interface.
	Local []netip.Addr `json:"-" yaml:"-"`
	// Nodes are the addresses of the cluster's nodes.
	Nodes []netip.Addr `json:"-" yaml:"-"`
	// Pods are the addresses of the cluster's pods, and LocalPods those of the pods
	// on the node.
	Pods      []netip.Addr `json:"-" yaml:"-"`
	LocalPods []netip.Addr `json:"-" yaml:"-"`
}

// IsLocal says whether the kernel calls an address one of the node itself.
func (p Packet) IsLocal(address netip.Addr) bool {
	return address.IsLoopback() || slices.Contains(p.Local, address)
}

// IsNode says whether an address is one of a node of the cluster.
func (p Packet) IsNode(address netip.Addr) bool {
	return slices.Contains(p.Nodes, address) || slices.Contains(p.Local, address)
}

func (p Packet) String() string {
	return fmt.Sprintf("%s → %s/%s", p.Source, p.Destination, strings.ToLower(p.Protocol))
}
