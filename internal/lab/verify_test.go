package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// committed are the results of this tree.
const committed = "../../results"

// copied is a copy of results that a test may change.
type copied struct {
	*testing.T
	dir string
}

// copyOf copies the committed results, or one of them, with everything derived
// anew: TestVerifyCommitted alone says whether they are up to date.
func copyOf(t *testing.T, below ...string) *copied {
	t.Helper()
	c := &copied{t, filepath.Join(t.TempDir(), "results")}
	if err := os.CopyFS(c.dir, os.DirFS(filepath.Join(append([]string{committed}, below...)...))); err != nil {
		t.Fatal(err)
	}
	dirs, err := results.Find(c.dir)
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		(&copied{t, dir}).derive()
	}
	if len(below) == 0 {
		index, err := Index(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range index {
			c.write(name, content)
		}
	}
	return c
}

// replace changes the first match of a pattern in a file.
func (c *copied) replace(file, pattern, with string) {
	c.Helper()
	old := c.read(file)
	re := regexp.MustCompile("(?m)" + pattern)
	match := re.FindSubmatchIndex(old)
	if match == nil {
		c.Fatalf("%s has no match of %s", file, pattern)
	}
	changed := re.Expand(slices.Clone(old[:match[0]]), []byte(with), old, match)
	c.write(file, append(changed, old[match[1]:]...))
}

func (c *copied) read(file string) []byte {
	c.Helper()
	content, err := os.ReadFile(filepath.Join(c.dir, file))
	if err != nil {
		c.Fatal(err)
	}
	return content
}

func (c *copied) write(file string, content []byte) {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, file), content, 0o644); err != nil {
		c.Fatal(err)
	}
}

func (c *copied) remove(file string) {
	c.Helper()
	if err := os.Remove(filepath.Join(c.dir, file)); err != nil {
		c.Fatal(err)
	}
}

// derive writes again what follows from raw/ and run.yaml, as someone would
// who covers a change up.
func (c *copied) derive() {
	c.Helper()
	run, err := results.ReadRun(c.dir)
	if err != nil {
		c.Fatal(err)
	}
	derived, err := Derive(filepath.Join(c.dir, results.RawDir), run)
	if err != nil {
		c.Fatal(err)
	}
	for name, content := range derived.Files {
		c.write(name, content)
	}
}

// TestVerifyCommitted: every run that is in the tree passes all its checks and
// its files follow from the raw ones.
func TestVerifyCommitted(t *testing.T) {
	all, err := Verify(committed)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range all {
		names = append(names, filepath.Base(v.Dir))
		if len(v.Checks) == 0 || v.Failed() {
			t.Errorf("%s: %s by %d checks, %+v", v.Dir, collect.Overall(v.Checks), len(v.Checks), v.Differences)
		}
	}
	if !slices.Contains(names, "iptables") || !slices.Contains(names, "nftables") {
		t.Errorf("verified %q", names)
	}
}

// TestVerifyPaths: a directory is the same however it is written.
func TestVerifyPaths(t *testing.T) {
	c := copyOf(t)
	tests := []struct{ from, dir, want string }{
		{"", "service-path/nftables", "service-path/nftables"},
		{"", "service-path/nftables/", "service-path/nftables"},
		{"", "./service-path//nftables", "service-path/nftables"},
		{"", "service-path/nftables/raw/..", "service-path/nftables"},
		{"service-path/nftables", ".", "."},
		{"service-path/iptables", "../nftables/", "../nftables"},
	}
	for _, test := range tests {
		t.Chdir(filepath.Join(c.dir, test.from))
		all, err := Verify(test.dir)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %d directories, %v", test.dir, len(all), err)
		}
		if all[0].Dir != test.want || all[0].Failed() {
			t.Errorf("%s: %s, %+v", test.dir, all[0].Dir, all[0].Differences)
		}
	}
}

// turned is a check that does not pass any more and where it must point.
type turned struct {
	id      string
	verdict collect.Verdict
	node    string
	file    string
}

