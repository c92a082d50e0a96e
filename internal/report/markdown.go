package report

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"service-dataplane/pkg/collect"
)

// document gathers a Markdown page. Cells and paragraphs are Markdown already:
// what came from a cluster gets there through escape, code or fence only.
type document struct{ strings.Builder }

func (d *document) heading(level int, format string, args ...any) {
	fmt.Fprintf(d, "%s %s\n\n", strings.Repeat("#", level), fmt.Sprintf(format, args...))
}

func (d *document) paragraph(format string, args ...any) {
	fmt.Fprintf(d, "%s\n\n", fmt.Sprintf(format, args...))
}

func (d *document) list(items []string) {
	if len(items) == 0 {
		return
	}
	for _, item := range items {
		fmt.Fprintf(d, "- %s\n", item)
	}
	d.WriteString("\n")
}

// table writes nothing where there are no rows.
func (d *document) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	row := func(cells []string) { fmt.Fprintf(d, "| %s |\n", strings.Join(cells, " | ")) }
	row(head)
	d.WriteString(strings.Repeat("| --- ", len(head)) + "|\n")
	for _, cells := range rows {
		row(cells)
	}
	d.WriteString("\n")
}

// fence quotes lines as they are, between fences none of them can close.
func (d *document) fence(lines []string) { d.fenceOf("text", lines) }

// quotes is a fence, or nothing where there is nothing to quote.
func (d *document) quotes(lines []string) {
	if len(lines) > 0 {
		d.fence(lines)
	}
}

// fenceOf is a fence of a language, for its colours.
func (d *document) fenceOf(language string, lines []string) {
	mark := "```"
	for _, line := range lines {
		for strings.Contains(line, mark) {
			mark += "`"
		}
	}
	fmt.Fprintf(d, "%s%s\n", mark, language)
	for _, line := range lines {
		fmt.Fprintln(d, printable(line))
	}
	fmt.Fprintf(d, "%s\n\n", mark)
}

// folded shows what write adds behind a line to click on, or openly below it.
// The title is Markdown and plain text at once.
func (d *document) folded(fold bool, title string, write func()) {
	if !fold {
		d.paragraph("%s:", title)
		write()
		return
	}
	d.paragraph("<details>\n<summary>%s</summary>", title)
	write()
	d.paragraph("</details>")
}

// escape makes any text safe in a paragraph or a table's cell: it can begin no
// cell, line, element, link, code or emphasis.
func escape(text string) string {
	var b strings.Builder
	for _, r := range printable(text) {
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '|':
			b.WriteString("&#124;")
		case '`':
			b.WriteString("&#96;")
		case '\\', '*', '_', '[', ']', '~', '$':
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// code is text as code. Backticks cannot hold every text: a pipe ends the cell
// and a backtick the code, so that such a text is escaped in an element.
func code(text string) string {
	switch {
	case text == "":
		return "(empty)"
	case strings.ContainsAny(text, "`|<>") || text != strings.TrimSpace(printable(text)):
		return "<code>" + escape(text) + "</code>"
	}
	return "`" + text + "`"
}

// printable shows line breaks and tabs as spaces and whatever else would move
// a cursor or the reading direction as U+FFFD.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return utf8.RuneError
		}
		return r
	}, text)
}

// link leads to the place of a Ref, seen from the result directory.
func link(ref collect.Ref) string {
	if ref.File == "" {
		return "–"
	}
	return fmt.Sprintf("[%s](%s)", code(place(ref)), target(ref))
}

func target(ref collect.Ref) string {
	to := "raw/" + escapePath(ref.File)
	if n := ref.Line.Number; n > 0 {
		to += fmt.Sprintf("#L%d", n)
	}
	return to
}

func escapePath(file string) string {
	segments := strings.Split(file, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}

// place is a Ref as an editor reads it: file:line.
func place(ref collect.Ref) string {
	if ref.Line.Number == 0 {
		return ref.File
	}
	return fmt.Sprintf("%s:%d", ref.File, ref.Line.Number)
}

// plural counts things: "1 node", "3 nodes".
func plural(n int, thing string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
