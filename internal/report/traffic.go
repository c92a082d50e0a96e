package report

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// Letters name the endpoints of the Service under test: A, B, …
type Letters map[netip.Addr]string

// LettersOf gives each endpoint its letter.
func LettersOf(objects collect.Objects) Letters {
	l := Letters{}
	for i, e := range objects.Endpoints {
		name := string(rune('A' + i%26))
		if i >= 26 {
			name += strconv.Itoa(i / 26)
		}
		l[e.Address] = name
	}
	return l
}

// writeTraffic tells what came of the connections of each entry point.
func writeTraffic(d *document, e collect.Evidence, expect spec.Translation, checks []collect.Check) {
	d.heading(2, "3 Traffic")
	if len(e.Traffic) == 0 {
		d.paragraph("No connection was recorded.")
		return
	}
	d.paragraph("Every connection is a new TCP connection. The backend names itself in its answer, and tells the source address it saw.")
	for _, p := range e.Traffic {
		writeEntryPoint(d, e, p)
	}
	writeOrder(d, e)
	writeSockets(d, e, expect)
	for _, c := range checks {
		if strings.HasPrefix(c.ID, "traffic.selection") && c.Reason != "" {
			d.heading(3, "What these numbers can and cannot show")
			d.paragraph("Check %s: %s", code(c.ID), escape(c.Reason))
		}
	}
}

func writeEntryPoint(d *document, e collect.Evidence, p collect.EntryPoint) {
	letters := LettersOf(e.Objects)
	d.heading(3, "%s", code(p.Name))
	d.paragraph("%s dialled %s: %d connections sent, %d answered, %d failed (%s).",
		capital(escape(Prober(e, p))), dialled(p), p.Sent, len(answered(p)), len(p.Attempts)-len(answered(p)), link(collect.Ref{File: p.File}))

	type outcome struct {
		backend traffic.Identity
		source  netip.Addr
	}
	hits := map[outcome]int{}
	var order []outcome
	for _, a := range answered(p) {
		o := outcome{a.Backend, a.SourceSeen.Addr()}
		if hits[o] == 0 {
			order = append(order, o)
		}
		hits[o]++
	}
	slices.SortFunc(order, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(letters[a.backend.PodIP], letters[b.backend.PodIP]), cmp.Compare(a.backend.Pod, b.backend.Pod), a.source.Compare(b.source))
	})
	var rows [][]string
	for _, o := range order {
		rows = append(rows, []string{
			cmp.Or(letters[o.backend.PodIP], "?"), code(o.backend.Pod), dash(roleOf(e, o.backend.Node)), strconv.Itoa(hits[o]),
			code(o.source.String()), escape(Owner(e, p, o.source)),
		})
	}
	d.table([]string{"", "Backend", "Node", "Hits", "Source address seen", "Which is"}, rows)
	d.paragraph("Backends in order: %s", code(sequence(p, letters)))
	for _, failure := range failures(p) {
		d.paragraph("Failed: %s", escape(failure))
	}
}

// answered are the attempts of which everything became known.
func answered(p collect.EntryPoint) []traffic.Attempt {
	return slices.DeleteFunc(slices.Clone(p.Attempts), func(a traffic.Attempt) bool { return a.Error != "" })
}

// Prober is who makes the connections.
func Prober(e collect.Evidence, p collect.EntryPoint) string {
	if p.From == spec.FromHost {
		return "the host"
	}
	for _, pod := range e.Objects.Pods {
		if pod.Address == e.Objects.ClientIP {
			return "the client pod on " + pod.Node
		}
	}
	return "the client pod"
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// dialled is what the prober was given and what it resolved that to.
func dialled(p collect.EntryPoint) string {
	var targets, addresses []string
	for _, a := range p.Attempts {
		targets = append(targets, a.Target)
		if a.DialedAddress.IsValid() && a.DialedAddress.String() != a.Target {
			addresses = append(addresses, a.DialedAddress.String())
		}
	}
	text := codes(distinct(targets))
	if len(addresses) > 0 {
		text += ", resolved to " + codes(distinct(addresses))
	}
	if p.Node != "" {
		text += " on " + escape(p.Node)
	}
	return text
}

func distinct(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// Owner is whose address it is, as far as the evidence knows.
func Owner(e collect.Evidence, p collect.EntryPoint, address netip.Addr) string {
	own := slices.ContainsFunc(p.Attempts, func(a traffic.Attempt) bool { return a.LocalAddress.Addr() == address })
	if address == e.Objects.ClientIP {
		return "client pod"
	}
	for _, pod := range e.Objects.Pods {
		if pod.Address == address {
			return fmt.Sprintf("pod %s/%s on %s", pod.Namespace, pod.Name, pod.Node)
		}
	}
	var roles []string
	for _, n := range e.Nodes {
		if n.InternalIP == address || slices.Contains(n.Addresses, address) {
			roles = append(roles, n.Role)
		}
	}
	switch {
	case len(roles) > 0:
		return "node " + strings.Join(roles, ", ")
	case own && p.From == spec.FromHost:
		return "host"
	}
	return "not known"
}

// roleOf is the role of a node by its name in the API.
func roleOf(e collect.Evidence, name string) string {
	for _, n := range e.Nodes {
		if n.Name == name {
			return n.Role
		}
	}
	return name
}

// mostInOrder bounds the letters on a page; the raw file has all attempts.
const mostInOrder = 200

// sequence is the backends in the order of the attempts, ten to a group: "x"
// is a failed one, "?" an answer of something else than an endpoint.
func sequence(p collect.EntryPoint, letters Letters) string {
	var b strings.Builder
	for i, a := range p.Attempts {
		if i == mostInOrder {
			fmt.Fprintf(&b, " … %d more", len(p.Attempts)-i)
			break
		}
		if i > 0 && i%10 == 0 {
			b.WriteByte(' ')
		}
		if a.Error != "" {
			b.WriteByte('x')
			continue
		}
		b.WriteString(cmp.Or(letters[a.Backend.PodIP], "?"))
	}
	return b.String()
}

// failures are the distinct errors, each with how often it came.
func failures(p collect.EntryPoint) []string {
	counts := map[string]int{}
	var order []string
	for _, a := range p.Attempts {
		if a.Error == "" {
			continue
		}
		if counts[a.Error]++; counts[a.Error] == 1 {
			order = append(order, a.Error)
		}
	}
	for i, text := range order {
		order[i] = fmt.Sprintf("%d × %s", counts[text], text)
	}
	return order
}