// TestVerifyNegativeControls changes one thing in a good result directory and
// lists everything that Verify must say about it, and no more.
func TestVerifyNegativeControls(t *testing.T) {
	const (
		ruleset = "raw/worker/nft-ruleset.json"
		save    = "raw/worker2/iptables-nft-save.txt"
	)
	// On worker, cluster DNS keeps one of two backends.
	dropBackend := func(c *copied) {
		c.replace(ruleset, `(kube-dns/udp/dns", "handle": \d+, "expr": \[\{"vmap": .*?"mod": )2(.*?"set": \[\[0, \{[^\]]*\}\]), \[1, \{[^\]]*\}\]`, "${1}1$2")
	}
	fewer := []turned{{"kernel.table", collect.Fail, "worker", "worker/nft-ruleset.json"}}
	tests := []struct {
		name     string
		scenario string
		change   func(c *copied)
		checks   []turned
		// differences as file: part of the text.
		differences []string
	}{
		{"untouched", "nftables", func(*copied) {}, nil, nil},

		// raw/
		{"a backend deleted on one node", "nftables", dropBackend, fewer, []string{
			ruleset + ": changed since it was recorded",
			"README.md: line", "evidence.json: line", "normalized.json: line",
			"evidence.json: records check kernel.table as pass, the raw files lead to fail",
		}},
		{"an element of a verdict map deleted", "nftables", func(c *copied) {
			c.replace(ruleset, `(echo-server/tcp/http", "handle": \d+, "expr": \[\{"vmap": .*?"set": \[\[0, \{[^\]]*\}\]), \[1, \{[^\]]*\}\]`, "$1")
		}, []turned{
			{"kernel.table", collect.Fail, "worker", "worker/nft-ruleset.json"},
			{"kernel.unparsed", collect.Fail, "worker", "worker/nft-ruleset.json"},
		}, []string{
			ruleset + ": changed since it was recorded",
			"README.md: line", "evidence.json: line", "normalized.json: line",
			"evidence.json: records check kernel.table as pass, the raw files lead to fail",
			"evidence.json: records check kernel.unparsed as pass, the raw files lead to fail",
		}},
		{"a backend deleted and everything derived again", "nftables", func(c *copied) { dropBackend(c); c.derive() }, fewer, []string{
			ruleset + ": changed since it was recorded",
		}},
		{"a backend deleted, recorded and derived again", "nftables", func(c *copied) { dropBackend(c); c.record(ruleset); c.derive() }, fewer, nil},
		{"a byte that means nothing", "iptables", func(c *copied) { c.replace(save, `\z`, "# \n") }, nil, []string{
			save + ": changed since it was recorded",
		}},
		{"a raw file missing", "iptables", func(c *copied) { c.remove(save) }, []turned{
			{"mode.sole", collect.Inconclusive, "worker2", "worker2/iptables-nft-save.txt"},
			{"traffic.selection", collect.Inconclusive, "worker2", "worker2/iptables-nft-save.txt"},
			{"traffic.traced", collect.Inconclusive, "worker2", "worker2/iptables-nft-save.txt"},
			{"kernel.table", collect.Inconclusive, "worker2", "worker2/iptables-nft-save.txt"},
			{"kernel.unparsed", collect.Inconclusive, "worker2", "worker2/iptables-nft-save.txt"},
			{"collect.complete", collect.Inconclusive, "worker2", "worker2/iptables-nft-save.txt"},
		}, []string{
			save + ": missing",
			"README.md: line", "evidence.json: line", "normalized.json: line",
			"evidence.json: records check mode.sole as pass, the raw files lead to inconclusive",
			"evidence.json: records check traffic.selection as pass",
			"evidence.json: records check traffic.traced as pass",
			"evidence.json: records check kernel.table as pass",
			"evidence.json: records check kernel.unparsed as pass",
			"evidence.json: records check collect.complete as pass",
		}},
		{"a raw file that nobody recorded", "iptables", func(c *copied) { c.write("raw/worker/extra.txt", nil) }, nil, []string{
			"raw/worker/extra.txt: not in index.json",
		}},

		// run.yaml
		{"another selection expected", "nftables", func(c *copied) { c.replace("run.yaml", `selection: random`, "selection: round-robin") }, []turned{
			{"traffic.selection", collect.Fail, "", ""},
			{"kernel.table", collect.Fail, "worker", "worker/nft-ruleset.json"},
		}, []string{
			"README.md: line", "evidence.json: line", "normalized.json: line",
			"evidence.json: records check traffic.selection as pass",
			"evidence.json: records check kernel.table as pass",
		}},
		{"another mode expected", "nftables", func(c *copied) { c.replace("run.yaml", `^(    expect:\n      mode:) nftables`, "$1 iptables") }, []turned{
			{"mode.declared", collect.Fail, "cluster", "cluster/kube-proxy-configmap.json"},
			{"mode.actual", collect.Fail, "worker", "worker/proxyMode.txt"},
		}, []string{
			"README.md: line", "evidence.json: line", "normalized.json: line",
			"evidence.json: records check mode.declared as pass",
			"evidence.json: records check mode.actual as pass",
		}},
		{"another host", "iptables", func(c *copied) { c.replace("run.yaml", `^  os: .*`, "  os: Plan 9") }, nil, []string{"README.md: line"}},
		{"a check left out", "iptables", func(c *copied) { c.replace("run.yaml", `^ +- kernel.table\n`, "") }, nil, []string{
			"README.md: line", "evidence.json: line", "normalized.json: line",
		}},

		// what is derived
		{"normalized evidence edited", "nftables", func(c *copied) { c.replace("normalized.json", `"nftables"`, `"ipvs"`) }, nil, []string{
			"normalized.json: line",
		}},
		{"README edited", "nftables", func(c *copied) { c.replace("README.md", `\z`, "All is well.\n") }, nil, []string{
			`README.md: line`,
		}},
		{"README missing", "nftables", func(c *copied) { c.remove("README.md") }, nil, []string{"README.md: is missing"}},
		{"a verdict edited", "iptables", func(c *copied) {
			c.replace("evidence.json", `("id": "kernel.table",\n.*\n\s*"verdict": )"pass"`, `$1"fail"`)
		}, nil, []string{
			"evidence.json: line",
			"evidence.json: records check kernel.table as fail, the raw files lead to pass",
		}},
		{"evidence cut off", "iptables", func(c *copied) { c.write("evidence.json", c.read("evidence.json")[:1000]) }, nil, []string{
			"evidence.json: line", "evidence.json: unexpected end of JSON input",
		}},
		{"evidence missing", "iptables", func(c *copied) { c.remove("evidence.json") }, nil, []string{"evidence.json: is missing"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			c := copyOf(t, "service-path", test.scenario)
			test.change(c)
			all, err := Verify(c.dir)
			if err != nil || len(all) != 1 {
				t.Fatal(err, len(all))
			}
			v := all[0]
			if want := len(test.checks)+len(test.differences) > 0; v.Failed() != want {
				t.Errorf("failed is %v", v.Failed())
			}
			wanted := map[string]turned{}
			for _, w := range test.checks {
				wanted[w.id] = w
			}
			for _, check := range v.Checks {
				w, ok := wanted[check.ID]
				delete(wanted, check.ID)
				switch {
				case !ok && check.Verdict == collect.Pass:
				case check.Verdict != w.verdict:
					t.Errorf("%s is %s: %s", check.ID, check.Verdict, check.Reason)
				case w.file != "" && !slices.ContainsFunc(check.Findings, func(f collect.Finding) bool { return f.Node == w.node && f.Ref.File == w.file }):
					t.Errorf("%s does not name %s and %s: %+v", check.ID, w.node, w.file, check.Findings)
				}
			}
			for id := range wanted {
				t.Errorf("%s was not made", id)
			}
			left := slices.Clone(test.differences)
			for _, d := range v.Differences {
				text := fmt.Sprintf("%s: %s", d.File, d.Text)
				i := slices.IndexFunc(left, func(want string) bool { return strings.HasPrefix(text, want) })
				if i < 0 {
					t.Errorf("also differs: %s", text)
					continue
				}
				left = slices.Delete(left, i, i+1)
			}
			for _, want := range left {
				t.Errorf("does not differ: %s", want)
			}
		})
	}
}

