package nftables

import (
	"net/netip"
	"strings"

	"service-dataplane/pkg/collect"
)

// readMaps reads every map that leads a packet to a chain or to its end.
func (d *decoder) readMaps() {
	clusterIPs := map[netip.Addr]bool{}
	for _, a := range d.addresses("cluster-ips") {
		clusterIPs[a] = true
	}
	nodeIPs := d.addresses("nodeport-ips")
	firewalled := map[frontendKey]bool{}
	d.frontends = make([]collect.Frontend, 0, len(d.elements("service-ips"))+len(d.elements("service-nodeports")))

	d.each("firewall-ips", func(k frontendKey, e element) bool {
		firewalled[k] = true
		return strings.HasPrefix(e.verdict, "goto "+firewallPrefix)
	})
	d.each("service-ips", func(k frontendKey, e element) bool {
		kind := collect.ClusterIP
		switch {
		case !strings.HasPrefix(e.verdict, "goto "+externalPrefix):
		case firewalled[k]:
			kind = collect.LoadBalancer
		default:
			kind = collect.ExternalIP
		}
		return d.enter(k, kind, e)
	})
	d.each("no-endpoint-services", func(k frontendKey, e element) bool {
		kind := collect.ExternalIP
		switch {
		case clusterIPs[k.addr]:
			kind = collect.ClusterIP
		case firewalled[k]:
			kind = collect.LoadBalancer
		}
		return d.enterNone(k, kind, e)
	})

	// Without a set of addresses, NodePorts are looked up at any address.
	at := []netip.Addr{{}}
	if d.has("services", lookupListed+"@service-nodeports") {
		at = nodeIPs
	}
	d.eachAt(at, "service-nodeports", func(k frontendKey, e element) bool {
		return d.enter(k, collect.NodePort, e)
	})
	at = []netip.Addr{{}}
	if d.has("nodeport-endpoints-check", lookupListed+"@no-endpoint-nodeports") {
		at = nodeIPs
	}
	d.eachAt(at, "no-endpoint-nodeports", func(k frontendKey, e element) bool {
		return d.enterNone(k, collect.NodePort, e)
	})
}

// each calls do for every element of a map of addresses and ports. An element
// is not understood where its key is not, or where do is false.
func (d *decoder) each(mapName string, do func(frontendKey, element) bool) {
	for _, e := range d.elements(mapName) {
		addr, port, _ := strings.Cut(e.key, " . ")
		k, ok := portKey(port)
		a, isAddr := d.address(addr)
		if k.addr = a; !ok || !isAddr || !do(k, e) {
			d.skip(e.src)
		}
	}
}

// eachAt is each for a map of NodePorts, every one of them at some addresses.
func (d *decoder) eachAt(addrs []netip.Addr, mapName string, do func(frontendKey, element) bool) {
	for _, e := range d.elements(mapName) {
		k, ok := portKey(e.key)
		k.nodePort = true
		for _, k.addr = range addrs {
			ok = ok && do(k, e)
		}
		if !ok {
			d.skip(e.src)
		}
	}
}

// enter adds the frontend whose packets go to a chain.
func (d *decoder) enter(k frontendKey, kind collect.FrontendKind, e element) bool {
	name, ok := strings.CutPrefix(e.verdict, "goto ")
	if _, again := d.index[k]; again || !ok {
		return false
	}
	f := newFrontend(k, kind, e)
	f.Service = serviceOf(name)
	external, isExternal := d.externals[name]
	if isExternal {
		f.Masquerade = external.masquerade
		f.Policy = collect.PolicyLocal // unless there is a next chain
		name = external.next
	}
	p, ok := d.policies[name]
	if ok {
		f.Policy = p.policy
		f.AffinitySeconds = d.affinity(p)
		f.Backends = d.backends(p, k.protocol)
	}
	if m, marked := p.masquerade[k.addr]; marked && !isExternal {
		f.Masquerade = m
	}
	if len(f.Backends) > 0 {
		f.Selection = collect.SelectRandom
	}
	d.index[k] = len(d.frontends)
	d.frontends = append(d.frontends, f)
	return ok || isExternal && name == ""
}

