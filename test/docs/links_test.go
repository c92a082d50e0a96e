package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// repo is the root of the tree, from this package's directory.
const repo = "../.."

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	span    = regexp.MustCompile("`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// anchor is what GitHub makes of a heading.
func anchor(text string) string {
	text = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), " ", "-")
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// deadLinks of a page that stands in dir. Links to other sites are not followed.
func deadLinks(page, dir string) []string {
	var dead []string
	for _, match := range link.FindAllStringSubmatch(span.ReplaceAllString(fence.ReplaceAllString(page, ""), ""), -1) {
		target, fragment, _ := strings.Cut(match[1], "#")
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		text := page
		if target != "" {
			file := filepath.Join(dir, target)
			info, err := os.Stat(file)
			if err != nil {
				dead = append(dead, fmt.Sprintf("%s: %v", match[1], err))
				continue
			}
			text = ""
			if !info.IsDir() {
				raw, _ := os.ReadFile(file)
				text = string(raw)
			}
		}
		if fragment != "" && !slices.ContainsFunc(heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1), func(h []string) bool {
			return anchor(h[1]) == fragment
		}) {
			dead = append(dead, match[1]+": there is no such heading")
		}
	}
	return dead
}

// pages are all of the tree that nothing has generated, and that are no test data.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(repo, func(file string, entry os.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (file == filepath.Join(repo, "results") || slices.Contains([]string{".git", ".work", "bin", "testdata"}, name)):
			return filepath.SkipDir
		case filepath.Ext(name) == ".md":
			all = append(all, file)
		}
		return nil
	})
	if err != nil || len(all) < 5 {
		t.Fatalf("only %d pages: %v", len(all), err)
	}
	return all
}

func TestLinks(t *testing.T) {
	for _, file := range pages(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, dead := range deadLinks(string(raw), filepath.Dir(file)) {
			t.Errorf("%s: %s", file, dead)
		}
	}
}

func TestDeadLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there.md"), []byte("# `kernel.table` and more\n```\n# no heading\n```\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ page, want string }{
		{"[a](there.md) [b](there.md#kerneltable-and-more) [c](https://example.org/x)", ""},
		{"# One\n[a](#one)", ""},
		{"`[a](nowhere.md)`\n```\n[a](nowhere.md)\n```\n", ""},
		{"[a](nowhere.md)", "no such file"},
		{"[a](there.md#other)", "there is no such heading"},
		{"[a](there.md#no-heading)", "there is no such heading"},
		{"# One\n[a](#two)", "there is no such heading"},
	}
	for _, test := range tests {
		got := strings.Join(deadLinks(test.page, dir), "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%q: found %q, want %q", test.page, got, test.want)
		}
	}
}