// record makes the index say that a file is what was recorded.
func (c *copied) record(file string) {
	c.Helper()
	raw := os.DirFS(filepath.Join(c.dir, results.RawDir))
	altered, err := evidence.Altered(raw)
	if err != nil || len(altered) != 1 {
		c.Fatal(altered, err)
	}
	sum := regexp.MustCompile(`(\d+) bytes with SHA-256 (\w+)`).FindStringSubmatch(altered[0].Text)
	index := filepath.Join(results.RawDir, evidence.IndexFile)
	var records []map[string]any
	if err := json.Unmarshal(c.read(index), &records); err != nil {
		c.Fatal(err)
	}
	for _, r := range records {
		if filepath.Join(results.RawDir, r["file"].(string)) == file {
			r["sha256"] = sum[2]
		}
	}
	content, err := json.Marshal(records)
	if err != nil {
		c.Fatal(err)
	}
	c.write(index, content)
}

// TestVerifyIndex: the pages of all results follow from them too.
func TestVerifyIndex(t *testing.T) {
	tests := []struct {
		name   string
		change func(c *copied)
		want   []string
	}{
		{"edited", func(c *copied) { c.replace("README.md", `^# .*`, "# Good news") }, []string{`README.md: line 1 is "# Good news", the raw files lead to "# `}},
		{"page edited", func(c *copied) { c.replace("index.html", `<h1>.*</h1>`, "<h1>Good news</h1>") }, []string{`index.html: line`}},
		{"page missing", func(c *copied) { c.remove("index.html") }, []string{"index.html: is missing"}},
		{"a scenario missing from it", func(c *copied) { c.addScenario("iptables", "iptables-again") }, []string{"README.md: line", "index.html: line"}},
		{"a scenario gone", func(c *copied) {
			if err := os.RemoveAll(filepath.Join(c.dir, "service-path", "nftables")); err != nil {
				c.Fatal(err)
			}
		}, []string{"README.md: line", "index.html: line"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			c := copyOf(t)
			test.change(c)
			all, err := Verify(c.dir)
			if err != nil {
				t.Fatal(err)
			}
			last := all[len(all)-1]
			same := slices.EqualFunc(last.Differences, test.want, func(d Difference, want string) bool {
				return strings.HasPrefix(d.File+": "+d.Text, want)
			})
			if !last.Failed() || last.Dir != c.dir || !same {
				t.Errorf("%+v, want %q", last, test.want)
			}
			for _, v := range all[:len(all)-1] {
				if v.Failed() {
					t.Errorf("%s: %+v", v.Dir, v.Differences)
				}
			}
		})
	}
}

func (c *copied) addScenario(from, to string) {
	c.Helper()
	if err := os.CopyFS(filepath.Join(c.dir, "service-path", to), os.DirFS(filepath.Join(c.dir, "service-path", from))); err != nil {
		c.Fatal(err)
	}
}

// TestVerifyCannot: what is no result directory is an error that names it.
func TestVerifyCannot(t *testing.T) {
	tests := []struct {
		name   string
		change func(c *copied)
		want   string
	}{
		{"no run.yaml", func(c *copied) { c.remove("run.yaml") }, "holds no results"},
		{"a run.yaml with an unknown field", func(c *copied) { c.replace("run.yaml", `\z`, "weather: fine\n") }, "run.yaml"},
		{"no index of the raw files", func(c *copied) { c.remove("raw/index.json") }, "raw: open index.json"},
		{"an index that is no JSON", func(c *copied) { c.write("raw/index.json", []byte("[")) }, "raw: index.json"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			c := copyOf(t, "service-path", "iptables")
			test.change(c)
			_, err := Verify(c.dir)
			if err == nil || !strings.Contains(err.Error(), c.dir) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
	if _, err := Verify(filepath.Join(t.TempDir(), "nosuch")); err == nil {
		t.Error("a directory that is not there is verified")
	}
}
