package report

import (
	"bytes"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; look at it and run the test with -update:\n%s", file, firstDifference(string(want), got))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			return strconv.Itoa(i+1) + ": want " + w[i] + "\ngot  " + strings.Join(g[min(i, len(g)):min(i+1, len(g))], "")
		}
	}
	return "got more lines"
}

func changed(t *testing.T, data []byte, old, new string) []byte {
	t.Helper()
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("there is no %q", old)
	}
	return bytes.Replace(data, []byte(old), []byte(new), 1)
}

func TestScenario(t *testing.T) {
	for _, scenario := range []string{"iptables", "nftables", "ipvs", "cilium", "cilium-kube-proxy"} {
		t.Run(scenario, func(t *testing.T) {
			f := newFixture(t, scenario)
			if scenario == "ipvs" {
				f.everyVerdict()
			}
			page := f.page()
			golden(t, scenario+".md", page)
			if again := f.page(); again != page {
				t.Error("a second page from the same input is another one")
			}
			f.linksHold(page)
		})
	}
}

var linkForm = regexp.MustCompile(`\]\(raw/([^)#]+)(?:#L(\d+))?\)`)

// linksHold finds every link's file, and its line in the file.
func (f *fixture) linksHold(page string) {
	f.Helper()
	for _, link := range linkForm.FindAllStringSubmatch(page, -1) {
		file, ok := f.raw[link[1]]
		if !ok {
			f.Errorf("%s leads to no file", link[0])
			continue
		}
		if n, _ := strconv.Atoi(link[2]); n > len(linesOf(file.Data)) {
			f.Errorf("%s leads behind the file's end", link[0])
		}
	}
}

// entries are runs for an index; the one in mode ipvs did not pass.
func entries(t *testing.T, scenarios ...string) []IndexEntry {
	t.Helper()
	var all []IndexEntry
	for _, scenario := range scenarios {
		f := newFixture(t, scenario)
		if scenario == "ipvs" {
			f.everyVerdict()
		}
		all = append(all, IndexEntry{Run: f.run, Evidence: f.e, Checks: f.checks, Dir: "service-path/" + scenario})
	}
	return all
}

func TestIndex(t *testing.T) {
	golden(t, "index.md", string(Index(entries(t, "nftables", "ipvs", "iptables"))))
	golden(t, "index-all.md", string(Index(entries(t, "nftables", "ipvs", "iptables", "cilium", "cilium-kube-proxy"))))
}

func TestPagesOfNothing(t *testing.T) {
	f := &fixture{T: t}
	if page := f.page(); !strings.Contains(page, "0 of 0 checks passed") {
		t.Errorf("page = %s", page)
	}
	if page := string(Index(nil)); !strings.HasPrefix(page, "# Results\n") {
		t.Errorf("index = %s", page)
	}
}

// TestTwoDataPlanes: a page must not hide the second one.
func TestTwoDataPlanes(t *testing.T) {
	f := newFixture(t, "iptables")
	nft := newFixture(t, "nftables")
	table := nft.e.Kernel[1].Tables[0]
	for i, frontend := range table.Frontends {
		if frontend.Address == nft.e.Objects.Service.ClusterIP {
			table.Frontends[i].Address = f.e.Objects.Service.ClusterIP
		}
	}
	f.e.Kernel[1].Tables = append(f.e.Kernel[1].Tables, table)
	if page := f.page(); !strings.Contains(page, "Not all nodes are alike") || !strings.Contains(page, "iptables (back end nft) and nftables on worker") {
		t.Errorf("page begins %.400s", page)
	}
	index := string(Index([]IndexEntry{{f.run, f.e, f.checks, "x"}}))
	if want := "| Encoding | iptables on control-plane, worker2; iptables, nftables on worker |"; !strings.Contains(index, want) {
		t.Errorf("index lacks %q:\n%s", want, index)
	}
}

func TestTranslatedInSocket(t *testing.T) {
	f := newFixture(t, "iptables")
	p := f.e.Traffic[0]
	for i := range p.Attempts {
		p.Attempts[i].KernelRemote = netip.MustParseAddrPort("10.244.1.2:8080")
	}
	f.e.Traffic = []collect.EntryPoint{p}
	if got := translation(f.e); got != inSocket {
		t.Errorf("translation = %q, want %q", got, inSocket)
	}
	if !strings.Contains(f.page(), "connect(2) itself was translated") {
		t.Error("the page does not say so")
	}
}
