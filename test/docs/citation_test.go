package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// citation is what CITATION.cff may have here, of Citation File Format 1.2.0.
type citation struct {
	Version string `yaml:"cff-version"`
	Message string `yaml:"message"`
	Title   string `yaml:"title"`
	Type    string `yaml:"type"`
	Authors []struct {
		Name string `yaml:"name"`
	} `yaml:"authors"`
	Abstract string   `yaml:"abstract"`
	Keywords []string `yaml:"keywords"`
}

var (
	bibtex   = regexp.MustCompile("(?s)```bibtex\n@software\\{\\w+,\n(.*?)\n\\}\n```")
	bibField = regexp.MustCompile(`(?m)^  (\w+) += \{(.*)\},?$`)
)

// disagreements of the file with the page that has it as BibTeX.
func disagreements(cff, page []byte) []string {
	var c citation
	decoder := yaml.NewDecoder(bytes.NewReader(cff))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil {
		return []string{"CITATION.cff: " + err.Error()}
	}
	var all []string
	if c.Version != "1.2.0" || c.Type != "software" || c.Message == "" || c.Title == "" || c.Abstract == "" || len(c.Keywords) == 0 || len(c.Authors) != 1 {
		all = append(all, fmt.Sprintf("CITATION.cff lacks a field, or has another value: %+v", c))
		return all
	}
	entry := bibtex.FindSubmatch(page)
	if entry == nil {
		return append(all, "docs/citing.md has no entry in BibTeX")
	}
	fields := map[string]string{}
	for _, f := range bibField.FindAllStringSubmatch(string(entry[1]), -1) {
		fields[f[1]] = f[2]
	}
	// A second pair of braces: an organisation has no first name.
	for name, want := range map[string]string{"title": c.Title, "author": "{" + c.Authors[0].Name + "}"} {
		if fields[name] != want {
			all = append(all, fmt.Sprintf("%s is %q in BibTeX, want %q", name, fields[name], want))
		}
	}
	return all
}

func TestCitation(t *testing.T) {
	cff, err := os.ReadFile(filepath.Join(repo, "CITATION.cff"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(repo, "docs", "citing.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range disagreements(cff, page) {
		t.Error(d)
	}
	tests := []struct{ old, new, want string }{
		{"title: ", "titel: ", "field titel not found"},
		{"cff-version: 1.2.0", "cff-version: 1.1.0", "has another value"},
		{"type: software", "type: dataset", "has another value"},
		{`title: "`, `title: "The `, "title is"},
		{"authors\"", "people\"", "author is"},
		{"message: ", "message: [", "yaml: "},
	}
	for _, test := range tests {
		changed := bytes.Replace(cff, []byte(test.old), []byte(test.new), 1)
		if got := strings.Join(disagreements(changed, page), "\n"); !strings.Contains(got, test.want) {
			t.Errorf("%s for %s: found %q, want %q", test.new, test.old, got, test.want)
		}
	}
	if got := disagreements(cff, bytes.ReplaceAll(page, []byte("bibtex"), []byte("text"))); len(got) == 0 {
		t.Error("no BibTeX, and nothing is found")
	}
}
