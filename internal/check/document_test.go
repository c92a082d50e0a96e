package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// entry is what docs/checks.md has of a check.
type entry struct {
	statement string
	// parts by their label: "Reads", "Turned by" …
	parts map[string]string
}

var (
	quoted = regexp.MustCompile(`"([^"]+)"`)
	named  = regexp.MustCompile("`([^`]+\\.(?:json|jsonl|txt|log))`")
)

// readEntries reads the page: a heading with the ID, a quotation, a list.
func readEntries(t *testing.T) map[string]entry {
	t.Helper()
	page, err := os.ReadFile("../../docs/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]entry{}
	for _, section := range strings.Split(string(page), "\n### `")[1:] {
		id, rest, _ := strings.Cut(section, "`\n")
		rest, _, _ = strings.Cut(rest, "\n## ")
		if _, twice := all[id]; twice {
			t.Errorf("%s has two entries", id)
		}
		e := entry{parts: map[string]string{}}
		for _, block := range strings.Split("\n"+rest, "\n- **")[1:] {
			label, text, _ := strings.Cut(block, ":**")
			e.parts[label] = strings.Join(strings.Fields(text), " ")
		}
		var statement []string
		for line := range strings.Lines(rest) {
			if text, ok := strings.CutPrefix(line, "> "); ok {
				statement = append(statement, strings.TrimSpace(text))
			}
		}
		e.statement = strings.Join(statement, " ")
		all[id] = e
	}
	return all
}

// TestDocumentedChecks: the page has every check, with its statement, and no other.
func TestDocumentedChecks(t *testing.T) {
	entries := readEntries(t)
	for _, d := range Definitions() {
		e, ok := entries[d.ID]
		if !ok {
			t.Errorf("docs/checks.md has no entry of %s", d.ID)
			continue
		}
		if e.statement != d.Statement {
			t.Errorf("docs/checks.md quotes %q of %s, which is %q", e.statement, d.ID, d.Statement)
		}
		for _, label := range []string{"Reads", "A pass shows", "It does not show", "Turned by"} {
			if e.parts[label] == "" {
				t.Errorf("docs/checks.md does not say of %s: %s", d.ID, label)
			}
		}
	}
	for id := range entries {
		if !slices.Contains(IDs(), id) {
			t.Errorf("docs/checks.md has an entry of %s, which is no check", id)
		}
	}
}

// TestDocumentedControls: each control that the page names is there and turns the
// check, and each file is one that some run has recorded.
func TestDocumentedControls(t *testing.T) {
	for id, e := range readEntries(t) {
		names := quoted.FindAllStringSubmatch(e.parts["Turned by"], -1)
		if len(names) == 0 {
			t.Errorf("docs/checks.md names no control of %s", id)
		}
		for _, name := range names {
			if !slices.ContainsFunc(controls(), func(c control) bool {
				return c.name == name[1] && slices.ContainsFunc(c.want, func(w turn) bool { return w.id == id })
			}) {
				t.Errorf("docs/checks.md names %q as a control of %s; none of that name turns it", name[1], id)
			}
		}
		for _, file := range named.FindAllStringSubmatch(e.parts["Reads"], -1) {
			pattern := "../../results/*/*/raw/" + strings.Replace(file[1], "NODE/", "worker2/", 1)
			if found, err := filepath.Glob(pattern); err != nil || len(found) == 0 {
				t.Errorf("docs/checks.md says that %s reads %s, which no result has (%v)", id, file[1], err)
			}
		}
	}
}
