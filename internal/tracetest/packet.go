package tracetest

import (
	"net/netip"
	"strings"

	"service-dataplane/pkg/collect"
)

// FromPod is a packet of a pod on the node to a ClusterIP.
func FromPod() collect.Packet {
	return collect.Packet{
		Origin: collect.FromPod, Source: netip.MustParseAddr("10.244.0.9"),
		Destination: netip.MustParseAddrPort("10.96.0.1:80"), Protocol: "TCP",
	}
}

// Shares are "1/2 10.244.1.2:8080, 1/2 rejected": backends, and then what ends
// without one.
func Shares(t collect.Trace) string {
	var all []string
	for _, b := range t.Backends {
		all = append(all, b.Probability.String()+" "+b.Backend.String())
	}
	for _, e := range t.Endings {
		all = append(all, e.Probability.String()+" "+string(e.Fate))
	}
	return strings.Join(all, ", ")
}
