package check

import (
	"fmt"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

// mostNotRecorded files are named in a reason.
const mostNotRecorded = 3

// NotRecorded is for evidence that was recorded elsewhere, by other commands
// than a run's: a check that is undecided only because files were never
// collected is one that nobody could make, and skipped. What was collected and
// does not decide stays undecided.
func NotRecorded(checks []collect.Check, problems []collect.Problem) []collect.Check {
	never := map[string]bool{}
	for _, p := range problems {
		never[p.File] = p.Text == evidence.NeverCollected
	}
	all := slices.Clone(checks)
	for i, c := range all {
		if c.Verdict != collect.Inconclusive || len(c.Findings) == 0 {
			continue
		}
		var files []string
		for _, f := range c.Findings {
			if !never[f.Ref.File] || f.Text != evidence.NeverCollected {
				files = nil
				break
			}
			if !slices.Contains(files, f.Ref.File) {
				files = append(files, f.Ref.File)
			}
		}
		if files == nil {
			continue
		}
		all[i].Verdict, all[i].Findings = collect.Skip, nil
		all[i].Reason = "not recorded: " + strings.Join(files[:min(len(files), mostNotRecorded)], ", ")
		if more := len(files) - mostNotRecorded; more > 0 {
			all[i].Reason += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return all
}
