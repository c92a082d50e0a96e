package report

import (
	"net/netip"
	"slices"

	"service-dataplane/pkg/collect"
)

// writeOrder puts the orders of the entry points together that share a virtual
// service of IPVS, which keeps what its scheduler goes by.
func writeOrder(d *document, e collect.Evidence) {
	if !slices.ContainsFunc(e.Kernel, inIPVS) {
		return
	}
	type virtual struct {
		node    string
		address netip.AddrPort
	}
	var order []virtual
	rows := map[virtual][][]string{}
	letters := LettersOf(e.Objects)
	for _, p := range e.Traffic {
		if len(p.Attempts) == 0 {
			continue
		}
		v := virtual{p.EntryNode, p.Attempts[0].DialedAddress}
		if rows[v] == nil {
			order = append(order, v)
		}
		var sources []string
		for _, a := range p.Attempts {
			if a.LocalAddress.IsValid() {
				sources = append(sources, a.LocalAddress.Addr().String())
			}
		}
		rows[v] = append(rows[v], []string{code(v.address.String()), dash(v.node), code(p.Name), codes(distinct(sources)), code(sequence(p, letters))})
	}
	var all [][]string
	for _, v := range order {
		all = append(all, rows[v]...)
	}
	d.heading(3, "Order of the backends")
	d.paragraph("A virtual service of IPVS chooses for all who dial it: entry points of one are together here, in the order they were used.%s", schedulerInWords(e))
	d.table([]string{"Virtual service", "On", "Entry point", "From", "Backends in order"}, all)
}

// schedulerInWords is what order the scheduler makes; "" where nodes differ.
func schedulerInWords(e collect.Evidence) string {
	switch collect.Selection(selection(e)) {
	case collect.SelectRoundRobin:
		return " Round-robin gives each new connection the next backend, whoever makes it."
	case collect.SelectLeastConn:
		return " Least-connection gives it the backend with the fewest connections, those in TIME\\_WAIT included: connections made one after the other take turns."
	case collect.SelectSourceHash:
		return " Source-hash looks the backend up by the client's address: all connections of one address to one virtual service have one backend."
	}
	return ""
}
