package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// IndexEntry is one run of results/.
type IndexEntry struct {
	Run      results.Run
	Evidence collect.Evidence
	Checks   []collect.Check
	// Dir of the run, with slashes: for the index below results/
	// ("service-path/iptables"), else from the working directory.
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
	calico := ""
	if slices.ContainsFunc(runs, func(r IndexEntry) bool { return hasCalico(r.Evidence) }) {
		calico = "; where Calico is, what its Felix is configured to"
	}
	d.heading(2, "How to read and re-check")
	d.list([]string{
		"**Mode** is what each kube-proxy answers at `/proxyMode` and, where Cilium is installed, what its agents say of replacing kube-proxy" + calico + ". **Encoding** is where frontends were found in the nodes' kernels, whatever the mode says; where two are named, both are programmed.",
		"**Frontends on a node** counts address, port and protocol. An encoding that lists a NodePort once for each address of the node has more of them for the same Services.",
		"**Source seen** is whose address the backend saw. A masqueraded connection shows an address of the node that was dialled.",
		"**Translated at**: *packet* means that the kernel's socket table holds the address that was dialled, which is translated below it, by netfilter or a BPF program; *socket* means that connect(2) itself was translated.",
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
	if runs[0].Run.Experiment.Spec.Refusal != nil {
		writeRefusals(d, runs)
		return
	}
	head := []string{""}
	for _, r := range runs {
		head = append(head, fmt.Sprintf("[%s](%s)", columnName(r), escapePath(path.Join(r.Dir, "README.md"))))
	}
	rows := slices.Concat([]row{
		{"Mode", modes},
		{"Encoding", func(r IndexEntry) string {
			return nodeCell(r, func(s collect.NodeState) string { return encodings(r.Evidence, s) })
		}},
		{"iptables back end with Service rules", func(r IndexEntry) string {
			return nodeCell(r, func(s collect.NodeState) string { return s.LiveIptables })
		}},
		{"Frontends on a node", func(r IndexEntry) string {
			return nodeCell(r, func(s collect.NodeState) string { return frontends(r.Evidence, s) })
		}},
		{"Selection", func(r IndexEntry) string { return selection(r.Evidence) }},
		{"Source seen via ClusterIP", func(r IndexEntry) string { return dash(seen(r.Evidence, false)) }},
	}, byProber(runs, "Source seen via NodePort", func(e collect.Evidence, from ...string) string { return seen(e, true, from...) }),
		byProber(runs, "Translated at", translation),
		trackerRows(runs), []row{
			{"Connections answered", connections},
			{"Checks", func(r IndexEntry) string { return verdictLine(r.Checks) }},
			{"Kubernetes", func(r IndexEntry) string {
				return nodeValues(r, func(n collect.Node) string { return n.KubeletVersion })
			}},
			{"Kernel", func(r IndexEntry) string {
				return nodeValues(r, func(n collect.Node) string { return n.KernelRelease })
			}},
			{"Date", date},
		})
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

// byProber is one row, or two where a run shows pods and the outside something
// else.
func byProber(runs []IndexEntry, name string, value func(e collect.Evidence, from ...string) string) []row {
	of := func(from ...string) func(IndexEntry) string {
		return func(r IndexEntry) string { return dash(value(r.Evidence, from...)) }
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
	return []row{{"Translated packets tracked by", func(r IndexEntry) string { return packetTrackers(r.Evidence) }}}
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
		return cmp.Or(node, "–")
	case node == "":
		return service
	default:
		return fmt.Sprintf("%s via ClusterIP, %s via NodePort", service, node)
	}
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
		if v := value(n); v != "" {
			all = append(all, v)
		}
	}
	return codes(distinct(all))
}
