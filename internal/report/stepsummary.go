package report

import (
	"cmp"
	"fmt"
	"strings"

	"service-dataplane/pkg/collect"
)

// StepSummary is a page for $GITHUB_STEP_SUMMARY: the verdict of each run, and of
// checks that did not pass what decided them.
func StepSummary(runs []IndexEntry) []byte {
	var d document
	var rows [][]string
	for _, r := range runs {
		verdict := collect.Overall(r.Checks)
		rows = append(rows, []string{
			code(r.Run.Scenario.Metadata.Name), escape(r.Run.Experiment.Metadata.Name),
			mark(verdict) + " " + string(verdict), verdictLine(r.Checks),
		})
	}
	d.table([]string{"Scenario", "Experiment", "Verdict", "Checks"}, rows)
	for _, r := range runs {
		for _, c := range r.Checks {
			if c.Verdict == collect.Fail || c.Verdict == collect.Inconclusive {
				writeFound(&d, r, c)
			}
		}
	}
	return []byte(strings.TrimRight(d.String(), "\n") + "\n")
}

// writeFound has no links: the page is not where the files are.
func writeFound(d *document, r IndexEntry, c collect.Check) {
	d.paragraph("**%s of %s on %s: %s.** %s", code(c.ID), code(r.Run.Experiment.Metadata.Name), code(r.Run.Scenario.Metadata.Name),
		escape(string(c.Verdict)), strings.TrimSpace("Want: "+escape(c.Statement)+" "+escape(reason(c))))
	var items []string
	for i, f := range c.Findings {
		if i == mostFindings {
			items = append(items, fmt.Sprintf("and %d more, in `evidence.json`", len(c.Findings)-i))
			break
		}
		item := escape(cmp.Or(f.Node, "cluster")) + ": " + escape(f.Text)
		if f.Ref.File != "" {
			item += " (" + code(rawPlace(r, f.Ref)) + ")"
		}
		items = append(items, item)
	}
	d.list(items)
}
