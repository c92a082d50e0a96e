package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestQuotes: what docs/reading-a-result.md quotes of a run is in its files, as
// long as the result is of that run. Of a later one it is skipped, and the page
// has to be brought up to it.
func TestQuotes(t *testing.T) {
	const dir = repo + "/results/service-path/iptables"
	read := func(file string) string {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	page := read(repo + "/docs/reading-a-result.md")
	started := regexp.MustCompile("`(started: \\S+)`").FindStringSubmatch(page)
	if started == nil {
		t.Fatal("the page does not say which run it quotes")
	}
	if !strings.Contains(read(dir+"/run.yaml"), started[1]+"\n") {
		t.Skipf("results are of another run than docs/reading-a-result.md quotes (%s): quote this one", started[1])
	}
	quotes := 0
	for _, q := range regexp.MustCompile(`(?m)^(README\.md|raw/\S+?)(?::(\d+))?: (.*)$`).FindAllStringSubmatch(page, -1) {
		quotes++
		lines := strings.Split(read(filepath.Join(dir, q[1])), "\n")
		number, _ := strconv.Atoi(q[2])
		switch {
		case number > len(lines) || number > 0 && lines[number-1] != q[3]:
			t.Errorf("%s:%d is not %q", q[1], number, q[3])
		case number == 0 && !strings.Contains(strings.Join(lines, "\n"), q[3]+"\n"):
			t.Errorf("%s has no line %q", q[1], q[3])
		}
	}
	if quotes < 5 {
		t.Errorf("the page quotes %d lines, want some more", quotes)
	}
}
