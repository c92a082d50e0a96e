package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"service-dataplane/internal/results"
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

func writeExperiment(d *document, name string, runs []IndexEntry) {
	d.heading(2, "%s: %s", code(name), escape(runs[0].Run.Experiment.Metadata.Title))
	if runs[0].Run.Experiment.Spec.Refusal != nil {
		writeRefusals(d, runs)
		return
	}
	head, verdicts := []string{""}, []string{"Checks"}
	for _, r := range runs {
		head = append(head, fmt.Sprintf("[%s](%s)", escape(Name(r)), escapePath(path.Join(r.Dir, "README.md"))))
		verdicts = append(verdicts, verdictLine(r.Checks))
	}
	var rows [][]string
	for _, r := range Shown(runs) {
		rows = append(rows, r.markdown())
	}
	rows = append(rows, verdicts)
	for _, r := range Recorded(runs) {
		rows = append(rows, r.markdown())
	}
	d.table(head, rows)
}

func (r Row) markdown() []string {
	line := []string{r.Name}
	for _, cell := range r.Cells {
		if r.Verbatim {
			line = append(line, codes(cell))
		} else {
			line = append(line, dash(strings.Join(cell, "; ")))
		}
	}
	return line
}
