package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"service-dataplane/pkg/collect"
)

// columns of a terminal.
const columns = 80

// Table shows the checks on a terminal: a line each, and below each one that
// did not pass what decided it, where, and what to do about it. Their number
// comes last.
func Table(w io.Writer, checks []collect.Check) {
	idWidth, verdictWidth := 0, 0
	for _, c := range checks {
		idWidth = max(idWidth, utf8.RuneCountInString(c.ID))
		verdictWidth = max(verdictWidth, utf8.RuneCountInString(string(c.Verdict)))
	}
	var b strings.Builder
	for _, c := range checks {
		line := fmt.Sprintf("%s %-*s  %-*s  %s", mark(c.Verdict), idWidth, printable(c.ID), verdictWidth, c.Verdict, printable(c.Statement))
		b.WriteString(cut(line, columns) + "\n")
		if c.Verdict != collect.Pass {
			explain(&b, c)
		}
	}
	fmt.Fprintf(w, "%s%s\n", b.String(), Summary(checks))
}

func mark(v collect.Verdict) string {
	switch v {
	case collect.Pass:
		return "✓"
	case collect.Fail:
		return "✗"
	case collect.Skip:
		return "–"
	}
	return "?"
}

func explain(b *strings.Builder, c collect.Check) {
	Wrap(b, "    ", "    ", reason(c))
	for i, f := range c.Findings {
		if i == mostFindings {
			Wrap(b, "    ", "    ", fmt.Sprintf("… and %d more, in evidence.json", len(c.Findings)-i))
			break
		}
		text := f.Text
		if node := f.Node; node != "" && !strings.HasPrefix(f.Ref.File, node+"/") {
			text = node + ": " + text
		}
		if f.Ref.File != "" {
			text = fmt.Sprintf("raw/%s: %s", place(f.Ref), text)
		}
		Wrap(b, "    ", "      ", text)
	}
	if next := cure(c); next != "" {
		Wrap(b, "    → ", "      ", next)
	}
}

// cut ends a text that is too long with an ellipsis.
func cut(text string, width int) string {
	runes := []rune(strings.TrimRight(text, " "))
	if len(runes) <= width {
		return string(runes)
	}
	return strings.TrimRight(string(runes[:width-1]), " ") + "…"
}

// Wrap writes a text broken between words, and inside those that fit no line.
// The first line begins with first and the others with rest.
func Wrap(w io.StringWriter, first, rest, text string) {
	line, empty := first, true
	flush := func() {
		w.WriteString(line + "\n")
		line, empty = rest, true
	}
	for _, word := range strings.Fields(printable(text)) {
		for {
			room := columns - utf8.RuneCountInString(line)
			if !empty {
				room--
			}
			runes := []rune(word)
			if len(runes) <= room {
				break
			}
			if !empty {
				flush()
				continue
			}
			line += string(runes[:room])
			word = string(runes[room:])
			flush()
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	if !empty {
		flush()
	}
}
