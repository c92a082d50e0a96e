package iptables

import (
	"net/netip"
	"strconv"

	"service-dataplane/pkg/collect"
)

// chain is what the rules of one Service's chain say.
type chain struct {
	closed bool // ends in a jump without a condition
	aside  bool // the cluster's own traffic leaves for KUBE-SVC- first
	marks  []mark
	sticky []jump // to the backend that had this source last
	jumps  []jump
}

type jump struct {
	next    string
	share   float64 // of what reaches the rule
	seconds int     // of affinity
}

// mark is a jump to KUBE-MARK-MASQ for one endpoint or, with the zero one, for
// all.
type mark struct {
	endpoint endpoint
	who      collect.Masquerade
}

// translation is what the rules of one KUBE-SEP- chain say.
type translation struct {
	to       netip.AddrPort
	protocol string
	remember bool       // keeps the source, for affinity
	hairpin  netip.Addr // the backend itself as a source, which is marked
	line     collect.Line
}

// mark gives a jump to KUBE-MARK-MASQ for every source or, with "! -s" or
// "! -i", for those outside the pod network.
func (r *rule) mark() (mark, bool) {
	m := mark{who: collect.MasqueradeAlways}
	if r.not != 0 {
		m.who = collect.MasqueradeOffCluster
	}
	ok := r.value(jumpTo) == markChain && (r.not == 0 || r.not == source || r.not == inInterface)
	if ok && r.has&(destination|port) != 0 {
		f, one := r.frontend()
		m.endpoint, ok = endpointOf(&f), one && r.has&destination != 0
	}
	return m, ok && r.saysNot(jumpTo, destination|port|comment, r.not)
}

// enter reads a rule of a KUBE-EXT- chain.
func (c *chain) enter(r *rule, next string) bool {
	if m, ok := r.mark(); ok {
		c.marks = append(c.marks, m)
		return !c.closed && !c.aside
	}
	// The node's own traffic, under local policy.
	own := r.value(sourceType) == "LOCAL" && r.says(sourceType|jumpTo, comment)
	to := roleOf("nat", next)
	switch {
	case c.closed:
		return false
	case own && next == markChain:
		return true
	case to == cluster && (own || r.says(source|jumpTo, comment) || r.says(inInterface|jumpTo, comment)):
		c.aside = true
		return true
	}
	c.closed = true
	c.jumps = append(c.jumps, jump{next: next})
	return (to == cluster || to == local) && r.says(jumpTo, comment)
}

// filter reads a rule of a KUBE-FW- chain: one for each source range and, last,
// a remark that nothing else gets on.
func (c *chain) filter(r *rule, next string) bool {
	if r.says(comment, 0) {
		return true
	}
	c.jumps = append(c.jumps, jump{next: next})
	return r.says(source|jumpTo, comment) && roleOf("nat", next) == external && next == c.jumps[0].next
}

// choose reads a rule of a KUBE-SVC- or KUBE-SVL- chain.
func (c *chain) choose(r *rule, next string) bool {
	if m, ok := r.mark(); ok {
		c.marks = append(c.marks, m)
		return !c.closed && len(c.jumps)+len(c.sticky) == 0
	}
	if c.closed || roleOf("nat", next) != backend {
		return false
	}
	if r.says(recentCheck|recentSeconds|recentName|jumpTo, comment|recentReap|recentMask|recentSource) {
		seconds, err := strconv.Atoi(r.value(recentSeconds))
		c.sticky = append(c.sticky, jump{next: next, seconds: seconds})
		return err == nil && seconds > 0 && r.remembers(next) && len(c.jumps) == 0
	}
	j := jump{next: next, share: 1}
	c.closed = r.says(jumpTo, comment)
	if !c.closed {
		if !r.says(statisticMode|probability|jumpTo, comment) || r.value(statisticMode) != "random" {
			return false
		}
		var err error
		if j.share, err = strconv.ParseFloat(r.value(probability), 64); err != nil || !(j.share > 0 && j.share <= 1) {
			return false
		}
	}
	c.jumps = append(c.jumps, j)
	return true
}

// translate reads a rule of a KUBE-SEP- chain.
func (t *translation) translate(r *rule, next string) bool {
	var err error
	switch {
	case t.to.IsValid():
		return false
	case next == markChain:
		t.hairpin, err = address(r.value(source))
		return err == nil && r.says(source|jumpTo, comment)
	}
	t.to, err = netip.ParseAddrPort(r.value(toDestination))
	t.protocol, t.line = r.protocol(), r.line
	t.remember = r.says(recentSet|recentName|protocol|toDestination|jumpTo, comment|recentMask|recentSource) &&
		r.remembers(r.chain)
	return err == nil && next == "DNAT" && t.to.Port() != 0 && t.protocol != "" &&
		(t.remember || r.says(protocol|toDestination|jumpTo, comment))
}

// remembers says whether the rule's list of sources is the one kept for this
// backend: named like its chain, an entry for each address.
func (r *rule) remembers(backend string) bool {
	switch r.value(recentMask) {
	case "", "255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff":
		return r.value(recentName) == backend
	}
	return false
}
