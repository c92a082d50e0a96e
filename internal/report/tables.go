package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// underTest are a table's frontends of the Service under test. A kernel state
// that names no Service is asked for its addresses.
func underTest(t collect.NodeTable, s collect.Service) []collect.Frontend {
	var found []collect.Frontend
	for _, f := range t.Frontends {
		name, _, _ := strings.Cut(f.Service, ":")
		switch {
		case f.Protocol != s.Protocol:
		case f.Service != "" && name != s.Namespace+"/"+s.Name:
		case f.Kind == collect.NodePort && f.Port == s.NodePort && s.NodePort != 0,
			f.Kind != collect.NodePort && f.Port == s.Port && (f.Address == s.ClusterIP || f.Service != ""):
			found = append(found, f)
		}
	}
	return found
}

// writeTables shows what the kernel state decodes into.
func writeTables(d *document, objects collect.Objects, whole collect.NodeState, others []collect.NodeState) {
	d.heading(3, "Service table on %s", escape(whole.Node))
	shown := programmed(whole)
	if len(shown) == 0 {
		d.paragraph("No encoding of this node holds a Service.")
	}
	letters := lettersOf(objects)
	for _, t := range shown {
		head := []string{"Frontend", "Kind", "Service", "Selection", "Policy", "Masquerade", "Backends"}
		lined := t.Frontends[0].Line.Number > 0 // a JSON file has none
		if lined {
			head = append(head, "Line")
		}
		var rows [][]string
		for _, f := range t.Frontends {
			var backends []string
			for _, b := range f.Backends {
				text := strings.TrimSpace(letters[b.Address] + " " + code(fmt.Sprintf("%s:%d", b.Address, b.Port)))
				backends = append(backends, strings.TrimSpace(text+" "+escape(share(b))))
			}
			if len(backends) == 0 {
				backends = []string{"none: " + escape(cmp.Or(f.NoBackends, "not said what happens"))}
			}
			row := []string{
				code(f.Endpoint()), dash(string(f.Kind)), dash(f.Service), dash(selected(f)), dash(string(f.Policy)),
				dash(string(f.Masquerade)), strings.Join(backends, ", "),
			}
			if lined {
				row = append(row, fmt.Sprintf("[%d](%s)", f.Line.Number, target(collect.Ref{File: t.File, Line: f.Line})))
			}
			rows = append(rows, row)
		}
		d.paragraph("%s, from %s:", escape(t.Encoding), link(collect.Ref{File: t.File}))
		d.table(head, rows)
	}
	for _, other := range others {
		writeDifference(d, "frontend", whole.Node, other.Node, frontendLines(shown), frontendLines(programmed(other)))
	}
}

// programmed are the tables of a node that hold a Service.
func programmed(s collect.NodeState) []collect.NodeTable {
	return slices.DeleteFunc(slices.Clone(s.Tables), func(t collect.NodeTable) bool { return len(t.Frontends) == 0 })
}

func frontends(s collect.NodeState) int {
	n := 0
	for _, t := range s.Tables {
		n += len(t.Frontends)
	}
	return n
}

// selected is how a frontend's backend is chosen.
func selected(f collect.Frontend) string {
	if f.AffinitySeconds == 0 {
		return string(f.Selection)
	}
	return fmt.Sprintf("%s, affinity %d s", f.Selection, f.AffinitySeconds)
}

// share is what part of the connections a backend gets, as far as it is said.
func share(b collect.Backend) string {
	var words []string
	switch {
	case b.Probability > 0:
		words = append(words, strconv.FormatFloat(b.Probability, 'g', 4, 64))
	case b.Weight > 0:
		words = append(words, fmt.Sprintf("weight %d", b.Weight))
	}
	if b.State != collect.Active {
		words = append(words, string(b.State))
	}
	return strings.Join(words, " ")
}

func dash(text string) string {
	if text == "" {
		return "–"
	}
	return escape(text)
}

// frontendLines are the frontends of tables as a line each.
func frontendLines(tables []collect.NodeTable) []quoted {
	var lines []quoted
	for _, t := range tables {
		for _, f := range t.Frontends {
			text := fmt.Sprintf("%s %s %s, %s, policy %s, masquerade %s:", f.Kind, f.Endpoint(), f.Service, selected(f), f.Policy, f.Masquerade)
			for _, b := range f.Backends {
				text += fmt.Sprintf(" %s:%d %s", b.Address, b.Port, share(b))
			}
			text = strings.ReplaceAll(text, " ,", ",")
			lines = append(lines, quote(collect.Line{Number: f.Line.Number, Text: text})...)
		}
	}
	return lines
}

// writeTranslations sums up connection tracking.
func writeTranslations(d *document, e collect.Evidence) {
	d.heading(3, "Connection tracking")
	d.paragraph("Tracked connections to the Service when the nodes were read, by what they were translated to. Each node tracks what passes it: a connection to a node port of another node stands on both, translated on the one that was dialled. Entries of finished connections expire.")
	letters := lettersOf(e.Objects)
	var rows [][]string
	for _, s := range e.Kernel {
		for _, t := range s.Translations {
			to, source := "not translated", "kept"
			if t.Backend.IsValid() {
				to = strings.TrimSpace(letters[t.Backend.Addr()] + " " + code(t.Backend.String()))
			}
			if t.Masqueraded {
				source = "masqueraded"
			}
			rows = append(rows, []string{escape(s.Node), code(t.Destination.String()), to, source, strconv.Itoa(t.Count), link(t.Ref)})
		}
	}
	if len(rows) == 0 {
		d.paragraph("None on any node.")
	}
	d.table([]string{"Node", "Dialled", "Translated to", "Source", "Connections", "First of them"}, rows)
}
