package report

import (
	"regexp"
	"time"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// writeImported says of evidence that was recorded elsewhere what it is, before
// anything that follows from it.
func writeImported(d *document, run results.Run) {
	i := run.Imported
	if i == nil {
		return
	}
	d.paragraph("> **Recorded elsewhere.** No run of this program made this evidence. It was recorded on %s on %s, and imported by the map %s, which says what each file is. How the commands ended and how long they took is not known. A check that needs a file which was not recorded is skipped.",
		i.Recorded.UTC().Format("2006-01-02 at 15:04:05 UTC"), escape(i.On), code(i.Map))
}

// importedRows are the provenance of evidence that was recorded elsewhere.
func importedRows(i *results.Imported) [][]string {
	return [][]string{
		{"Recorded", escape(i.Recorded.UTC().Format("2006-01-02 15:04:05 UTC"))},
		{"On", escape(i.On)},
		{"Map", code(i.Map)},
		{"SHA-256 of the map", code(i.SHA256)},
	}
}

var rawLink = regexp.MustCompile(`\[([^\]\n]*)\]\(raw/([^)#\n]+)[^)\n]*\)`)

// withoutDeadLinks leaves the text alone of links to files that were not
// recorded.
func withoutDeadLinks(run results.Run, page string, problems []collect.Problem) string {
	if run.Imported == nil {
		return page
	}
	gone := map[string]bool{}
	for _, p := range problems {
		gone[escapePath(p.File)] = p.Text == evidence.NeverCollected
	}
	return rawLink.ReplaceAllStringFunc(page, func(link string) string {
		if parts := rawLink.FindStringSubmatch(link); gone[parts[2]] {
			return parts[1]
		}
		return link
	})
}

// Name is a run's in the table of all.
func Name(r IndexEntry) string {
	if r.Run.Imported != nil {
		return r.Evidence.Scenario + ", recorded"
	}
	return r.Evidence.Scenario
}

// date is the day of RecordedAt.
func date(r IndexEntry) string { return RecordedAt(r).UTC().Format("2006-01-02") }

// RecordedAt is when a run's evidence was recorded.
func RecordedAt(r IndexEntry) time.Time {
	if i := r.Run.Imported; i != nil {
		return i.Recorded
	}
	return r.Run.Started
}
