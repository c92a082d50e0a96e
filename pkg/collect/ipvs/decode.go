package ipvs

import (
	"service-dataplane/pkg/collect"
)

// Raw is the evidence of one node; a field is empty where the node had nothing
// to read.
type Raw struct {
	// IPVS is /proc/net/ip_vs.
	IPVS []byte
	// IPSet is the output of `ipset save`.
	IPSet []byte
	// DummyAddrs is the output of `ip -j addr show dev kube-ipvs0`.
	DummyAddrs []byte
	// TimerList holds the lines "now at" and "jiffies" of /proc/timer_list.
	TimerList []byte
}

// Decode makes the service table of one node. An error means that a file has
// not the form its source gives it. A virtual service that no other file
// explains, a flag, a forwarding method or a timeout that the table cannot
// express is in Unparsed: firewall marks, one-packet scheduling, tunnels, and
// session affinity where the tick rate is not known.
//
// kube-proxy ends a backend gracefully by setting its weight to 0 until the last
// connection is gone: such a row is Quarantined. Weights say how the others
// share connections, Probability stays 0. The kernel names no Service and says
// nothing of a virtual service without real servers, so Service and NoBackends
// are empty.
func Decode(raw Raw) (collect.ServiceTable, error) {
	services, err := Services(raw.IPVS)
	if err != nil {
		return collect.ServiceTable{}, err
	}
	roles, err := newRoles(raw.IPSet, raw.DummyAddrs)
	if err != nil {
		return collect.ServiceTable{}, err
	}
	hz := tickRate(raw.TimerList)
	table := collect.ServiceTable{Encoding: "ipvs", Frontends: make([]collect.Frontend, 0, len(services))}
	for _, service := range services {
		role, ok := roles.of(service)
		if !ok {
			table.Unparsed = append(table.Unparsed, service.Line)
			for _, server := range service.RealServers {
				table.Unparsed = append(table.Unparsed, server.Line)
			}
			continue
		}
		affinity, ok := service.affinitySeconds(hz)
		if !ok || service.OnePacket || len(service.UnknownFlags) > 0 {
			table.Unparsed = append(table.Unparsed, service.Line)
		}
		backends, unparsed := backendsOf(service)
		table.Unparsed = append(table.Unparsed, unparsed...)
		table.Frontends = append(table.Frontends, collect.Frontend{
			Kind:            role.kind,
			Address:         service.Address.Addr(),
			Port:            service.Address.Port(),
			Protocol:        service.Protocol,
			Selection:       selection(service.Scheduler),
			AffinitySeconds: affinity,
			Policy:          role.policy,
			Masquerade:      role.masquerade,
			Backends:        backends,
			Line:            service.Line,
		})
	}
	table.Sort()
	return table, nil
}

func backendsOf(service VirtualService) (backends []collect.Backend, unparsed []collect.Line) {
	backends = make([]collect.Backend, 0, len(service.RealServers))
	for _, server := range service.RealServers {
		if server.Forward != ForwardMasq {
			unparsed = append(unparsed, server.Line)
			continue
		}
		state := collect.Active
		if server.Weight == 0 {
			state = collect.Quarantined
		}
		backends = append(backends, collect.Backend{
			Address: server.Address.Addr(),
			Port:    server.Address.Port(),
			Weight:  server.Weight,
			State:   state,
			Line:    server.Line,
		})
	}
	return backends, unparsed
}

// affinitySeconds converts the timeout of session affinity; false where hz is
// unknown or cannot be what the timeout was multiplied by.
func (s VirtualService) affinitySeconds(hz int) (int, bool) {
	if s.PersistentTicks == 0 {
		return 0, true
	}
	if hz == 0 || s.PersistentTicks%hz != 0 {
		return 0, false
	}
	return s.PersistentTicks / hz, true
}

func selection(scheduler string) collect.Selection {
	switch scheduler {
	case "rr", "wrr":
		return collect.SelectRoundRobin
	case "lc", "wlc":
		return collect.SelectLeastConn
	case "sh":
		return collect.SelectSourceHash
	case "mh":
		return collect.SelectMaglev
	}
	return collect.Selection(scheduler)
}
