package nftables

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// The names that kube-proxy gives to what it makes for one port of a Service:
// a prefix, a hash and the port's name, "service-AKD4XF6G-ns/name/tcp/http".
// None of its other chains has a "/".
const (
	clusterPrefix  = "service-"
	localPrefix    = "local-"
	externalPrefix = "external-"
	firewallPrefix = "firewall-"
	endpointPrefix = "endpoint-"
	affinityPrefix = "affinity-"
)

// policyChain picks an endpoint: of all of a Service's endpoints (clusterPrefix)
// or of those on this node (localPrefix).
type policyChain struct {
	policy collect.Policy
	// masquerade is whose connections to an address the chain marks.
	masquerade map[netip.Addr]collect.Masquerade
	// sticky is the affinity set that leads to an endpoint chain.
	sticky map[string]string
	// slots are the endpoint chains, one of which is taken at random.
	slots []string
	// picked is where that is done, or the chain where it is not.
	picked source
}

// externalChain leads what arrives from outside, by NodePort, external IP or
// load balancer IP, to a policy chain.
type externalChain struct {
	masquerade collect.Masquerade
	// next is "" where the policy is Local and no endpoint is on this node.
	next string
}

type endpointChain struct {
	backend  netip.AddrPort
	protocol string
	// affinity is the set that remembers the clients, "" for none.
	affinity string
	line     collect.Line // of the translation
}

// shape is a form of rule: words, of which "IP" is the table's family and "*"
// any one word.
type shape struct {
	words string
	// read takes the words at the stars and where the rule stands. It is
	// false where they make no sense; nil reads nothing.
	read func(at []string, src source) bool
	// last is set where no packet gets past the rule.
	last bool
}

// match returns the words of a rule that stand where the shape has stars.
func (t *table) match(rule []string, shape string) (at []string, ok bool) {
	i := 0
	for w := range strings.FieldsSeq(shape) {
		switch {
		case i == len(rule), w == "IP" && rule[i] != t.family, w != "IP" && w != "*" && w != rule[i]:
			return nil, false
		case w == "*":
			at = append(at, rule[i])
		}
		i++
	}
	return at, i == len(rule)
}

// has says whether a chain has a rule of a shape.
func (t *table) has(chain, shape string) bool {
	c := t.chainNamed[chain]
	return c != nil && slices.ContainsFunc(c.rules, func(r rule) bool {
		_, ok := t.match(words(r.text), shape)
		return ok
	})
}

// read reads every rule of a chain as one of the shapes; what is none of them,
// or stands where no packet gets, is not understood.
func (d *decoder) read(c *chain, shapes ...shape) {
	ended := false
	for _, r := range c.rules {
		understood, rule := false, words(r.text)
		for _, s := range shapes {
			if at, ok := d.match(rule, s.words); ok && !ended {
				understood = s.read == nil || s.read(at, r.src)
				ended = s.last && understood
				break
			}
		}
		if !understood {
			d.skip(r.src)
		}
	}
}

// chain reads one chain, whatever it is for.
func (d *decoder) chain(c *chain, fixed map[string]fixedChain) {
	prefix := ""
	if c.base == "" && strings.Contains(c.name, "/") {
		prefix = c.name[:strings.IndexByte(c.name, '-')+1]
	}
	known, isFixed := fixed[c.name]
	switch {
	case isFixed && c.base == known.base:
		d.read(c, known.shapes...)
	case prefix == clusterPrefix:
		d.policyChain(c, collect.PolicyCluster)
	case prefix == localPrefix:
		d.policyChain(c, collect.PolicyLocal)
	case prefix == externalPrefix:
		d.externalChain(c)
	case prefix == endpointPrefix:
		d.endpointChain(c)
	case prefix == firewallPrefix:
		d.read(c, shape{words: "IP saddr != * drop"})
	default:
		d.skip(c.src)
		d.read(c)
	}
	if !isFixed {
		c.rules = nil // most of the ruleset, and has been read
	}
}

