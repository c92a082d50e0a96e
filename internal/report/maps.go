package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/cilium"
)

// writeMaps shows what the agent of each node means to program for the Service
// beside what is in its maps.
func writeMaps(d *document, e collect.Evidence) {
	var shown []collect.Frontend
	for _, s := range e.Kernel {
		maps, list := s.Table(cilium.Encoding), s.Table(cilium.AgentEncoding)
		if maps == nil && list == nil {
			continue
		}
		if shown == nil {
			d.heading(3, "The Service in the agent's list and in the maps")
			shown = []collect.Frontend{}
		}
		var inMaps, inList []collect.Frontend
		var from []string
		if list != nil {
			inList = underTest(*list, e.Objects.Service)
			from = append(from, "the agent's list "+link(collect.Ref{File: list.File}))
		}
		if maps != nil {
			inMaps = underTest(*maps, e.Objects.Service)
			from = append(from, "the maps "+link(collect.Ref{File: maps.File}))
		}
		d.paragraph("%s, %s:", escape(s.Node), strings.Join(from, ", "))
		rows := sideBySide(LettersOf(e.Objects), maps, list, inMaps, inList)
		if len(rows) == 0 {
			d.paragraph("Neither has the Service.")
		}
		d.table([]string{"Frontend", "The agent's list", "The maps, slot 0", "The maps, slots of backends"}, rows)
		shown = append(shown, inMaps...)
	}
	explainMaps(d, e, shown)
}

// sideBySide is a row a frontend. A node port is in the list once for all the
// addresses that the maps have it at.
func sideBySide(letters Letters, maps, list *collect.NodeTable, inMaps, inList []collect.Frontend) [][]string {
	same := func(a, b collect.Frontend) bool {
		return a.Kind == b.Kind && a.Port == b.Port && a.Protocol == b.Protocol && (a.Kind == collect.NodePort || a.Address == b.Address)
	}
	var rows [][]string
	for _, f := range inMaps {
		at, _ := entry(f.Line)
		row := []string{fmt.Sprintf("%s %s", escape(string(f.Kind)), code(strings.TrimSuffix(at, " (0)"))), "–", cell(maps.File, f.Line, "", slotValue), mapSlots(letters, maps.File, f, slotValue)}
		if i := slices.IndexFunc(inList, func(l collect.Frontend) bool { return same(l, f) }); i >= 0 {
			row[1] = listed(letters, list.File, inList[i])
		}
		rows = append(rows, row)
	}
	for _, l := range inList {
		if !slices.ContainsFunc(inMaps, func(f collect.Frontend) bool { return same(l, f) }) {
			rows = append(rows, []string{fmt.Sprintf("%s %s", escape(string(l.Kind)), code(l.Endpoint())), listed(letters, list.File, l), "–", "–"})
		}
	}
	return rows
}

// listed is an entry of the agent's list.
func listed(letters Letters, file string, f collect.Frontend) string {
	cells := []string{numberLink(file, f.Line)}
	for _, b := range f.Backends {
		text := strings.TrimSpace(letters[b.Address] + " " + code(fmt.Sprintf("%s:%d", b.Address, b.Port)))
		if b.State != collect.Active {
			text += " " + escape(string(b.State))
		}
		cells = append(cells, text)
	}
	return strings.Join(cells, "<br>")
}

// mapSlots are the rows of a frontend's backends in the order of the file.
func mapSlots(letters Letters, file string, f collect.Frontend, value func(collect.Line) string) string {
	backends := slices.Clone(f.Backends)
	slices.SortStableFunc(backends, func(a, b collect.Backend) int { return cmp.Compare(a.Line.Number, b.Line.Number) })
	var cells []string
	for _, b := range backends {
		text := cell(file, b.Line, letters[b.Address], value)
		if b.State != collect.Active {
			text += " " + escape(string(b.State))
		}
		cells = append(cells, text)
	}
	if len(cells) == 0 {
		return "none"
	}
	return strings.Join(cells, "<br>")
}

// cell is the value of a row of a map behind a link to its line.
func cell(file string, line collect.Line, letter string, value func(collect.Line) string) string {
	return strings.Join(slices.DeleteFunc([]string{numberLink(file, line), letter, code(value(line))}, func(text string) bool { return text == "" }), " ")
}

func slotValue(line collect.Line) string {
	_, value := entry(line)
	return value
}

func numberLink(file string, line collect.Line) string {
	name := "line " + strconv.Itoa(line.Number)
	if line.Number == 0 {
		name = "file"
	}
	return fmt.Sprintf("[%s](%s)", name, target(collect.Ref{File: file, Line: line}))
}

// explainMaps says how to read the rows there are.
func explainMaps(d *document, e collect.Evidence, shown []collect.Frontend) {
	if len(shown) == 0 {
		return
	}
	items := []string{"**Slot 0** is the frontend's own row. It has no backend, hence `0.0.0.0:0`; behind that stand the frontend's number on the node, which the slots of its backends repeat, the slot, and what the frontend is. *non-routable* means that packets from outside do not enter there."}
	has := func(fits func(collect.Frontend) bool) bool { return slices.ContainsFunc(shown, fits) }
	nodePort := code(strconv.Itoa(int(e.Objects.Service.NodePort)))
	if has(func(f collect.Frontend) bool { return f.Kind == collect.NodePort && !f.Address.IsValid() }) {
		items = append(items, fmt.Sprintf("**The node port at 0.0.0.0** is for connect(2) alone, socket LB's wildcard. Port %s of a node whose address has no row here, which is every other node's, is looked up under the zero address; the connection goes to a backend and not by way of the node that was dialled.", nodePort))
	}
	if has(func(f collect.Frontend) bool { return f.Kind == collect.NodePort && f.Address.IsValid() }) {
		items = append(items, "**The node port at the node's address** is what packets from outside meet, and a connect(2) on this node that dials that very address. It is the one frontend that is not *non-routable*, and the one that differs from node to node.")
	}
	if e.Objects.Service.NodePort != 0 && !has(func(f collect.Frontend) bool { return f.Kind == collect.NodePort }) {
		text := fmt.Sprintf("**The node port** %s is not in the maps", nodePort)
		if !slices.ContainsFunc(e.Kernel, func(s collect.NodeState) bool { return replaced(e, cilium.Encoding, s.Node) }) {
			text += ": an agent that does not replace kube-proxy leaves it to kube-proxy"
		}
		items = append(items, text+".")
	}
	d.list(items)
}