// enterNone adds the frontend whose packets are dropped or rejected. It may be
// there already: with policy Local and no endpoint on this node, what its
// external chain does not take is dropped.
func (d *decoder) enterNone(k frontendKey, kind collect.FrontendKind, e element) bool {
	f := newFrontend(k, kind, e)
	f.Service = e.comment
	switch e.verdict {
	case "drop":
		f.NoBackends, f.Policy = "drop", collect.PolicyLocal
	case "goto reject-chain":
		f.NoBackends = "reject"
	default:
		return false
	}
	if i, there := d.index[k]; there {
		old := &d.frontends[i]
		if len(old.Backends) > 0 || old.NoBackends != "" {
			return false
		}
		old.NoBackends = f.NoBackends
		return true
	}
	d.index[k] = len(d.frontends)
	d.frontends = append(d.frontends, f)
	return true
}

func newFrontend(k frontendKey, kind collect.FrontendKind, e element) collect.Frontend {
	return collect.Frontend{
		Kind: kind, Address: k.addr, Port: k.port, Protocol: k.protocol,
		Masquerade: collect.MasqueradeNever,
		Backends:   []collect.Backend{},
		Line:       e.src.line(),
	}
}

// backends follows every slot of a policy chain to its endpoint. One endpoint
// may have several slots. There is no part of an answer: a slot that leads
// nowhere leaves the frontend without backends and the rule unparsed.
func (d *decoder) backends(p policyChain, protocol string) []collect.Backend {
	counted := map[netip.AddrPort]int{}
	out := []collect.Backend{}
	if len(p.slots) == 0 {
		d.skip(p.picked)
	}
	for _, name := range p.slots {
		e, ok := d.endpoints[name]
		if !ok || !e.backend.IsValid() || e.protocol != protocol {
			d.skip(p.picked)
			return []collect.Backend{}
		}
		if counted[e.backend]++; counted[e.backend] == 1 {
			out = append(out, collect.Backend{
				Address: e.backend.Addr(),
				Port:    e.backend.Port(),
				State:   collect.Active,
				Line:    e.line,
			})
		}
	}
	for i, b := range out {
		n := counted[netip.AddrPortFrom(b.Address, b.Port)]
		out[i].Probability = float64(n) / float64(len(p.slots))
	}
	return out
}

// affinity is the timeout of the sets that lead a client back to its endpoint.
// Every endpoint must have one, fill it, and keep it as long as the others do;
// else the rule that picks an endpoint is not understood.
func (d *decoder) affinity(p policyChain) int {
	timeout, endpoints := 0, map[string]bool{}
	for _, name := range p.slots {
		s := d.setNamed[p.sticky[name]]
		if s == nil || s.name != d.endpoints[name].affinity || timeout != 0 && timeout != s.seconds {
			timeout = 0
			break
		}
		timeout, endpoints[name] = s.seconds, true
	}
	if len(p.sticky) != len(endpoints) || len(p.sticky) > 0 && timeout == 0 {
		d.skip(p.picked)
		return 0
	}
	return timeout
}

// serviceOf reads the port's name out of a chain's: "ns/name:port" out of
// service-HASH-ns/name/tcp/port, "ns/name" where the port has no name, "" where
// the chain's name does not say.
func serviceOf(chain string) string {
	_, name, _ := strings.Cut(chain, "-") // service, local, external
	_, name, _ = strings.Cut(name, "-")   // the hash
	part := strings.Split(name, "/")
	if len(part) != 4 || part[0] == "" || part[1] == "" {
		return ""
	}
	if part[3] == "" {
		return part[0] + "/" + part[1]
	}
	return part[0] + "/" + part[1] + ":" + part[3]
}
