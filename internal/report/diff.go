package report

import (
	"fmt"
	"io"
	"strings"

	"service-dataplane/internal/diff"
)

// DiffTable shows what differs on a terminal, a line each. Where nothing does it
// writes nothing.
func DiffTable(w io.Writer, r diff.Report) {
	var b strings.Builder
	for _, d := range r.Differences {
		where := r.Label(d.Name)
		if nodes := d.Where(); nodes != "" {
			where += " " + nodes
		}
		if d.Subject != "" {
			where += ":"
		}
		Wrap(&b, diffMark(d.Kind)+" ", "    ", where+" "+d.Statement())
	}
	if len(r.Provenance) > 0 {
		b.WriteString("provenance:\n")
	}
	for _, p := range r.Provenance {
		Wrap(&b, "  ", "    ", runs(r, p)+": "+p.Text)
	}
	for _, note := range r.Notes {
		Wrap(&b, "note: ", "    ", note)
	}
	io.WriteString(w, b.String())
}

func diffMark(kind diff.Kind) string {
	switch kind {
	case diff.Regression:
		return "✗"
	case diff.Improvement:
		return "✓"
	}
	return "–"
}

// runs of which a circumstance has changed.
func runs(r diff.Report, p diff.Provenance) string {
	if len(p.Runs) == len(r.Compared) && len(p.Runs) > 1 {
		return "every run"
	}
	labels := make([]string, len(p.Runs))
	for i, name := range p.Runs {
		labels[i] = r.Label(name)
	}
	return strings.Join(labels, ", ")
}

// DiffMarkdown is what differs as a page, for a pull request or a step summary.
func DiffMarkdown(w io.Writer, r diff.Report) {
	var d document
	d.paragraph("**%s**", r.Summary())
	var rows [][]string
	for _, one := range r.Differences {
		rows = append(rows, []string{diffMark(one.Kind) + " " + string(one.Kind), code(r.Label(one.Name)), dash(one.Where()), escape(one.Statement())})
	}
	d.table([]string{"", "Scenario", "Node", "Difference"}, rows)
	rows = nil
	for _, p := range r.Provenance {
		rows = append(rows, []string{escape(runs(r, p)), escape(p.Text)})
	}
	d.table([]string{"Runs", "Provenance"}, rows)
	for _, note := range r.Notes {
		d.paragraph("%s", escape(note))
	}
	fmt.Fprintln(w, strings.TrimRight(d.String(), "\n"))
}
