package ipvs

import (
	"slices"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
	"service-dataplane/pkg/collect/iptables"
)

// Trace walks what the first packet of a connection meets on a node of kube-proxy's
// ipvs mode: iptables before it, where members of the ip sets are marked, the
// virtual services, and iptables again behind them, where what carries the mark is
// masqueraded. The hooks are those of ip_vs_ops4 in the kernel's
// net/netfilter/ipvs/ip_vs_core.c: from a process of the node between nat and
// filter of OUTPUT; from elsewhere behind filter of INPUT, which only packets get
// to that are for an address of the node, hence kube-ipvs0. A scheduled packet
// then passes OUTPUT, but not its nat, and POSTROUTING.
//
// iptables sees scheduled packets in POSTROUTING only with
// net.ipv4.vs.conntrack=1, which kube-proxy sets.
//
// The error says that a file cannot be read, and names the line.
func Trace(raw Raw, rules iptables.Raw, p collect.Packet) (collect.Trace, error) {
	services, err := Services(raw.IPVS)
	if err != nil {
		return collect.Trace{}, err
	}
	sets, err := Sets(raw.IPSet)
	if err != nil {
		return collect.Trace{}, err
	}
	tables, err := iptables.ReadRules(rules, setMember(sets))
	if err != nil {
		return collect.Trace{}, err
	}
	w := walker{services, tables}
	t, err := walk.Decide(func(m *walk.Machine) ([]walk.State, error) { return w.walk(m, p) })
	t.Encoding, t.Packet = "ipvs", p
	if service, _ := w.find(walk.Start(p)); service != nil {
		t.Selection = selection(service.Scheduler)
	}
	t.Finish()
	return t, err
}

// walker knows what a packet meets on a node.
type walker struct {
	services []VirtualService
	rules    iptables.Rules
}

func (w walker) walk(m *walk.Machine, p collect.Packet) ([]walk.State, error) {
	states, err := w.rules.Arrive(m, []walk.State{walk.Start(p)})
	if err != nil {
		return nil, err
	}
	var forward []walk.State
	if p.Origin != collect.FromProcess {
		if states, forward, err = w.input(m, states); err != nil {
			return nil, err
		}
	}
	var scheduled, passed, local []walk.State
	for _, s := range states {
		found, err := w.schedule(m, s)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			s.Delivered = p.IsLocal(s.Destination.Addr())
			switch {
			case s.Delivered && p.Origin != collect.FromProcess: // goes on where it is
				local = append(local, s)
			case s.Translated:
				scheduled = append(scheduled, s)
			default:
				passed = append(passed, s)
			}
		}
	}
	if scheduled, err = w.rules.Through(m, "OUTPUT", scheduled, "raw", "mangle", "filter"); err != nil {
		return nil, err
	}
	if passed, err = w.rules.Through(m, "OUTPUT", passed, "filter"); err != nil {
		return nil, err
	}
	if local, err = w.rules.Through(m, "INPUT", local, "nat"); err != nil {
		return nil, err
	}
	leaving, err := w.rules.Leave(m, slices.Concat(scheduled, passed, forward))
	return append(local, leaving...), err
}

// input takes packets for the node to where IPVS takes them, and the others past
// it: it schedules none of those.
func (w walker) input(m *walk.Machine, states []walk.State) (in, forward []walk.State, err error) {
	for _, s := range states {
		if s.Packet.IsLocal(s.Destination.Addr()) {
			in = append(in, s)
		} else {
			forward = append(forward, s)
		}
	}
	if in, err = w.rules.Through(m, "INPUT", in, "mangle", "filter"); err != nil {
		return nil, nil, err
	}
	forward, err = w.rules.Through(m, "FORWARD", forward, "mangle", "filter")
	return in, forward, err
}
