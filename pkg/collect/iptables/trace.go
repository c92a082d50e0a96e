package iptables

import (
	"fmt"
	"sync"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// Raw is the dumps of one address family of a node; one that is empty has no
// rules.
type Raw struct {
	// NFT is the output of iptables-nft-save, Legacy that of iptables-legacy-save.
	NFT, Legacy []byte
	// Family is "iptables" or "ip6tables", as in the names of the files.
	Family string
}

// Trace walks the rules that the first packet of a connection meets, in the order
// of the kernel's hooks and of the tables in each (enum nf_ip_hook_priorities in
// linux/netfilter_ipv4.h): raw, mangle and nat, then filter where the packet is
// routed to, and mangle and nat of POSTROUTING. A rule with a target that is not
// known stops the walk. A match that asks for what a dump does not tell, an
// interface or a match that is not known, is tried both ways, see Trace.Stopped.
//
// The error says that a dump cannot be read, or that both hold rules: which of
// them a packet meets first is in neither.
func Trace(raw Raw, p collect.Packet) (collect.Trace, error) {
	rules, err := ReadRules(raw, nil)
	if err != nil {
		return collect.Trace{}, err
	}
	t, err := walk.Decide(func(m *walk.Machine) ([]walk.State, error) {
		states, err := rules.Arrive(m, []walk.State{walk.Start(p)})
		if err == nil {
			states, err = rules.Route(m, states)
		}
		if err == nil {
			states, err = rules.Leave(m, states)
		}
		return states, err
	})
	t.Encoding, t.Packet, t.Selection = "iptables", p, collect.SelectRandom
	t.Finish()
	return t, err
}

// SetMember finds the element of a set (ipset) that a packet is in, by the fields
// of --match-set; nil where it is in none. known is false where the set or its
// type is not.
type SetMember func(set, fields string, s walk.State) (element *collect.Hop, known bool, err error)

// walker takes rules apart as packets meet them.
type walker struct {
	sets  SetMember
	known map[string]map[string]int
}

// Rules are the tables of a dump, to be walked: by Trace, and by package ipvs, whose
// masquerade stands there.
type Rules struct{ tables map[string]*walk.Table }

// ReadRules reads the dump that holds rules. sets is nil where ip sets were not
// read.
func ReadRules(raw Raw, sets SetMember) (Rules, error) {
	w := &walker{sets, arities()}
	var found []Rules
	for _, dump := range []struct {
		variant string
		raw     []byte
	}{{LiveNFT, raw.NFT}, {LiveLegacy, raw.Legacy}} {
		file := fmt.Sprintf("%s-%s-save.txt", raw.Family, dump.variant)
		rules, n, err := w.read(file, dump.raw)
		if err != nil {
			return Rules{}, fmt.Errorf("%s: %w", file, err)
		}
		if n > 0 {
			found = append(found, rules)
		}
	}
	switch len(found) {
	case 0:
		return Rules{}, nil
	case 1:
		return found[0], nil
	}
	return Rules{}, fmt.Errorf("%s-nft-save.txt and %s-legacy-save.txt both hold rules, and neither tells which of them a packet meets first; remove those that are left over", raw.Family, raw.Family)
}

// read reads one dump and says how many rules it holds.
func (w *walker) read(file string, raw []byte) (Rules, int, error) {
	tables, n := map[string]*walk.Table{}, 0
	policies := map[string]walk.Verdict{"ACCEPT": walk.Accept, "-": walk.Return, "DROP": walk.Drop}
	declare := func(d declaration) {
		t := tables[d.table]
		if t == nil {
			t = &walk.Table{Name: d.table, File: file, Chains: map[string]*walk.Chain{}, Marks: d.table == "nat"}
			tables[d.table] = t
		}
		t.Chains[d.chain] = &walk.Chain{Name: d.chain, Policy: policies[d.policy], Line: d.line}
	}
	err := scanAll(raw, declare, func(r *rule) {
		n++
		t, line := tables[r.table], r.line
		c := t.Chains[r.chain]
		parse := sync.OnceValues(func() (sentence, error) { return parseSentence(line.Text, w.known) })
		c.Rules = append(c.Rules, walk.Rule{Line: line, Meet: func(s walk.State) (walk.Effect, error) {
			r, err := parse()
			if err != nil {
				return walk.Effect{}, err
			}
			return w.meet(t, r, s)
		}})
	})
	return Rules{tables}, n, err
}

// meet is what a rule does to a packet.
func (w *walker) meet(t *walk.Table, r sentence, s walk.State) (walk.Effect, error) {
	m, err := w.match(s, r.clauses)
	switch {
	case err != nil || m.answer == fails:
		return walk.Effect{}, err
	case m.stranger != "":
		return walk.Effect{Note: m.stranger}, nil
	}
	b, err := w.branch(t, r)
	if err != nil {
		return walk.Effect{}, err
	}
	b.Part = m.part
	e := walk.Effect{Branches: []walk.Branch{b}, Note: m.note(), Quotes: m.quotes}
	if m.answer == untold {
		e.Unknown = m.asks()
	}
	return e, nil
}
