//go:build browser

package page

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"service-dataplane/internal/lab"
	"service-dataplane/internal/page"
	"service-dataplane/internal/page/pagetest"
	"service-dataplane/internal/report"
)

const root = "../../results"

// patience bounds a test on a slow machine; nothing waits for it to end.
const patience = 3 * time.Minute

// Widths of a large screen and of a phone.
var widths = []int64{1280, 390}

// pages are what is opened: the committed results, and the same made hostile.
type pages struct {
	committed, hostile string // files
	runs               []report.IndexEntry
	browser            context.Context
}

var setup = sync.OnceValues(func() (*pages, error) {
	runs, err := lab.Runs(root)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		runs[i].Dir = strings.TrimPrefix(runs[i].Dir, root+"/")
	}
	p := &pages{runs: runs, committed: filepath.Join(scratch, "committed.html"), hostile: filepath.Join(scratch, "hostile.html")}
	for file, of := range map[string][]report.IndexEntry{p.committed: runs, p.hostile: pagetest.Hostile(runs)} {
		content, err := page.Page(of)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return nil, err
		}
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(filepath.Join(scratch, "profile")),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	browser, close := chromedp.NewContext(allocator)
	cleanup = func() { close(); end() }
	p.browser = browser
	return p, chromedp.Run(browser)
})

var (
	scratch string
	cleanup = func() {}
)

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "service-dataplane-page-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	cleanup()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// tab is a page in a tab of its own, and what went wrong there.
type tab struct {
	*testing.T
	context.Context
	mu       sync.Mutex
	problems []string
}

func start(t *testing.T) *pages {
	t.Helper()
	p, err := setup()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// open opens a file at a width, after what actions prepare.
func open(t *testing.T, p *pages, file string, width int64, actions ...chromedp.Action) *tab {
	t.Helper()
	ctx, close := chromedp.NewContext(p.browser)
	ctx, cancel := context.WithTimeout(ctx, patience)
	t.Cleanup(func() { cancel(); close() })
	o := &tab{T: t, Context: ctx}
	address := (&url.URL{Scheme: "file", Path: file}).String()
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			o.problem("exception: %s", e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			o.problem("console: %s", e.Type)
		case *log.EventEntryAdded:
			o.problem("log: %s", e.Entry.Text)
		case *cdpage.EventJavascriptDialogOpening:
			o.problem("dialog: %s", e.Message)
			go chromedp.Run(ctx, cdpage.HandleJavaScriptDialog(false))
		case *network.EventRequestWillBeSent:
			if sent, _, _ := strings.Cut(e.Request.URL, "#"); sent != address {
				o.problem("request: %s", e.Request.URL)
			}
		}
	})
	prepare := append([]chromedp.Action{network.Enable(), log.Enable(), chromedp.EmulateViewport(width, 900)}, actions...)
	o.run(append(prepare, chromedp.Navigate(address), chromedp.WaitReady("footer"))...)
	t.Cleanup(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, problem := range o.problems {
			t.Error(problem)
		}
	})
	return o
}

