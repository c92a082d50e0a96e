package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// Row is one line of a table of runs: what it is about, and what each run has.
// Its texts are plain: whoever writes them escapes them.
type Row struct {
	Name  string
	Cells []Cell
	// Verbatim values are names as a program writes them.
	Verbatim bool
}

// Cell is what a run has: one value, or as many as its nodes have; none where
// the evidence does not say.
type Cell []string

// row is a Row before any run is asked.
type row struct {
	name string
	cell func(IndexEntry) Cell
}

func ask(rows []row, runs []IndexEntry, verbatim bool) []Row {
	var all []Row
	for _, r := range rows {
		asked := Row{Name: r.name, Verbatim: verbatim}
		for _, run := range runs {
			asked.Cells = append(asked.Cells, r.cell(run))
		}
		all = append(all, asked)
	}
	return all
}

// one makes a cell of one value of the evidence.
func one(value func(collect.Evidence) string) func(IndexEntry) Cell {
	return func(r IndexEntry) Cell {
		if v := value(r.Evidence); v != "" {
			return Cell{v}
		}
		return nil
	}
}

// Shown is what runs of one experiment show of their data planes, side by side.
func Shown(runs []IndexEntry) []Row {
	return ask(slices.Concat([]row{
		{"Mode", modes},
		{"Encoding", func(r IndexEntry) Cell {
			return nodeCell(r, func(s collect.NodeState) string { return encodings(r.Evidence, s) })
		}},
		{"iptables back end with Service rules", func(r IndexEntry) Cell {
			return nodeCell(r, func(s collect.NodeState) string { return s.LiveIptables })
		}},
		{"Frontends on a node", func(r IndexEntry) Cell {
			return nodeCell(r, func(s collect.NodeState) string { return frontends(r.Evidence, s) })
		}},
		{"Selection", func(r IndexEntry) Cell { return selections(r.Evidence) }},
		{"Source seen via ClusterIP", one(func(e collect.Evidence) string { return seen(e, false) })},
	}, byProber(runs, "Source seen via NodePort", func(e collect.Evidence, from ...string) string { return seen(e, true, from...) }),
		byProber(runs, "Translated at", translation),
		trackerRows(runs),
		[]row{{"Connections answered", one(connections)}}), runs, false)
}

// Recorded is on what and when runs were recorded.
func Recorded(runs []IndexEntry) []Row {
	return slices.Concat(ask([]row{
		{"Kubernetes", func(r IndexEntry) Cell {
			return nodeValues(r, func(n collect.Node) string { return n.KubeletVersion })
		}},
		{"Kernel", func(r IndexEntry) Cell {
			return nodeValues(r, func(n collect.Node) string { return n.KernelRelease })
		}},
	}, runs, true), ask([]row{{"Date", func(r IndexEntry) Cell { return Cell{date(r)} }}}, runs, false))
}

// byProber is one row, or two where a run shows pods and the outside something
// else.
func byProber(runs []IndexEntry, name string, value func(e collect.Evidence, from ...string) string) []row {
	of := func(from ...string) func(IndexEntry) Cell {
		return one(func(e collect.Evidence) string { return value(e, from...) })
	}
	if slices.ContainsFunc(runs, func(r IndexEntry) bool {
		return differ(value(r.Evidence, spec.FromClient), value(r.Evidence, spec.FromHost))
	}) {
		return []row{{name + ", from a pod", of(spec.FromClient)}, {name + ", from outside", of(spec.FromHost)}}
	}
	return []row{{name, of()}}
}

// trackerRows is a row where some run has a second tracker of connections.
func trackerRows(runs []IndexEntry) []row {
	if !slices.ContainsFunc(runs, func(r IndexEntry) bool { return hasPlane(r.Evidence) }) {
		return nil
	}
	return []row{{"Translated packets tracked by", one(packetTrackers)}}
}

// packetTrackers is whose records the translations of packets are in.
func packetTrackers(e collect.Evidence) string {
	of := func(clusterIP bool) string {
		var names []string
		for _, s := range e.Kernel {
			for _, t := range s.Translations {
				if t.Backend.IsValid() && isClusterIP(e.Objects.Service, t.Destination) == clusterIP {
					names = append(names, tracker(t.Tracker))
				}
			}
		}
		return strings.Join(distinct(names), " and ")
	}
	switch service, node := of(true), of(false); {
	case service == node || service == "":
		return node
	case node == "":
		return service
	default:
		return fmt.Sprintf("%s via ClusterIP, %s via NodePort", service, node)
	}
}

// nodeCell is one value where all nodes have the same.
func nodeCell(r IndexEntry, value func(collect.NodeState) string) Cell {
	return cells(perNode(r.Evidence.Kernel, value))
}

func cells(groups []group) Cell {
	var parts Cell
	for _, g := range groups {
		text := cmp.Or(g.value, "–")
		if len(groups) > 1 {
			text = fmt.Sprintf("%s on %s", text, strings.Join(g.nodes, ", "))
		}
		parts = append(parts, text)
	}
	return parts
}

// encodings hold Services. Those that have a part of the Service under test
// beside one that has it whole come last and say so.
func encodings(e collect.Evidence, s collect.NodeState) string {
	names, part := byEncoding(e, s)
	for i, name := range names {
		if part[name] != "" {
			names[i] += fmt.Sprintf(" (%s alone)", part[name])
		}
	}
	return strings.Join(names, ", ")
}

// frontends are counted for each encoding where there are several.
func frontends(e collect.Evidence, s collect.NodeState) string {
	counts := map[string]int{}
	for _, t := range programmed(s) {
		counts[t.Encoding] += len(t.Frontends)
	}
	names, _ := byEncoding(e, s)
	switch len(names) {
	case 0:
		return "0"
	case 1:
		return fmt.Sprint(counts[names[0]])
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d in %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}

// byEncoding names the encodings of a node that hold Services, and which part
// of the Service under test those have that lack some of it.
func byEncoding(e collect.Evidence, s collect.NodeState) (names []string, part map[string]string) {
	part = map[string]string{}
	whole := false
	for _, t := range programmed(s) {
		names = append(names, t.Encoding)
		switch found := underTest(t, e.Objects.Service); {
		case entire(found, e.Objects.Service):
			whole = true
		case len(found) > 0:
			part[t.Encoding] = kinds(found)
		}
	}
	names = distinct(names)
	if !whole {
		return names, nil
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(part[a]), len(part[b])) })
	return names, part
}

func selection(e collect.Evidence) string {
	return strings.Join(selections(e), "; ")
}

func selections(e collect.Evidence) Cell {
	return cells(perNode(e.Kernel, func(s collect.NodeState) string {
		var names []string
		for _, t := range kernelTables(s) {
			for _, f := range underTest(t, e.Objects.Service) {
				names = append(names, string(f.Selection))
			}
		}
		return strings.Join(distinct(names), ", ")
	}))
}

func connections(e collect.Evidence) string {
	ok, sent := 0, 0
	for _, p := range e.Traffic {
		ok += len(answered(p))
		sent += p.Sent
	}
	return fmt.Sprintf("%d of %d", ok, sent)
}

func nodeValues(r IndexEntry, value func(collect.Node) string) Cell {
	var all []string
	for _, n := range r.Evidence.Nodes {
		if v := value(n); v != "" {
			all = append(all, v)
		}
	}
	return distinct(all)
}