func (d *decoder) policyChain(c *chain, policy collect.Policy) {
	p := policyChain{
		policy:     policy,
		masquerade: map[netip.Addr]collect.Masquerade{},
		sticky:     map[string]string{},
		picked:     c.src,
	}
	mark := func(m collect.Masquerade) func([]string, source) bool {
		return func(at []string, _ source) bool {
			addr, ok := d.address(at[0])
			_, again := p.masquerade[addr]
			p.masquerade[addr] = m
			return ok && !again
		}
	}
	d.read(c,
		shape{words: "IP daddr * jump mark-for-masquerade", read: mark(collect.MasqueradeAlways)},
		shape{words: "IP daddr * IP saddr != * jump mark-for-masquerade", read: mark(collect.MasqueradeOffCluster)},
		shape{words: "IP daddr * iifname != * jump mark-for-masquerade", read: mark(collect.MasqueradeOffCluster)},
		shape{words: "IP saddr * goto *", read: func(at []string, _ source) bool {
			set, ok := strings.CutPrefix(at[0], "@")
			_, again := p.sticky[at[1]]
			p.sticky[at[1]] = set
			return ok && !again && strings.HasPrefix(set, affinityPrefix)
		}},
		shape{words: "numgen random mod * vmap *", last: true, read: func(at []string, src source) (ok bool) {
			p.slots, ok = slots(at[0], at[1])
			p.picked = src
			return ok
		}},
	)
	d.policies[c.name] = p
}

func (d *decoder) externalChain(c *chain) {
	e := externalChain{masquerade: collect.MasqueradeNever}
	toCluster := func(at []string, _ source) bool {
		return strings.HasPrefix(at[len(at)-1], clusterPrefix)
	}
	d.read(c,
		shape{words: "jump mark-for-masquerade", read: func([]string, source) bool {
			e.masquerade = collect.MasqueradeAlways
			return true
		}},
		// With policy Local, what pods and the node itself send goes to any
		// endpoint all the same.
		shape{words: "IP saddr * goto *", read: toCluster},
		shape{words: "iifname * goto *", read: toCluster},
		shape{words: "fib saddr type local jump mark-for-masquerade"},
		shape{words: "fib saddr type local goto *", read: toCluster},
		shape{words: "goto *", last: true, read: func(at []string, _ source) bool {
			e.next = at[0]
			return true
		}},
	)
	d.externals[c.name] = e
}

func (d *decoder) endpointChain(c *chain) {
	e := endpointChain{}
	own := ""
	d.read(c,
		// Hairpin: a pod that reaches itself through its Service.
		shape{words: "IP saddr * jump mark-for-masquerade", read: func(at []string, _ source) bool {
			own = at[0]
			return true
		}},
		shape{words: "update * *", read: func(at []string, _ source) bool {
			set, ok := strings.CutPrefix(at[0], "@")
			again := e.affinity != ""
			e.affinity = set
			return ok && !again && strings.HasPrefix(set, affinityPrefix) && at[1] == "{ "+d.family+" saddr }"
		}},
		shape{words: "meta l4proto * dnat to *", last: true, read: func(at []string, src source) bool {
			backend, err := netip.ParseAddrPort(at[1])
			addr, ok := d.address(backend.Addr().String())
			protocol := protocol(at[0])
			if err != nil || !ok || protocol == "" || backend.Port() == 0 || own != "" && own != addr.String() {
				return false
			}
			e.backend, e.protocol, e.line = backend, protocol, src.line()
			return true
		}},
	)
	d.endpoints[c.name] = e
}

// slots reads "mod 2" and "{ 0 : goto A, 1 : goto B }": one chain for every
// number that can be drawn.
func slots(mod, vmap string) ([]string, bool) {
	n, err := strconv.Atoi(mod)
	list, ok := items(vmap)
	if err != nil || !ok || n < 1 || len(list) != n {
		return nil, false
	}
	chains := make([]string, n)
	for _, item := range list {
		f := words(item)
		if len(f) != 4 || f[1] != ":" || f[2] != "goto" {
			return nil, false
		}
		slot, err := strconv.Atoi(f[0])
		if err != nil || slot < 0 || slot >= n || chains[slot] != "" {
			return nil, false
		}
		chains[slot] = f[3]
	}
	return chains, true
}
