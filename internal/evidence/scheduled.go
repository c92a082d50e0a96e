package evidence

import (
	"fmt"
	"net/netip"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/ipvs"
)

// scheduled picks the connections to the Service out of the connection table of
// IPVS. Evidence from before that table was recorded has none, which is no
// problem: it explains what the traffic shows, and proves nothing alone.
func (s *source) scheduled(role string, service collect.Service) *collect.Scheduled {
	file := onNode(role, ipvs.ConnectionsFile)
	if s.records[file].Outcome != collect.Captured {
		return nil
	}
	raw, ok := s.captured(file)
	if !ok {
		return nil
	}
	connections, err := ipvs.Connections(raw)
	if err != nil {
		s.problem(file, "%v", err)
		return nil
	}
	scheduled := &collect.Scheduled{File: file, Connections: []collect.ScheduledConnection{}, Totals: s.totals(role)}
	for _, c := range connections {
		port := c.Virtual.Port()
		clusterIP := c.Virtual == netip.AddrPortFrom(service.ClusterIP, service.Port)
		if nodePort := port != 0 && port == service.NodePort; c.Protocol == service.Protocol && (clusterIP || nodePort) {
			scheduled.Connections = append(scheduled.Connections, collect.ScheduledConnection{
				Client: c.Client, Virtual: c.Virtual, Backend: c.Server, Line: c.Line,
			})
		}
	}
	return scheduled
}

func (s *source) totals(role string) collect.Observation {
	file := onNode(role, ipvs.StatsFile)
	raw, ok := s.captured(file)
	if !ok {
		return collect.Observation{}
	}
	totals, err := ipvs.Stats(raw)
	if err != nil {
		s.problem(file, "%v", err)
		return collect.Observation{}
	}
	return collect.Observation{
		Value: fmt.Sprintf("%d connections, %d packets and %d bytes in, %d packets and %d bytes out",
			totals.Connections, totals.PacketsIn, totals.BytesIn, totals.PacketsOut, totals.BytesOut),
		Ref: collect.Ref{File: file, Line: totals.Line},
	}
}

// ScheduledFile is the raw file of a node's connection table of IPVS.
func ScheduledFile(role string) string { return onNode(role, ipvs.ConnectionsFile) }

// Dialled are the client's ends of the connections that the experiment made to an
// address. What masquerades them on the way does so behind IPVS, which knows them
// by these.
func Dialled(e collect.Evidence, address netip.AddrPort) map[netip.AddrPort]bool {
	own := map[netip.AddrPort]bool{}
	for _, p := range e.Traffic {
		for _, a := range p.Attempts {
			if a.DialedAddress == address {
				own[a.LocalAddress] = true
			}
		}
	}
	return own
}
