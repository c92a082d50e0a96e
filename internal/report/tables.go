package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
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
	letters := LettersOf(objects)
	for _, t := range append(shown, agentLists(whole)...) {
		lined := t.Frontends[0].Line.Number > 0 // a JSON file may have none
		tells := telling(t.Encoding)
		head := tells.of("Frontend", "Kind", "Service", "Selection", "Policy", "Masquerade", "Backends")
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
			row := tells.of(
				code(f.Endpoint()), dash(string(f.Kind)), dash(f.Service), dash(selected(f)), dash(string(f.Policy)),
				dash(string(f.Masquerade)), strings.Join(backends, ", "),
			)
			if lined {
				row = append(row, fmt.Sprintf("[%d](%s)", f.Line.Number, target(collect.Ref{File: t.File, Line: f.Line})))
			}
			rows = append(rows, row)
		}
		d.paragraph("%s, from %s%s:", encodingName(t.Encoding), link(collect.Ref{File: t.File}), tells.note)
		d.table(head, rows)
	}
	for _, other := range others {
		writeDifference(d, "frontend", whole.Node, other.Node, frontendLines(shown), frontendLines(programmed(other)))
	}
	if lists := agentLists(whole); len(lists) > 0 {
		const of = ", the agent's list"
		for _, other := range others {
			writeDifference(d, "frontend", whole.Node+of, other.Node+of, frontendLines(lists), frontendLines(agentLists(other)))
		}
	}
}

// kernelTables are a node's tables without the list of Cilium's agent, which
// is what the agent means to program and no kernel state.
func kernelTables(s collect.NodeState) []collect.NodeTable {
	return slices.DeleteFunc(slices.Clone(s.Tables), func(t collect.NodeTable) bool { return t.Encoding == cilium.AgentEncoding })
}

// programmed are the tables of a node's kernel that hold a Service.
func programmed(s collect.NodeState) []collect.NodeTable {
	return slices.DeleteFunc(kernelTables(s), func(t collect.NodeTable) bool { return len(t.Frontends) == 0 })
}

// agentLists are the lists of Cilium's agent that hold a Service: one or none.
func agentLists(s collect.NodeState) []collect.NodeTable {
	return slices.DeleteFunc(slices.Clone(s.Tables), func(t collect.NodeTable) bool {
		return t.Encoding != cilium.AgentEncoding || len(t.Frontends) == 0
	})
}

// encodingName is an encoding as a page calls it.
func encodingName(encoding string) string {
	if encoding == cilium.AgentEncoding {
		return "cilium, the agent's list"
	}
	return escape(encoding)
}

// told is which columns of the service table an encoding fills.
type told struct {
	without []int
	note    string
}

// telling leaves out what an encoding never says, and says so.
func telling(encoding string) told {
	switch encoding {
	case cilium.Encoding:
		return told{[]int{2, 5}, ", which names no Service and does not say how a source is masqueraded"}
	case calico.Encoding:
		return told{[]int{2, 5}, ", which names no Service and says neither how a source is masqueraded nor how long a client keeps its backend"}
	case cilium.AgentEncoding:
		return told{[]int{3, 5}, ", which says neither how a backend is selected nor how a source is masqueraded"}
	}
	return told{}
}

func (t told) of(cells ...string) []string {
	var row []string
	for i, cell := range cells {
		if !slices.Contains(t.without, i) {
			row = append(row, cell)
		}
	}
	return row
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
			text = strings.ReplaceAll(text, ", masquerade :", ":")
			for _, b := range f.Backends {
				text += fmt.Sprintf(" %s:%d %s", b.Address, b.Port, share(b))
			}
			text = strings.ReplaceAll(strings.ReplaceAll(text, " ,", ","), ",,", ",")
			lines = append(lines, quote(collect.Line{Number: f.Line.Number, Text: text})...)
		}
	}
	return lines
}
