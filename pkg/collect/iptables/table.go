package iptables

import (
	"cmp"
	"net/netip"
	"slices"

	"service-dataplane/pkg/collect"
)

// table follows every frontend to its backends.
func (d *decoder) table() collect.ServiceTable {
	t := collect.ServiceTable{Encoding: "iptables", Frontends: make([]collect.Frontend, 0, len(d.fronts)+len(d.rejected))}
	// What is rejected is looked for among the frontends.
	placed := map[endpoint][]int{}
	for _, f := range d.rejected {
		placed[endpointOf(&f.Frontend)] = nil
	}
	place := func(f collect.Frontend, at ...endpoint) {
		for _, e := range at {
			if known, asked := placed[e]; asked {
				placed[e] = append(known, len(t.Frontends))
			}
		}
		t.Frontends = append(t.Frontends, f)
	}
	entered := d.entered("nat", servicesChain, "PREROUTING", "OUTPUT")
	for _, f := range d.fronts {
		addresses := d.addresses(f.Frontend)
		if !d.resolve(f) || !entered || len(addresses) == 0 {
			d.unparsed = append(d.unparsed, f.Line)
			continue
		}
		anywhere, backends := endpointOf(&f.Frontend), f.Backends
		for i, address := range addresses {
			f.Address = address
			if i > 0 {
				f.Backends = slices.Clone(backends)
			}
			place(f.Frontend, slices.Compact([]endpoint{anywhere, endpointOf(&f.Frontend)})...)
		}
	}
	for _, f := range d.loopback {
		if i, ok := d.at[endpointOf(&f.Frontend)]; !ok || d.fronts[i].next != f.next {
			d.unparsed = append(d.unparsed, f.Line)
		}
	}
	hooks := map[string][]string{
		servicesChain:  {"FORWARD", "OUTPUT"},
		externalChain:  {"INPUT", "FORWARD"},
		nodePortsChain: {"INPUT"},
	}
	for _, f := range d.rejected {
		if !d.entered("filter", f.chain, hooks[f.chain]...) {
			d.unparsed = append(d.unparsed, f.Line)
			continue
		}
		at := endpointOf(&f.Frontend)
		if placed[at] == nil {
			place(f.Frontend, at)
		}
		for _, i := range placed[at] {
			// Translated packets do not match here: what rejects an endpoint
			// that has backends is not kube-proxy's.
			known := &t.Frontends[i]
			if len(known.Backends) > 0 || cmp.Or(known.NoBackends, f.NoBackends) != f.NoBackends {
				d.unparsed = append(d.unparsed, f.Line)
				continue
			}
			known.NoBackends = f.NoBackends
		}
	}
	slices.SortFunc(d.unparsed, func(a, b collect.Line) int { return cmp.Compare(a.Number, b.Number) })
	t.Unparsed = slices.Compact(d.unparsed)
	t.Sort()
	return t
}

// entered says whether each of the kernel's chains that kube-proxy hooks leads
// to the chain. Rules that nothing jumps to are left over and do nothing.
func (d *decoder) entered(table, chain string, hooks ...string) bool {
	return !slices.ContainsFunc(hooks, func(hook string) bool { return !d.entries[table+" "+hook+" "+chain] })
}

// addresses are those where the frontend is reached: for a node port, all of
// the node's where no Service has taken the same port.
func (d *decoder) addresses(f collect.Frontend) []netip.Addr {
	if f.Kind != collect.NodePort {
		return []netip.Addr{f.Address}
	}
	var free []netip.Addr
	for _, f.Address = range d.nodeAddrs {
		if _, taken := d.at[endpointOf(&f)]; !taken || !f.Address.IsValid() {
			free = append(free, f.Address)
		}
	}
	return free
}

// resolve follows a frontend through its chains, KUBE-FW- to KUBE-EXT- to
// KUBE-SVC- or KUBE-SVL-, an order in which they cannot form a circle.
func (d *decoder) resolve(f *front) bool {
	at := endpointOf(&f.Frontend)
	if who, ok := d.marks[at]; ok {
		f.Masquerade = who
	}
	for name := f.next; ; {
		c := d.chains.entries[name]
		if c == nil || d.broken[name] {
			return false
		}
		for _, m := range c.marks {
			if (m.endpoint == endpoint{} || m.endpoint == at) && f.Masquerade != collect.MasqueradeAlways {
				f.Masquerade = m.who
			}
		}
		switch role := roleOf("nat", name); {
		case role == cluster:
			f.Policy = collect.PolicyCluster
			return d.spread(&f.Frontend, c)
		case role == local:
			f.Policy = collect.PolicyLocal
			return d.spread(&f.Frontend, c)
		case len(c.jumps) == 0:
			// Local policy and no backend here: only the cluster's own
			// traffic gets on.
			f.Policy = collect.PolicyLocal
			return c.aside
		}
		name = c.jumps[0].next
	}
}

// spread gives the frontend its backends: each rule takes its share of what the
// rules before it left over. The kernel keeps shares as multiples of 2^-31, and
// kube-proxy rounds them to ten digits.
func (d *decoder) spread(f *collect.Frontend, c *chain) bool {
	left := 1.0
	f.Backends = make([]collect.Backend, 0, len(c.jumps))
	for _, j := range c.jumps {
		pod := d.pods.entries[j.next]
		taken := left * j.share
		if pod == nil || d.broken[j.next] || !pod.serves(f) || taken <= 0 {
			return false
		}
		left -= taken
		f.Backends = append(f.Backends, collect.Backend{
			Address: pod.to.Addr(), Port: pod.to.Port(), Probability: taken, State: collect.Active, Line: pod.line,
		})
	}
	f.Selection = collect.SelectRandom
	// Affinity holds where every backend is tried first, for the same time,
	// and keeps its sources.
	for i, s := range c.sticky {
		if len(c.sticky) != len(c.jumps) || s.next != c.jumps[i].next || s.seconds != c.sticky[0].seconds || !d.pods.entries[s.next].remember {
			return false
		}
		f.AffinitySeconds = s.seconds
	}
	return left < 1e-6
}

func (t *translation) serves(f *collect.Frontend) bool {
	return t.to.IsValid() && t.protocol == f.Protocol && (!t.hairpin.IsValid() || t.hairpin == t.to.Addr())
}
