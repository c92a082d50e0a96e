package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"service-dataplane/pkg/collect"
)

// Walk shows on a terminal a block a hop, with the probability to get there at the
// left, and at the end where the connections go.
func Walk(w io.Writer, r collect.Walk) {
	var b strings.Builder
	Wrap(&b, "", "  ", fmt.Sprintf("%s, on %s, from %s", r.Trace.Packet, r.Node, r.Client))
	for _, t := range r.Passed {
		fmt.Fprintf(&b, "\n%s leaves it as it is\n", t.Encoding)
		printHops(&b, t.Hops)
	}
	fmt.Fprintf(&b, "\n%s\n", r.Trace.Encoding)
	printHops(&b, r.Trace.Hops)
	if r.Trace.Stopped != nil {
		printHops(&b, []collect.Hop{*r.Trace.Stopped})
		b.WriteString("\nThe walk stops here.\n")
	} else {
		b.WriteString("\n")
		printEnd(&b, r.Trace)
	}
	for _, note := range r.Notes {
		b.WriteString("\n")
		Wrap(&b, "", "", note)
	}
	io.WriteString(w, b.String())
}

func printHops(b *strings.Builder, hops []collect.Hop) {
	for i, h := range hops {
		if i == 0 {
			b.WriteString("\n")
		}
		first := fmt.Sprintf("%-6s", h.Probability) + strings.Repeat("  ", h.Depth)
		rest := strings.Repeat(" ", 6+2*h.Depth)
		at := h.At()
		if room := columns - utf8.RuneCountInString(first+h.Where+at); room > 1 {
			fmt.Fprintf(b, "%s%s%s%s\n", first, h.Where, strings.Repeat(" ", room), at)
		} else {
			Wrap(b, first, rest, h.Where)
			Wrap(b, rest, rest, at)
		}
		Wrap(b, rest, rest, shorten(h.Line.Text))
		if h.Note != "" {
			Wrap(b, rest+"→ ", rest+"  ", h.Note)
		}
	}
}

// shorten leaves of a long line its two ends, where the match and the target are.
func shorten(text string) string {
	const most = 360
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most/2]) + " … " + string(runes[len(runes)-most/2:])
}

// printEnd writes the answers and the distribution.
func printEnd(b *strings.Builder, t collect.Trace) {
	if len(t.Backends) > 0 {
		printAnswer(b, "marked for masquerade: ", t.Marked)
		printAnswer(b, "source address changed: ", t.Masqueraded)
		b.WriteString("\n")
	}
	switch t.Selection {
	case "":
		b.WriteString("of new connections:\n")
	case collect.SelectSourceHash, collect.SelectMaglev:
		fmt.Fprintf(b, "of new connections, %s, so that a client has one of them:\n", t.Selection)
	default:
		fmt.Fprintf(b, "of new connections, %s:\n", t.Selection)
	}
	width := 0
	for _, backend := range t.Backends {
		width = max(width, utf8.RuneCountInString(backend.Name))
	}
	for _, backend := range t.Backends {
		fmt.Fprintf(b, "%-6s%-*s  %s\n", backend.Probability, width, backend.Name, backend.Backend)
	}
	for _, e := range t.Endings {
		Wrap(b, fmt.Sprintf("%-6s", e.Probability), strings.Repeat(" ", 6), ending(e))
	}
}

func ending(e collect.Ending) string {
	text := string(e.Fate)
	if e.By.File != "" {
		text += " by " + e.By.At()
	}
	if e.By.Note != "" {
		text += ": " + e.By.Note
	}
	if e.Fate == collect.Rejected || e.Fate == collect.Dropped {
		text = "no backend, " + text
	}
	return text
}

func printAnswer(b *strings.Builder, question string, a collect.Answer) {
	text := string(a.Decision)
	if a.Reason != "" {
		text += ", " + a.Reason
	}
	if a.By == nil {
		Wrap(b, question, "  ", text)
		return
	}
	Wrap(b, question, "  ", text+": "+a.By.At())
	Wrap(b, "  ", "  ", shorten(a.By.Line.Text))
}
