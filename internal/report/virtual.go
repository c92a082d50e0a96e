package report

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/ipvs"
)

// inIPVS says whether a node's Services are virtual services of IPVS.
func inIPVS(s collect.NodeState) bool {
	t := s.Table("ipvs")
	return t != nil && len(t.Frontends) > 0
}

// writeVirtual tells at which addresses each node serves the Service: IPVS knows
// no "any address of the node".
func writeVirtual(d *document, e collect.Evidence, raw fs.FS) error {
	if !slices.ContainsFunc(e.Kernel, inIPVS) {
		return nil
	}
	var rows [][]string
	for _, s := range e.Kernel {
		if s.Table("ipvs") == nil {
			rows = append(rows, []string{escape(s.Node), "not read", "not read"})
			continue
		}
		file := path.Join(s.Node, ipvs.DummyFile)
		data, err := optional(raw, file)
		if err != nil {
			return err
		}
		held, err := ipvs.Addresses(data)
		if err != nil {
			continue // the decoder has said so
		}
		own := "none"
		if len(held) > 0 {
			var names []string
			for _, a := range held {
				names = append(names, a.String())
			}
			own = fmt.Sprintf("%s (%s)", codes(names), link(collect.Ref{File: file}))
		}
		rows = append(rows, []string{escape(s.Node), servedAt(e, s), own})
	}
	d.heading(3, "Addresses of the virtual services")
	d.paragraph("A virtual service has one address. So kube-proxy makes one for the ClusterIP, and one with the node port for each address of the node, its pods' gateway included. It gives every ClusterIP to the device `kube-ipvs0`: only packets to an address of the node get to where IPVS looks at them.")
	d.table([]string{"Node", fmt.Sprintf("Node port %s at", code(fmt.Sprint(e.Objects.Service.NodePort))), "On `kube-ipvs0`"}, rows)
	return nil
}

// servedAt are the addresses of a node that its node port has a virtual service at.
func servedAt(e collect.Evidence, s collect.NodeState) string {
	t := s.Table("ipvs")
	node := collect.Node{}
	if i := slices.IndexFunc(e.Nodes, func(n collect.Node) bool { return n.Role == s.Node }); i >= 0 {
		node = e.Nodes[i]
	}
	var places []string
	for _, f := range underTest(*t, e.Objects.Service) {
		if f.Kind != collect.NodePort {
			continue
		}
		what := ""
		switch {
		case f.Address == node.InternalIP:
			what = ", the node's own"
		case node.PodCIDR.Contains(f.Address):
			what = ", its pods' gateway"
		}
		places = append(places, fmt.Sprintf("%s%s (%s)", code(f.Address.String()), what, link(collect.Ref{File: t.File, Line: f.Line})))
	}
	return cmp.Or(strings.Join(places, "; "), "none")
}

// writeScheduled sums up what IPVS itself records of connections to the Service.
func writeScheduled(d *document, e collect.Evidence) {
	letters := LettersOf(e.Objects)
	var rows, totals [][]string
	for _, s := range e.Kernel {
		if s.Scheduled == nil || !inIPVS(s) {
			continue
		}
		rows = append(rows, scheduledRows(e, s, letters)...)
		if t := s.Scheduled.Totals; t.Value != "" {
			totals = append(totals, []string{escape(s.Node), fmt.Sprintf("%s (%s)", escape(t.Value), link(t.Ref))})
		}
	}
	if len(rows)+len(totals) == 0 {
		return
	}
	d.heading(3, "Connections in IPVS")
	d.paragraph("IPVS has a table of its own beside connection tracking: each connection to the Service with its client, its virtual service and the real server it was given. A closed one stays for two minutes. What is not the experiment's was made by others, or before.")
	d.table([]string{"Node", "Virtual service", "Given to", "Connections", "Not the experiment's", "First of them"}, rows)
	d.paragraph("All virtual services of a node together, other Services' included, since IPVS came up there:")
	d.table([]string{"Node", "Counted"}, totals)
}

func scheduledRows(e collect.Evidence, s collect.NodeState, letters Letters) [][]string {
	type given struct{ virtual, backend string }
	var order []given
	count, foreign := map[given]int{}, map[given]int{}
	first := map[given]collect.Line{}
	for _, c := range s.Scheduled.Connections {
		to := given{c.Virtual.String(), strings.TrimSpace(letters[c.Backend.Addr()] + " " + code(c.Backend.String()))}
		if count[to]++; count[to] == 1 {
			order = append(order, to)
			first[to] = c.Line
		}
		if !evidence.Dialled(e, c.Virtual)[c.Client] {
			foreign[to]++
		}
	}
	slices.SortFunc(order, func(a, b given) int { return strings.Compare(a.virtual+a.backend, b.virtual+b.backend) })
	var rows [][]string
	for _, to := range order {
		rows = append(rows, []string{
			escape(s.Node), code(to.virtual), to.backend, fmt.Sprint(count[to]), fmt.Sprint(foreign[to]),
			link(collect.Ref{File: s.Scheduled.File, Line: first[to]}),
		})
	}
	return rows
}
