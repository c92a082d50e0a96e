package report

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
)

// writeKernel quotes one node whole, the client's, and compares the others
// with it.
func writeKernel(d *document, e collect.Evidence, clientNode string, raw fs.FS) error {
	d.heading(2, "4 Kernel")
	if len(e.Kernel) == 0 {
		d.paragraph("No node was read.")
		return nil
	}
	whole := e.Kernel[max(0, slices.IndexFunc(e.Kernel, func(s collect.NodeState) bool { return s.Node == clientNode }))]
	others := slices.DeleteFunc(slices.Clone(e.Kernel), func(s collect.NodeState) bool { return s.Node == whole.Node })
	writeEncodings(d, e.Kernel)
	if err := writeLeftovers(d, e, raw); err != nil {
		return err
	}
	if err := writePath(d, e, whole, others, raw); err != nil {
		return err
	}
	if err := writeVirtual(d, e, raw); err != nil {
		return err
	}
	writeMaps(d, e)
	if err := writeNATMaps(d, e, raw); err != nil {
		return err
	}
	writeTables(d, e.Objects, whole, others)
	writeTranslations(d, e)
	writeScheduled(d, e)
	return nil
}

// writeEncodings says where Services are, and where they are not.
func writeEncodings(d *document, states []collect.NodeState) {
	d.heading(3, "Where the Services are")
	d.paragraph("Frontends (address, port and protocol of a Service) found in each encoding. An encoding with none programs nothing, whatever tables it has.")
	type source struct{ encoding, file string }
	var sources []source
	head := []string{"Encoding", "File"}
	for _, s := range states {
		head = append(head, escape(s.Node))
		for _, t := range s.Tables {
			if at := (source{t.Encoding, path.Base(t.File)}); !slices.Contains(sources, at) {
				sources = append(sources, at)
			}
		}
	}
	slices.SortFunc(sources, func(a, b source) int { return cmp.Or(cmp.Compare(a.encoding, b.encoding), cmp.Compare(a.file, b.file)) })
	var rows [][]string
	for _, at := range sources {
		row := []string{encodingName(at.encoding), code(at.file)}
		for _, s := range states {
			cell := "not read"
			for _, t := range s.Tables {
				if t.Encoding == at.encoding && path.Base(t.File) == at.file {
					cell = frontendCount(t)
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	live := []string{"iptables", "back end that holds rules for Services"}
	for _, s := range states {
		live = append(live, escape(cmp.Or(s.LiveIptables, "not read")))
	}
	d.table(head, append(rows, live))
	has := func(encoding string) bool {
		return slices.ContainsFunc(sources, func(s source) bool { return s.encoding == encoding })
	}
	if has(calico.Encoding) {
		d.paragraph("Calico's maps are those of its NAT. A node port is there once for each address of the node, that of the tunnel included, and once without an address.")
	}
	if slices.ContainsFunc(states, inIPVS) {
		d.paragraph("In mode ipvs kube-proxy has rules in iptables too: they match ip sets, to masquerade and to filter, and are no frontends.")
	}
	if has(cilium.AgentEncoding) {
		d.paragraph("The agent's list is what Cilium means to program, the maps are what it has programmed. A node port that Cilium serves is in the list once; in the maps it is once for each address of the node, and once for the zero address.")
	}
}

func frontendCount(t collect.NodeTable) string {
	text := strconv.Itoa(len(t.Frontends))
	if len(t.Frontends) > 0 {
		text = "**" + text + "**"
	}
	if n := len(t.Unparsed); n > 0 {
		text += fmt.Sprintf(" (%s not understood, first %s)", plural(n, "line"), link(collect.Ref{File: t.File, Line: t.Unparsed[0]}))
	}
	return text
}

func writePath(d *document, e collect.Evidence, whole collect.NodeState, others []collect.NodeState, raw fs.FS) error {
	name := code(e.Objects.Service.Namespace + "/" + e.Objects.Service.Name)
	d.heading(3, "The path of the Service on %s", escape(whole.Node))
	stages, err := nodePath(raw, e, whole)
	if err != nil {
		return err
	}
	if len(stages) == 0 {
		d.paragraph("No file of this node has a line for %s.", name)
	}
	for i, s := range stages {
		d.paragraph("%d. %s %s", i+1, s.what, link(collect.Ref{File: s.file, Line: s.lines[0].Line}))
		d.fence(numbered(s.lines))
	}
	for _, other := range others {
		path, err := nodePath(raw, e, other)
		if err != nil {
			return err
		}
		writeDifference(d, "line", whole.Node, other.Node, linesIn(stages), linesIn(path))
	}
	return nil
}

// nodePath is the path in every table that has the Service: two of them are
// two data planes, and a page has to show both.
func nodePath(raw fs.FS, e collect.Evidence, state collect.NodeState) ([]stage, error) {
	var all []stage
	var names []string
	for _, t := range kernelTables(state) {
		frontends := underTest(t, e.Objects.Service)
		if len(frontends) == 0 {
			continue
		}
		var stages []stage
		var err error
		switch t.Encoding {
		case cilium.Encoding:
			stages, err = ciliumPath(raw, e, state, frontends)
		case calico.Encoding:
			stages, err = calicoPath(raw, e, state, t.File, frontends)
		default:
			stages, err = servicePath(raw, t, frontends)
		}
		if err != nil {
			return nil, err
		}
		for i := range stages {
			stages[i].encoding = t.Encoding
		}
		all = append(all, stages...)
		names = append(names, t.Encoding)
	}
	if len(distinct(names)) > 1 {
		for i := range all {
			all[i].what = fmt.Sprintf("(%s) %s", encodingName(all[i].encoding), all[i].what)
		}
	}
	return all, nil
}

// linesIn are the lines that two nodes can have in common.
func linesIn(stages []stage) []quoted {
	var lines []quoted
	for _, s := range stages {
		if !s.passing {
			lines = append(lines, s.lines...)
		}
	}
	return lines
}

// writeDifference says how another node differs from the one shown whole.
func writeDifference(d *document, thing, whole, other string, shown, others []quoted) {
	missing, extra := without(shown, others), without(others, shown)
	switch {
	case len(others) == 0:
		d.paragraph("%s: no %s was found.", escape(other), thing)
	case len(missing)+len(extra) == 0:
		d.paragraph("%s: the same %s.", escape(other), plural(len(others), thing))
	default:
		d.paragraph("%s: %s, the same but for this:", escape(other), plural(len(others), thing))
		d.fence(append(prefixed("- "+whole, missing), prefixed("+ "+other, extra)...))
	}
}

// without are the lines of a that b does not have.
func without(a, b []quoted) []quoted {
	have := map[string]int{}
	for _, l := range b {
		have[l.key]++
	}
	var left []quoted
	for _, l := range a {
		if have[l.key]--; have[l.key] < 0 {
			left = append(left, l)
		}
	}
	return left
}

func prefixed(prefix string, lines []quoted) []string {
	var out []string
	for _, l := range lines {
		at := prefix
		if l.Number > 0 {
			at += ":" + strconv.Itoa(l.Number)
		}
		out = append(out, fmt.Sprintf("%s  %s", at, strings.TrimSpace(tabs(l.Text))))
	}
	return out
}

// numbered shows lines with their numbers in the file, where they have one, and
// an empty line where the file has others between.
func numbered(lines []quoted) []string {
	digits, width := 1, 0
	for _, l := range lines {
		digits = max(digits, len(strconv.Itoa(l.Number)))
		width = max(width, utf8.RuneCountInString(l.Text))
	}
	var out []string
	for i, l := range lines {
		if i > 0 && l.Number > 0 && l.Number != lines[i-1].Number+max(1, lines[i-1].height) {
			out = append(out, "")
		}
		text := tabs(l.Text)
		if l.note != "" {
			text = fmt.Sprintf("%-*s  = %s", width, text, l.note)
		}
		if l.Number > 0 {
			text = fmt.Sprintf("%*d  %s", digits, l.Number, text)
		}
		out = append(out, text)
	}
	return out
}

func tabs(text string) string { return strings.ReplaceAll(text, "\t", "    ") }
