package calico

import (
	"cmp"
	"fmt"
	"slices"

	"service-dataplane/pkg/collect"
)

// Raw is the evidence of one node's NAT maps.
type Raw struct {
	// NAT is the output of `calico-node -bpf nat dump --json`.
	NAT []byte
	// NATText is the output of `calico-node -bpf nat dump`; it is read where NAT
	// is empty, as before v3.31.5.
	NATText []byte
	// Affinity is the output of `calico-node -bpf nat aff --json`; empty where it
	// was not taken. It tells session affinity that is in use.
	Affinity []byte
}

// Decode makes the service table of one node's NAT maps, as Calico v3.31.7 prints
// them. Both forms give the same table but for the line numbers. An error means
// that a file is not of its form, or empty: nat dump prints nothing and exits 0
// where it cannot read a map. What is not understood, contradicts itself or says
// what the table cannot express is in Unparsed with the reason after "#".
//
// Kind is told from the rows of one number, see kinds; a NodePort has a row for
// each address of this node and the wildcard row, whose Address is zero. A row for
// one source range (loadBalancerSourceRanges) is a frontend like any other. The
// blackhole that drops all other sources belongs to it; without such a row it is a
// frontend that drops.
//
// Backends of a frontend with local policy are the node's own, which stand first;
// the others serve connections the policy is not about. A backend is chosen at
// random, each with 1/n. With none, connect() fails with EPERM where Felix
// translates there, and a packet is answered with port unreachable: "reject".
//
// The maps name no Service, and Masquerade is empty: what becomes of the source is
// decided elsewhere. nat dump does not print the time of session affinity, so
// AffinitySeconds is 0 in every frontend. A frontend whose affinity some client has
// met is in Unparsed, beside the table.
func Decode(raw Raw) (collect.ServiceTable, error) {
	read, dump := readJSON, raw.NAT
	if len(raw.NAT) == 0 && len(raw.NATText) > 0 {
		read, dump = readText, raw.NATText
	}
	rows, rest, err := read(dump)
	if err != nil {
		return collect.ServiceTable{}, err
	}
	if len(raw.Affinity) > 0 {
		entries, err := DecodeAffinity(raw.Affinity)
		if err != nil {
			return collect.ServiceTable{}, err
		}
		compareAffinity(rows, entries, &rest)
	}
	// Maps have no order, and the rows of one address differ in their text alone.
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.line.Text, b.line.Text) })
	table := collect.ServiceTable{Encoding: Encoding, Frontends: []collect.Frontend{}}
	kinds := newKinds(rows)
	for _, r := range rows {
		if refusal := r.refusal(); refusal != "" {
			for _, line := range r.lines() {
				rest.add(line, refusal)
			}
			continue
		}
		r.findings(&rest)
		if r.count == blackhole && kinds.hasRanges(r) {
			continue
		}
		table.Frontends = append(table.Frontends, r.frontend(kinds.of(r)))
	}
	table.Unparsed = rest.sorted()
	table.Sort()
	return table, nil
}

// refusal says why the table cannot hold the row; "" where it can.
func (r row) refusal() string {
	switch {
	case r.port == 0 || r.protocol == "":
		return "not a port of a Service"
	case r.addr.IsUnspecified():
		return "not an address of a Service"
	case r.has(flagExclude):
		return "excluded: connections are not translated"
	}
	return ""
}

// findings reports what the frontend does not show of its row.
func (r row) findings(rest *unparsed) {
	for _, flag := range r.flags {
		if flag != flagExternalLocal && flag != flagInternalLocal {
			rest.add(r.line, fmt.Sprintf("flag %q is not known", flag))
		}
	}
	backends := max(r.count, 0)
	switch {
	case int64(r.local) > backends:
		rest.add(r.line, "more local backends than backends")
	case int64(len(r.slots)) < backends:
		rest.add(r.line, fmt.Sprintf("counts %d backends, here are %d", backends, len(r.slots)))
	}
	for ordinal, s := range r.slots {
		switch {
		case int64(ordinal) >= backends:
			rest.add(s.line, fmt.Sprintf("the frontend counts %d backends", backends))
		case !s.IsValid():
			rest.add(s.line, "not in the backend map: connections that choose it are refused")
		case s.Port() == 0:
			rest.add(s.line, "no port")
		}
	}
}

// hasRanges tells a blackhole beside the rows of the sources that may pass
// (felix/bpf/proxy/syncer.go, writeLBSrcRangeSvcNATKeys). Text before v3.31.5 does
// not say which sources.
func (k kinds) hasRanges(r row) bool {
	for _, other := range k.groups[r.id].rows {
		if other.address == r.address && other.count != blackhole {
			return true
		}
	}
	return false
}

func (r row) frontend(kind collect.FrontendKind) collect.Frontend {
	f := collect.Frontend{
		Kind:     kind,
		Port:     r.port,
		Protocol: r.protocol,
		Policy:   policy(kind, r),
		Backends: []collect.Backend{},
		Line:     r.line,
	}
	if !isWildcard(r.addr) {
		f.Address = r.addr
	}
	n := max(r.count, 0)
	if f.Policy == collect.PolicyLocal {
		n = min(n, int64(r.local))
	}
	for ordinal, s := range r.slots {
		if int64(ordinal) < n && s.IsValid() && s.Port() != 0 {
			f.Backends = append(f.Backends, collect.Backend{
				Address:     s.Addr(),
				Port:        s.Port(),
				Probability: 1 / float64(n),
				State:       collect.Active,
				Line:        s.line,
			})
		}
	}
	switch {
	case n > 0:
		f.Selection = collect.SelectRandom
	case r.count == blackhole:
		f.NoBackends = "drop"
	default:
		f.NoBackends = "reject"
	}
	return f
}
