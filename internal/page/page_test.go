package page_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"service-dataplane/internal/lab"
	"service-dataplane/internal/page"
	"service-dataplane/internal/page/pagetest"
	"service-dataplane/internal/report"
	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// derived are the committed runs, as index.html has them.
var derived = sync.OnceValues(func() ([]report.IndexEntry, error) {
	const root = "../../results"
	runs, err := lab.Runs(root)
	for i := range runs {
		runs[i].Dir = strings.TrimPrefix(runs[i].Dir, root+"/")
	}
	return runs, err
})

func committed(t *testing.T, only ...string) []report.IndexEntry {
	t.Helper()
	runs, err := derived()
	if err != nil {
		t.Fatal(err)
	}
	if len(only) > 0 {
		runs = slices.DeleteFunc(slices.Clone(runs), func(r report.IndexEntry) bool { return !slices.Contains(only, r.Dir) })
	}
	if len(runs) == 0 {
		t.Fatal("no runs")
	}
	return runs
}

func render(t *testing.T, runs []report.IndexEntry) string {
	t.Helper()
	out, err := page.Page(runs)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func parse(t *testing.T, text string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// words are what a reader sees of an element.
func words(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode && c.Parent.Data != "script" && c.Parent.Data != "style" {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// all are the elements of a class, or all of a name.
func all(root *html.Node, name, class string) []*html.Node {
	var found []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == name && (class == "" || slices.Contains(strings.Fields(attribute(n, "class")), class)) {
			found = append(found, n)
		}
	}
	return found
}

// TestPageOfCommitted: each run, entry point, hop and check is on the page, each
// hop with its place and its line, and each drawn hop leads to one.
func TestPageOfCommitted(t *testing.T) {
	runs := committed(t)
	root := parse(t, render(t, runs))
	articles := all(root, "article", "run")
	if len(articles) != len(runs) {
		t.Fatalf("%d runs are on the page, want %d", len(articles), len(runs))
	}
	by := map[string]*html.Node{}
	for _, a := range articles {
		by[attribute(a, "aria-labelledby")] = a
	}
	ids := map[string]int{}
	for n := range root.Descendants() {
		if id := attribute(n, "id"); id != "" {
			ids[id]++
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
	for _, r := range runs {
		t.Run(strings.ReplaceAll(r.Dir, "/", "-"), func(t *testing.T) {
			article := by[strings.ReplaceAll(r.Dir, "/", "-")]
			if article == nil {
				t.Fatal("is not there")
			}
			walks, entries := map[string]int{}, all(article, "section", "entry")
			for _, summary := range all(article, "details", "raw") {
				pre := all(summary, "pre", "")[0]
				walks[words(all(summary, "span", "at")[0])+"\n"+words(pre)]++
			}
			if len(entries) != len(r.Evidence.Traffic) {
				t.Errorf("%d entry points are shown, want %d", len(entries), len(r.Evidence.Traffic))
			}
			for i, p := range r.Evidence.Traffic {
				if attribute(entries[i], "aria-label") != p.Name || !strings.Contains(words(article), p.Name) {
					t.Errorf("entry point %d is not %s", i, p.Name)
				}
				if squares := all(all(entries[i], "p", "strip")[0], "span", ""); len(squares) != len(p.Attempts) {
					t.Errorf("%s: the strip has %d squares, want %d", p.Name, len(squares), len(p.Attempts))
				}
				for _, w := range p.Walks {
					for _, h := range w.Trace.Hops {
						if walks[h.At()+"\n"+h.Line.Text] == 0 {
							t.Errorf("%s: a hop is missing: %s", p.Name, h)
						}
					}
				}
			}
			for _, c := range r.Checks {
				if !strings.Contains(words(article), c.ID) || !strings.Contains(words(article), c.Statement) {
					t.Errorf("check %s is missing", c.ID)
				}
				for _, f := range c.Findings {
					at := collect.Hop{File: f.Ref.File, Line: f.Ref.Line}.At()
					if f.Ref.Line.Text != "" && walks[at+"\n"+f.Ref.Line.Text] == 0 {
						t.Errorf("%s: the line of a finding is missing: %s", c.ID, at)
					}
				}
			}
			for _, figure := range all(article, "figure", "way") {
				drawn, listed := all(figure, "a", "hop"), all(all(figure, "details", "walk")[0], "pre", "")
				if len(drawn) != len(listed) {
					t.Errorf("%d hops are drawn, %d listed", len(drawn), len(listed))
				}
				for _, hop := range drawn {
					if to := strings.TrimPrefix(attribute(hop, "href"), "#"); ids[to] != 1 {
						t.Errorf("a hop leads to %q", to)
					}
				}
			}
		})
	}
}

func TestPageIsDeterministic(t *testing.T) {
	runs := committed(t)
	backwards := slices.Clone(runs)
	slices.Reverse(backwards)
	first := render(t, runs)
	if first != render(t, runs) || first != render(t, backwards) {
		t.Error("the same runs give two pages")
	}
	if most := 1_500_000; len(first) > most {
		t.Errorf("the page has %d bytes, want at most %d", len(first), most)
	}
}

func TestPageOfNothing(t *testing.T) {
	if got := words(parse(t, render(t, nil))); !strings.Contains(got, "not checked") {
		t.Error(got)
	}
}

// TestPageOfHostileEvidence: no text of a cluster becomes an element, an
// attribute or a way out of the page.
func TestPageOfHostileEvidence(t *testing.T) {
	runs := pagetest.Hostile(committed(t, "service-path/iptables", "service-path/cilium", "service-path/ipvs", "calico-wrong-pool/calico-ebpf"))
	runs[1].Run.Imported = &results.Imported{Map: pagetest.Evil, On: pagetest.Evil}
	runs[2].Evidence.Traffic[0].Attempts[0].Error = pagetest.Evil
	runs[2].Evidence.Traffic[0].Walks[0].Trace.Stopped = &collect.Hop{Where: pagetest.Evil, Note: pagetest.Evil, Line: collect.Line{Text: pagetest.Evil}}
	runs[2].Evidence.Problems = append(runs[2].Evidence.Problems, collect.Problem{Node: pagetest.Evil, File: pagetest.Evil, Text: pagetest.Evil})
	text := render(t, runs)
	root := parse(t, text)
	own := strings.Fields("html head meta title style body a header p h1 dl div dt dd nav ul li span button main section h2 h3 h4 h5 table thead tbody tr th td article details summary pre b code i small figure figcaption svg rect path text circle line ol footer script br")
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(own, n.Data) {
			t.Fatalf("an element %s", n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "src":
				t.Errorf("%s has an attribute %s", n.Data, a.Key)
			case a.Key == "href" && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "./"):
				t.Errorf("a link leads to %.60q", a.Val)
			}
		}
	}
	for name, want := range map[string]int{"script": 1, "style": 1, "article": len(runs), "body": 1} {
		if got := len(all(root, name, "")); got != want {
			t.Errorf("%d elements %s, want %d", got, name, want)
		}
	}
	if strings.Contains(text, "ZgotmplZ") {
		t.Error("the template was given what it does not trust")
	}
	if strings.ContainsAny(text, "\u202e\x00") {
		t.Error("the page has characters that turn it around or end it")
	}
	if !strings.Contains(words(root), `echo-server`) || !strings.Contains(words(root), `"><script>alert(1)</script></pre></details></text></svg></style>'--><img src=x onerror=alert(2)>{{.}}`) {
		t.Error("what is hostile is not shown as it is")
	}
}

// TestPolicy: the hashes are of what is on the page, and nothing else
// may run.
func TestPolicy(t *testing.T) {
	root := parse(t, render(t, nil))
	for _, m := range all(root, "meta", "") {
		if attribute(m, "http-equiv") == "Content-Security-Policy" {
			policy := attribute(m, "content")
			if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Count(policy, "'sha256-") != 2 {
				t.Error(policy)
			}
			return
		}
	}
	t.Error("there is none")
}

// changed is a copy of one run that a test may change.
func changed(t *testing.T, dir string, change func(r *report.IndexEntry)) *html.Node {
	t.Helper()
	r := committed(t, dir)[0]
	r.Checks = slices.Clone(r.Checks)
	r.Evidence.Traffic = slices.Clone(r.Evidence.Traffic)
	for i := range r.Evidence.Traffic {
		p := &r.Evidence.Traffic[i]
		p.Walks, p.Attempts = slices.Clone(p.Walks), slices.Clone(p.Attempts)
	}
	change(&r)
	return parse(t, render(t, []report.IndexEntry{r}))
}

func TestPageOfFailure(t *testing.T) {
	root := changed(t, "service-path/iptables", func(r *report.IndexEntry) {
		r.Checks[3].Verdict, r.Checks[3].Reason = collect.Fail, "two encodings"
		r.Checks[4].Verdict = collect.Inconclusive
		r.Checks[5].Verdict = collect.Skip
	})
	if len(all(root, "article", "fail")) != 1 || len(all(root, "p", "fail")) == 0 {
		t.Error("a run that fails looks like one that does not")
	}
	text := words(root)
	for _, want := range []string{"✗ 1 failed", "? 1 inconclusive", "– 1 skipped", "two encodings"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, d := range all(root, "details", "check") {
		class := attribute(d, "class")
		open := slices.ContainsFunc(d.Attr, func(a html.Attribute) bool { return a.Key == "open" })
		if want := class == "check fail" || class == "check open"; open != want {
			t.Errorf("%s: open is %t", class, open)
		}
	}
}

func TestPageOfImported(t *testing.T) {
	root := changed(t, "service-path/calico-ebpf", func(r *report.IndexEntry) {
		r.Run = results.Run{Scenario: r.Run.Scenario, Experiment: r.Run.Experiment, Imported: &results.Imported{Map: "by-hand", Recorded: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), On: "three machines"}}
	})
	text := words(root)
	for _, want := range []string{"Recorded elsewhere.", "2026-01-02 at 03:04:05 UTC on three machines", "calico-ebpf, recorded"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestPageOfGuest(t *testing.T) {
	if text := words(parse(t, render(t, committed(t, "service-path/ipvs")))); !strings.Contains(text, "A guest’s kernel.") {
		t.Error("the page does not say that nodes ran on a guest's kernel")
	}
}

func TestPageOfRefusal(t *testing.T) {
	root := parse(t, render(t, committed(t, "calico-wrong-pool/calico-ebpf")))
	if text := words(root); !strings.Contains(text, "What the operator says") || !strings.Contains(text, "is not within the platform's configured pod network") || strings.Contains(text, "The connections") {
		t.Error("a refusal is not shown as one")
	}
	if len(all(root, "table", "")) != 0 {
		t.Error("a refusal is in a table of data planes")
	}
}

// TestDrawings: what a walk can be, drawn.
func TestDrawings(t *testing.T) {
	hop := func(depth int, share collect.Share, where, text string) collect.Hop {
		return collect.Hop{Depth: depth, Probability: share, Where: where, File: "worker/x.txt", Line: collect.Line{Number: 7, Text: text}}
	}
	backend := func(address string, share collect.Share) collect.TracedBackend {
		return collect.TracedBackend{Backend: netip.MustParseAddrPort(address), Probability: share, Masqueraded: collect.Answer{Decision: collect.No}}
	}
	tests := []struct {
		name   string
		change func(w *collect.Walk)
		want   []string
	}{
		{"stopped", func(w *collect.Walk) {
			stopped := hop(1, collect.Whole(), "nat ODD", "-j NOVEL")
			stopped.Note = "a target that is not known"
			w.Trace.Stopped, w.Trace.Backends = &stopped, nil
		}, []string{"nat ODD", "a target that is not known", "-j NOVEL"}},
		{"an ending", func(w *collect.Walk) {
			w.Trace.Backends = nil
			w.Trace.Endings = []collect.Ending{{Probability: collect.Whole(), Fate: collect.Rejected, By: hop(0, collect.Whole(), "filter", "")}}
		}, []string{"rejected by", "worker/x.txt:7"}},
		{"no hop", func(w *collect.Walk) { w.Trace.Hops = nil }, []string{"kernel of"}},
		{"passed", func(w *collect.Walk) {
			w.Passed = []collect.Trace{{Encoding: "cilium"}, {Encoding: "calico", Hops: []collect.Hop{hop(0, collect.Whole(), "nat map", "passes")}}}
		}, []string{"cilium leaves it as it is", "nat map"}},
		{"three branches", func(w *collect.Walk) {
			third := collect.Part(1, 3)
			w.Trace.Hops = []collect.Hop{hop(0, collect.Whole(), "top", "")}
			w.Trace.Backends = nil
			for i := range 3 {
				address := fmt.Sprintf("10.0.0.%d:80", i+1)
				w.Trace.Hops = append(w.Trace.Hops, hop(1, third, fmt.Sprintf("choice %d", i), ""), hop(2, third, fmt.Sprintf("backend %d", i), "to "+address))
				w.Trace.Backends = append(w.Trace.Backends, backend(address, third))
			}
		}, []string{"choice 0", "backend 2", "10.0.0.3:80", "1/3"}},
		{"one backend", func(w *collect.Walk) { w.Trace.Backends = w.Trace.Backends[:1] }, []string{"pod on"}},
		{"a long name", func(w *collect.Walk) { w.Trace.Hops[2].Where = strings.Repeat("x", 300) }, []string{strings.Repeat("x", 20)}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			root := changed(t, "service-path/iptables", func(r *report.IndexEntry) {
				r.Evidence.Traffic = r.Evidence.Traffic[:1]
				w := &r.Evidence.Traffic[0].Walks[0]
				w.Trace.Hops = slices.Clone(w.Trace.Hops)
				test.change(w)
			})
			figure := all(root, "figure", "")[0]
			for _, want := range test.want {
				if !strings.Contains(words(figure), want) {
					t.Errorf("%q is missing in %s", want, words(figure))
				}
			}
			if len(all(figure, "a", "hop")) != len(all(figure, "pre", "")) {
				t.Error("not every hop is drawn")
			}
		})
	}
}

// TestNotWalked: why there is no drawing.
func TestNotWalked(t *testing.T) {
	root := changed(t, "service-path/iptables", func(r *report.IndexEntry) {
		p := &r.Evidence.Traffic[0]
		p.Walks, p.NotWalked = nil, []collect.Finding{{Node: "worker2", Text: "the file is missing"}}
		r.Evidence.Traffic = r.Evidence.Traffic[:1]
	})
	if text := words(root); !strings.Contains(text, "the file is missing") || !strings.Contains(text, "No share is expected") {
		t.Error("what could not be walked is not said")
	}
}
