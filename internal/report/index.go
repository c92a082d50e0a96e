package report

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// IndexEntry is one run of results/.
type IndexEntry struct {
	Run      results.Run
	Evidence collect.Evidence
	Checks   []collect.Check
	// Dir of the run below results/, with slashes: "service-path/iptables".
	Dir string
}

// Index is results/README.md: the scenarios of each experiment side by side.
func Index(runs []IndexEntry) []byte {
	var d document
	d.heading(1, "Results")
	d.paragraph("One Service API, several encodings of it in the kernel. Each column is a scenario: the same workload and the same connections on a cluster whose nodes program Services another way. Every cell is read from the evidence of that run; the page behind a column's head quotes the lines.")
	runs = slices.SortedFunc(slices.Values(runs), func(a, b IndexEntry) int { return strings.Compare(a.Dir, b.Dir) })
	var experiments []string
	for _, r := range runs {
		if name := r.Evidence.Experiment; !slices.Contains(experiments, name) {
			experiments = append(experiments, name)
		}
	}
	for _, name := range experiments {
		of := slices.DeleteFunc(slices.Clone(runs), func(r IndexEntry) bool { return r.Evidence.Experiment != name })
		writeExperiment(&d, name, of)
	}
	d.heading(2, "How to read and re-check")
	d.list([]string{
		"**Mode** is what each kube-proxy answers at `/proxyMode`. **Encoding** is where frontends were found on the nodes, whatever the mode says; where two are named, both are programmed.",
		"**Frontends on a node** counts address, port and protocol. An encoding that lists a NodePort once for each address of the node has more of them for the same Services.",
		"**Source seen** is whose address the backend saw. A masqueraded connection shows an address of the node that was dialled.",
		"**Translated at**: *packet* means that the kernel's socket table holds the address that was dialled and netfilter translates below it; *socket* means that connect(2) itself was translated.",
		"Times are not compared: the runs were made to see which path a connection takes, not how fast it is.",
		"`runner verify results` decodes every raw file again, repeats the checks, writes these pages anew and says where the committed files differ. It needs no cluster. `make experiment` makes all runs again.",
	})
	return []byte(strings.TrimRight(d.String(), "\n") + "\n")
}

// row is one line of the table: a value of each run.
type row struct {
	name string
	cell func(IndexEntry) string
}

func writeExperiment(d *document, name string, runs []IndexEntry) {
	d.heading(2, "%s: %s", code(name), escape(runs[0].Run.Experiment.Metadata.Title))
	head := []string{""}
	for _, r := range runs {
		head = append(head, fmt.Sprintf("[%s](%s)", escape(r.Evidence.Scenario), escapePath(path.Join(r.Dir, "README.md"))))
	}
	rows := []row{
		{"Mode", modes},
		{"Encoding", func(r IndexEntry) string { return nodeCell(r, encodings) }},
		{"iptables back end with Service rules", func(r IndexEntry) string {
			return nodeCell(r, func(s collect.NodeState) string { return s.LiveIptables })
		}},
		{"Frontends on a node", func(r IndexEntry) string {
			return nodeCell(r, func(s collect.NodeState) string { return fmt.Sprint(frontends(s)) })
		}},
		{"Selection", func(r IndexEntry) string { return selection(r.Evidence) }},
		{"Source seen via ClusterIP", func(r IndexEntry) string { return sources(r.Evidence, false) }},
		{"Source seen via NodePort", func(r IndexEntry) string { return sources(r.Evidence, true) }},
		{"Translated at", func(r IndexEntry) string { return translation(r.Evidence) }},
		{"Connections answered", connections},
		{"Checks", func(r IndexEntry) string { return verdictLine(r.Checks) }},
		{"Kubernetes", func(r IndexEntry) string {
			return nodeValues(r, func(n collect.Node) string { return n.KubeletVersion })
		}},
		{"Kernel", func(r IndexEntry) string {
			return nodeValues(r, func(n collect.Node) string { return n.KernelRelease })
		}},
		{"Date", func(r IndexEntry) string { return r.Run.Started.UTC().Format("2006-01-02") }},
	}
	var cells [][]string
	for _, row := range rows {
		line := []string{row.name}
		for _, r := range runs {
			line = append(line, row.cell(r))
		}
		cells = append(cells, line)
	}
	d.table(head, cells)
}

func modes(r IndexEntry) string {
	var states []collect.NodeState // nodes of a mode, as nodeCell groups them
	said := map[string]string{}
	for _, n := range r.Evidence.Mode.Nodes {
		states = append(states, collect.NodeState{Node: n.Node})
		said[n.Node] = n.ProxyMode.Value
	}
	return cells(perNode(states, func(s collect.NodeState) string { return said[s.Node] }))
}

// nodeCell is one value where all nodes have the same.
func nodeCell(r IndexEntry, value func(collect.NodeState) string) string {
	return cells(perNode(r.Evidence.Kernel, value))
}

func cells(groups []group) string {
	var parts []string
	for _, g := range groups {
		text := dash(g.value)
		if len(groups) > 1 {
			text = fmt.Sprintf("%s on %s", text, escape(strings.Join(g.nodes, ", ")))
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, "; ")
}

func encodings(s collect.NodeState) string {
	var names []string
	for _, t := range programmed(s) {
		names = append(names, t.Encoding)
	}
	return strings.Join(distinct(names), ", ")
}

func selection(e collect.Evidence) string {
	return cells(perNode(e.Kernel, func(s collect.NodeState) string {
		var names []string
		for _, t := range s.Tables {
			for _, f := range underTest(t, e.Objects.Service) {
				names = append(names, string(f.Selection))
			}
		}
		return strings.Join(distinct(names), ", ")
	}))
}

// sources are whose addresses the backends saw, by how the Service was dialled.
func sources(e collect.Evidence, nodePort bool) string {
	var names []string
	for _, p := range e.Traffic {
		if (p.To == spec.ToNodePort) != nodePort {
			continue
		}
		for _, a := range answered(p) {
			names = append(names, relation(e, p, a))
		}
	}
	return dash(strings.Join(distinct(names), ", "))
}

// relation is what a source address is to its connection.
func relation(e collect.Evidence, p collect.EntryPoint, a traffic.Attempt) string {
	seen := a.SourceSeen.Addr()
	onNode := func(n collect.Node) bool {
		return n.Role == p.Node && (n.InternalIP == seen || slices.ContainsFunc(n.Addresses, func(x netip.Addr) bool { return x == seen }))
	}
	switch {
	case seen == a.LocalAddress.Addr():
		return "the client's own"
	case slices.ContainsFunc(e.Nodes, onNode):
		return "the dialled node's"
	}
	return owner(e, p, seen)
}

func translation(e collect.Evidence) string {
	var places []string
	for _, p := range e.Traffic {
		for _, a := range p.Attempts {
			if at := translatedAt(a); at != "" {
				places = append(places, at)
			}
		}
	}
	return dash(strings.Join(distinct(places), " and "))
}

func connections(r IndexEntry) string {
	ok, sent := 0, 0
	for _, p := range r.Evidence.Traffic {
		ok += len(answered(p))
		sent += p.Sent
	}
	return fmt.Sprintf("%d of %d", ok, sent)
}

func nodeValues(r IndexEntry, value func(collect.Node) string) string {
	var all []string
	for _, n := range r.Evidence.Nodes {
		all = append(all, value(n))
	}
	return codes(distinct(all))
}
