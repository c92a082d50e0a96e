package evidence

import (
	"cmp"
	"net/netip"
	"slices"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/conntrack"
)

// ConntrackFiles are the raw files of a node's tracked connections.
func ConntrackFiles(role string) []string {
	return []string{onNode(role, conntrack.ClusterIPFile), onNode(role, conntrack.NodePortFile)}
}

// CiliumConntrackFiles are those of the connections that Cilium tracks: they
// name a backend by a number that only the maps explain.
func CiliumConntrackFiles(role string) []string {
	return []string{onNode(role, cilium.ConntrackFile), onNode(role, cilium.LBFile), onNode(role, cilium.FrontendsFile)}
}

// CalicoConntrackFiles are those of the connections that Calico tracks.
func CalicoConntrackFiles(role string) []string {
	return []string{onNode(role, calico.ConntrackFile)}
}

// flow is one tracked connection.
type flow struct {
	collect.Translation
	source netip.Addr
}

// translations counts the connections to the Service that a node tracks, by
// what was dialled and what became of it.
func (s *source) translations(role string, service collect.Service) []collect.Translation {
	flows := s.kernelFlows(role)
	// Their own dumps are of all connections.
	var all []flow
	if s.cilium {
		all = append(all, s.ciliumFlows(role)...)
	}
	if s.calico {
		all = append(all, s.calicoFlows(role)...)
	}
	for _, f := range all {
		port := f.Destination.Port()
		if f.Destination == netip.AddrPortFrom(service.ClusterIP, service.Port) || port != 0 && port == service.NodePort {
			flows = append(flows, f)
		}
	}
	return counted(flows)
}

// counted puts connections of one kind together.
func counted(flows []flow) []collect.Translation {
	type kind struct {
		tracker              string
		destination, backend netip.AddrPort
		masqueraded          bool
	}
	all := []collect.Translation{}
	index := map[kind]int{}
	for _, f := range flows {
		k := kind{f.Tracker, f.Destination, f.Backend, f.Masqueraded}
		i, known := index[k]
		if !known {
			i = len(all)
			index[k] = i
			all = append(all, f.Translation)
		}
		all[i].Count++
		if at, known := slices.BinarySearchFunc(all[i].Sources, f.source, netip.Addr.Compare); !known {
			all[i].Sources = slices.Insert(all[i].Sources, at, f.source)
		}
	}
	slices.SortStableFunc(all, func(a, b collect.Translation) int {
		return cmp.Or(a.Destination.Compare(b.Destination), a.Backend.Compare(b.Backend), cmp.Compare(a.Tracker, b.Tracker))
	})
	return all
}

func (s *source) kernelFlows(role string) []flow {
	var flows []flow
	for _, file := range ConntrackFiles(role) {
		raw, ok := s.captured(file)
		if !ok {
			continue
		}
		tracked, err := conntrack.Decode(raw)
		if err != nil {
			s.problem(file, "%v", err)
			continue
		}
		for _, f := range tracked {
			t := collect.Translation{
				Tracker: collect.TrackedByKernel, Destination: f.Original.Destination,
				Ref: collect.Ref{File: file, Line: f.Line},
			}
			t.Backend, _ = f.DNAT()
			_, t.Masqueraded = f.SNAT()
			flows = append(flows, flow{t, f.Original.Source.Addr()})
		}
	}
	return flows
}
