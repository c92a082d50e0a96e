package ipvs

import (
	"fmt"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// find finds the virtual service of a packet, as ip_vs_service_find does: by the
// packet's mark, by its address and port, by its address alone. The hop says why it
// is not followed.
func (w walker) find(s walk.State) (found *VirtualService, stop *collect.Hop) {
	for i, v := range w.services {
		here := v.Protocol == s.Packet.Protocol && v.Address.Addr() == s.Destination.Addr()
		switch {
		case v.Protocol == FirewallMark && s.Mark != 0 && v.mark() == s.Mark:
			hop := row("ip_vs", v.Line, "the virtual service of the packet's mark comes first, and is not one of kube-proxy's")
			return nil, &hop
		case here && v.Address.Port() == s.Destination.Port():
			found = &w.services[i]
		case here && v.Address.Port() == 0:
			hop := row("ip_vs", v.Line, "a virtual service of every port, which is not one of kube-proxy's")
			stop = &hop
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, stop
}

// mark is that of a firewall mark's virtual service.
func (v VirtualService) mark() uint32 {
	mark, _ := strconv.ParseUint(v.Hex, 16, 32) // Services has parsed it
	return uint32(mark)
}

// schedule sends a packet to the real servers of its virtual service; one that has
// none goes on as it is.
func (w walker) schedule(m *walk.Machine, s walk.State) ([]walk.State, error) {
	service, stop := w.find(s)
	switch {
	case stop != nil:
		return nil, &walk.Stop{Hop: *stop}
	case service == nil:
		return []walk.State{s}, nil
	}
	where := fmt.Sprintf("ip_vs %s %s", service.Protocol, service.Address)
	if len(service.UnknownFlags) > 0 {
		return nil, walk.StopAt(row(where, service.Line, ""), "flag %q is not known", strings.Join(service.UnknownFlags, " "))
	}
	weight, how, ok := scheduling(service.Scheduler)
	if !ok {
		return nil, walk.StopAt(row(where, service.Line, ""), "scheduler %s is not known", service.Scheduler)
	}
	hop := row(where, service.Line, how)
	if service.PersistentTicks > 0 {
		hop.Note += "; session affinity: a new client has no backend yet, one that has keeps it"
	}
	hop.Probability = s.Share
	m.Hops = append(m.Hops, hop)
	return w.servers(m, s, service, hop, weight)
}

// servers spreads packets over real servers by what weigh gives each.
func (w walker) servers(m *walk.Machine, s walk.State, service *VirtualService, at collect.Hop, weigh func(RealServer) int) ([]walk.State, error) {
	total := 0
	for _, server := range service.RealServers {
		if server.Forward != ForwardMasq {
			return nil, walk.StopAt(row(at.Where, server.Line, ""), "forwarding method %s is not one that translates", server.Forward)
		}
		if server.Weight > 0 {
			total += weigh(server)
		}
	}
	var states []walk.State
	for _, server := range service.RealServers {
		hop := row(at.Where, server.Line, "to "+server.Address.String())
		hop.Depth = 1
		if server.Weight == 0 {
			hop.Note += ": weight 0 takes no new connections"
			m.Hops = append(m.Hops, hop)
			continue
		}
		part := s.To(server.Address, collect.Part(int64(weigh(server)), int64(total)))
		hop.Probability = part.Share
		m.Hops = append(m.Hops, hop)
		states = append(states, part)
	}
	if len(states) == 0 {
		at.Note = "no real server takes new connections: the client is told that the port is unreachable (ip_vs_leave)"
		m.Endings = append(m.Endings, collect.Ending{Probability: s.Share, Fate: collect.Rejected, By: at})
	}
	return states, nil
}

// scheduling is what a scheduler gives each real server of new connections in the
// long run, and how.
func scheduling(name string) (weigh func(RealServer) int, how string, ok bool) {
	equal := func(RealServer) int { return 1 }
	byWeight := func(r RealServer) int { return r.Weight }
	switch name {
	case "rr":
		return equal, "each real server in turn", true
	case "wrr":
		return byWeight, "each real server in turn, by weight", true
	case "lc":
		return equal, "the real server with the fewest connections: in the long run as many to each", true
	case "wlc":
		return byWeight, "the real server with the fewest connections for its weight: in the long run by weight", true
	case "sh":
		return byWeight, "one real server for a source address, by its hash; which one is not calculated", true
	case "mh":
		return byWeight, "one real server for a source address, by Maglev's hash; which one is not calculated", true
	}
	return nil, "", false
}

func row(where string, line collect.Line, note string) collect.Hop {
	return collect.Hop{Where: where, File: ServicesFile, Line: line, Note: note}
}
