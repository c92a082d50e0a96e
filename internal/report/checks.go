package report

import (
	"cmp"
	"fmt"
	"strings"

	"service-dataplane/pkg/collect"
)

// Summary counts the verdicts: "13 passed, 0 failed, 0 skipped, 0 inconclusive".
func Summary(checks []collect.Check) string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped, %d inconclusive",
		len(with(checks, collect.Pass)), len(with(checks, collect.Fail)),
		len(with(checks, collect.Skip)), len(with(checks, collect.Inconclusive)))
}

// with are the IDs of the checks of one verdict.
func with(checks []collect.Check, v collect.Verdict) []string {
	var ids []string
	for _, c := range checks {
		if c.Verdict == v {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// verdictLine names what did not pass.
func verdictLine(checks []collect.Check) string {
	if passed := len(with(checks, collect.Pass)); passed == len(checks) && passed > 0 {
		return fmt.Sprintf("all %s passed", plural(passed, "check"))
	}
	parts := []string{fmt.Sprintf("%d of %s passed", len(with(checks, collect.Pass)), plural(len(checks), "check"))}
	for _, v := range []struct {
		verdict collect.Verdict
		word    string
	}{{collect.Fail, "failed"}, {collect.Inconclusive, "inconclusive"}, {collect.Skip, "skipped"}} {
		if ids := with(checks, v.verdict); len(ids) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", len(ids), v.word, codes(ids)))
		}
	}
	return strings.Join(parts, ", ")
}

func codes(all []string) string {
	if len(all) == 0 {
		return "–"
	}
	quoted := make([]string, len(all))
	for i, text := range all {
		quoted[i] = code(text)
	}
	return strings.Join(quoted, ", ")
}

// mostFindings shown of one check; evidence.json has them all.
const mostFindings = 10

// writeChecks is a section of a page.
func writeChecks(d *document, heading string, checks []collect.Check) {
	d.heading(2, "%s", heading)
	var rows [][]string
	for _, c := range checks {
		verdict := escape(string(c.Verdict))
		if c.Verdict == collect.Fail || c.Verdict == collect.Inconclusive {
			verdict = "**" + verdict + "**"
		}
		rows = append(rows, []string{code(c.ID), escape(c.Statement), verdict, places(c.Findings)})
	}
	d.table([]string{"Check", "Statement", "Verdict", "Where"}, rows)
	for _, c := range checks {
		why := reason(c)
		if c.Verdict == collect.Pass && why == "" {
			continue
		}
		d.paragraph("%s: %s", code(c.ID), strings.TrimSpace(escape(string(c.Verdict))+". "+escape(why)))
		if c.Verdict != collect.Pass {
			d.list(findings(c.Findings))
		}
	}
}

// reason is a check's, unless its findings say the same and where.
func reason(c collect.Check) string {
	if c.Verdict != collect.Pass && len(c.Findings) > 0 && strings.Contains(c.Reason, c.Findings[0].Text) {
		return ""
	}
	return c.Reason
}

// findings are what decided a check that did not pass.
func findings(all []collect.Finding) []string {
	var items []string
	for i, f := range all {
		if i == mostFindings {
			return append(items, fmt.Sprintf("and %d more, in `evidence.json`", len(all)-i))
		}
		item := fmt.Sprintf("%s: %s", escape(cmp.Or(f.Node, "cluster")), escape(f.Text))
		if f.Ref.File != "" {
			item += fmt.Sprintf(" (%s)", link(f.Ref))
		}
		items = append(items, item)
	}
	return items
}

// places are the files of findings, each once; the first few suffice.
func places(findings []collect.Finding) string {
	const most = 3
	var links []string
	seen := map[string]bool{}
	for _, f := range findings {
		if f.Ref.File != "" && !seen[place(f.Ref)] {
			seen[place(f.Ref)] = true
			links = append(links, link(f.Ref))
		}
	}
	switch {
	case len(links) == 0:
		return "–"
	case len(links) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(links[:most], ", "), len(links)-most)
	}
	return strings.Join(links, ", ")
}