func (o *tab) problem(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

func (o *tab) run(actions ...chromedp.Action) {
	o.Helper()
	if err := chromedp.Run(o, actions...); err != nil {
		o.Fatal(err)
	}
}

// list is what a script lists.
func (o *tab) list(script string) []string {
	o.Helper()
	var found []string
	o.run(chromedp.Evaluate(script, &found))
	return found
}

// TestRenders: every run is there, nothing sticks out of the screen, and the page
// asks for nothing.
func TestRenders(t *testing.T) {
	p := start(t)
	for name, file := range map[string]string{"committed": p.committed, "hostile": p.hostile} {
		for _, width := range widths {
			t.Run(fmt.Sprintf("%s-%d", name, width), func(t *testing.T) {
				o := open(t, p, file, width)
				if got := o.list(`[...document.querySelectorAll("article.run h3")].filter(e => e.checkVisibility()).map(e => e.innerText)`); len(got) != len(p.runs) {
					t.Errorf("%d runs are shown, want %d: %.200q", len(got), len(p.runs), got)
				}
				o.fits()
				o.run(chromedp.Click(".tools button[data-open=true]"), chromedp.Poll(`![...document.querySelectorAll("details")].some(d => !d.open)`, nil))
				o.fits()
				if got := o.list(`[...document.querySelectorAll("script, img, iframe, object")].map(e => e.localName)`); !slices.Equal(got, []string{"script"}) {
					t.Errorf("elements that load or run: %v", got)
				}
			})
		}
	}
}

// fits: nothing is wider than the screen unless it scrolls within itself, and no
// words of a drawing leave it.
func (o *tab) fits() {
	o.Helper()
	for _, outside := range o.list(`(() => {
		const width = innerWidth, found = [];
		if (document.documentElement.scrollWidth > width) found.push("the page is " + document.documentElement.scrollWidth + " wide");
		for (const e of document.querySelectorAll("body *")) {
			if (!e.checkVisibility() || e.closest(".scroll, .skip, script")) continue;
			const r = e.getBoundingClientRect();
			if (r.width && (r.right > width + 1 || r.left < -1)) found.push(e.localName + "." + (e.className.baseVal ?? e.className) + " from " + r.left + " to " + r.right + ": " + e.textContent.slice(0, 60));
		}
		for (const svg of document.querySelectorAll("svg.drawing")) {
			const s = svg.getBoundingClientRect();
			for (const e of svg.querySelectorAll("text")) {
				const r = e.getBoundingClientRect();
				if (r.right > s.right + 1) found.push("text leaves its drawing by " + (r.right - s.right) + ": " + e.textContent);
			}
		}
		return found.slice(0, 8);
	})()`) {
		o.Error(outside)
	}
}

// TestHostileNameIsText: what is hostile can be read, and has done nothing.
func TestHostileNameIsText(t *testing.T) {
	p := start(t)
	o := open(t, p, p.hostile, 390)
	for _, selector := range []string{"h3", ".counts .who", ".drawing text", ".walk .where", ".check summary"} {
		if got := o.list(fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.textContent).filter(t => t.includes('script>') || t.includes('><'))`, selector)); len(got) == 0 {
			t.Errorf("%s shows no hostile name", selector)
		}
	}
}

// TestRawLineInTwoClicks: from the top of the page to the line of a KUBE-SEP chain,
// with the page's script and without.
func TestRawLineInTwoClicks(t *testing.T) {
	p := start(t)
	const visible = `(() => { const e = document.querySelector("pre:target"); if (!e || !e.checkVisibility({contentVisibilityAuto: true})) return false;
		const r = e.getBoundingClientRect(); return r.height > 0 && r.top >= 0 && r.top < innerHeight && e.textContent.startsWith("-A KUBE-SEP-"); })()`
	for _, width := range widths {
		for _, scripts := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d-scripts-%t", width, scripts), func(t *testing.T) {
				o := open(t, p, p.committed, width, emulation.SetScriptExecutionDisabled(!scripts))
				var href string
				o.run(chromedp.Evaluate(`[...document.querySelectorAll("#service-path-iptables")][0].closest("article").querySelectorAll("a.hop").values().find(a => a.textContent.includes("KUBE-SEP-")).getAttribute("href")`, &href))
				o.run(
					chromedp.Click(`nav a[href="#service-path-iptables"]`, chromedp.ByQuery),
					chromedp.Click(fmt.Sprintf(`a.hop[href=%q] text`, href), chromedp.ByQuery),
					chromedp.Poll(visible, nil, chromedp.WithPollingInterval(50*time.Millisecond)))
			})
		}
	}
}

// TestClickOpensLine: of a finding, below its check.
func TestClickOpensLine(t *testing.T) {
	p := start(t)
	o := open(t, p, p.committed, 390)
	o.run(
		chromedp.Evaluate(`(() => { const raw = document.querySelector("details.check details.raw"); raw.id = "finding"; raw.closest("details.check").id = "check"; })()`, nil),
		chromedp.Click("#check > summary", chromedp.ByQuery),
		chromedp.Click("#finding > summary", chromedp.ByQuery),
		chromedp.WaitVisible("#finding pre", chromedp.ByQuery))
}

// TestContrast: every text against what is behind it, by WCAG 2 for small text.
func TestContrast(t *testing.T) {
	p := start(t)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			o := open(t, p, p.committed, 1280, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			var dark bool
			o.run(chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor.match(/\d+/g)[0] < 128`, &dark))
			if dark != (scheme == "dark") {
				t.Errorf("the page is dark: %t", dark)
			}
			for _, low := range o.list(contrast) {
				t.Error(low)
			}
		})
	}
}

// contrast lists, once a kind, texts with a ratio below 4.5.
const contrast = `(() => {
	const parse = (c) => c.match(/[\d.]+/g).map(Number);
	const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
	const solid = (c) => c && c !== "none" && (parse(c)[3] ?? 1) === 1;
	const behind = (e) => {
		for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (solid(c)) return c; }
		return "rgb(255, 255, 255)";
	};
	const drawn = (text) => {
		const svg = text.closest("svg"), b = text.getBBox(), x = b.x + b.width / 2, y = b.y + b.height / 2;
		let at = behind(svg);
		for (const r of svg.querySelectorAll(":scope > rect")) {
			const q = r.getBBox(), c = getComputedStyle(r).fill;
			if (solid(c) && x >= q.x && x <= q.x + q.width && y >= q.y && y <= q.y + q.height) at = c;
		}
		return at;
	};
	const low = new Map();
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.localName === "script" || e.localName === "title") continue;
		const text = e.localName === "text", style = getComputedStyle(e);
		const ink = text ? style.fill : style.color, paper = text ? drawn(e) : behind(e);
		const [a, b] = [light(parse(ink)), light(parse(paper))].sort((p, q) => q - p), ratio = (a + .05) / (b + .05);
		if (ratio < 4.5) low.set(e.localName + "." + (e.className.baseVal ?? e.className), ratio.toFixed(2) + " " + ink + " on " + paper + ": " + e.textContent.slice(0, 40));
	}
	return [...low].map(([k, v]) => k + ": " + v);
})()`

// TestPrint: on paper nothing can be clicked, so that all lines are there, and
// none is cut off; dark screens print no dark paper.
func TestPrint(t *testing.T) {
	p := start(t)
	o := open(t, p, p.committed, 1280, emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	for _, hidden := range o.list(`[...document.querySelectorAll("pre")].filter(e => !e.checkVisibility({contentVisibilityAuto: true}) || e.getBoundingClientRect().height === 0 || e.scrollHeight > e.clientHeight + 1).slice(0, 5).map(e => e.textContent.slice(0, 60))`) {
		t.Errorf("not on paper: %s", hidden)
	}
	if got := o.list(`[getComputedStyle(document.body).backgroundColor]`); got[0] != "rgb(255, 255, 255)" {
		t.Errorf("the paper is %s", got[0])
	}
}
