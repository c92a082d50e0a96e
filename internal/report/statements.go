package report

import (
	"fmt"
	"slices"

	"service-dataplane/pkg/collect"
)

// statement is one thing that is said, of a node or of the cluster.
type statement struct {
	name string
	collect.Observation
}

// stated is a value that leads to its line.
func stated(s statement) string {
	text := code(s.Value)
	switch {
	case s.Value == "" && s.Ref.File == "":
		return "not asked"
	case s.Value == "":
		text = "does not say"
	case s.Value == collect.Absent && s.name == "Health":
		text = "off"
	case s.Value == collect.Absent:
		text = "none"
	}
	return fmt.Sprintf("[%s](%s)", text, target(s.Ref))
}

// writeStatements shows what is said of each node. It quotes one whole, the
// client's, and what is said otherwise of the others.
func writeStatements(d *document, nodes []collect.NodeMode, clientNode string, of func(collect.NodeMode) []statement) {
	if len(nodes) == 0 {
		return
	}
	head := []string{"Node"}
	var rows [][]string
	for i, n := range nodes {
		row := []string{escape(n.Node)}
		for _, s := range of(n) {
			if i == 0 {
				head = append(head, s.name)
			}
			row = append(row, stated(s))
		}
		rows = append(rows, row)
	}
	d.table(head, rows)
	lines := func(n collect.NodeMode) []quoted {
		var all []quoted
		for _, s := range of(n) {
			for _, text := range quoteOf(s.Observation) {
				all = append(all, quoted{Line: collect.Line{Text: text}, key: s.name + s.Value})
			}
		}
		return all
	}
	whole := nodes[max(0, slices.IndexFunc(nodes, func(n collect.NodeMode) bool { return n.Node == clientNode }))]
	d.quotes(textsOf(lines(whole)))
	for _, n := range nodes {
		if n.Node != whole.Node {
			writeDifference(d, "statement", whole.Node, n.Node, lines(whole), lines(n))
		}
	}
}

func textsOf(lines []quoted) []string {
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.Text)
	}
	return texts
}
