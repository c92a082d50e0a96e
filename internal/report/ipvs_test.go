package report

import (
	"strings"
	"testing"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/ipvs"
)

// TestOrder: each scheduler is told by what it makes of the order.
func TestOrder(t *testing.T) {
	for _, test := range []struct {
		selection collect.Selection
		backend   func(i int) int
		want      []string
	}{
		{collect.SelectRoundRobin, func(i int) int { return i % 2 }, []string{"| `ABABABABAB AB` |", "Round-robin gives each new connection the next backend"}},
		{collect.SelectLeastConn, func(i int) int { return (i + 1) % 2 }, []string{"| `BABABABABA BA` |", "the backend with the fewest connections"}},
		{collect.SelectSourceHash, func(int) int { return 1 }, []string{"| `BBBBBBBBBB BB` |", "by the client's address"}},
	} {
		t.Run(string(test.selection), func(t *testing.T) {
			f := newFixture(t, "ipvs")
			f.e.Kernel = f.e.Kernel[1:]
			for _, s := range f.e.Kernel {
				for i := range s.Tables[0].Frontends {
					s.Tables[0].Frontends[i].Selection = test.selection
				}
			}
			for i := range f.e.Traffic[0].Attempts {
				f.e.Traffic[0].Attempts[i].Backend.PodIP = f.e.Objects.Endpoints[test.backend(i)].Address
			}
			page := f.page()
			for _, want := range test.want {
				if !strings.Contains(page, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
		})
	}
}

// TestOrderByVirtualService: entry points of one virtual service stand together.
func TestOrderByVirtualService(t *testing.T) {
	f := newFixture(t, "ipvs")
	again := f.e.Traffic[0]
	again.Name, again.To = "clusterip-by-address", spec.ToClusterIP
	f.e.Traffic = append(f.e.Traffic, again)
	var d document
	writeOrder(&d, f.e)
	var names []string
	for line := range strings.Lines(d.String()) {
		if cells := strings.Split(line, " | "); len(cells) == 5 && strings.HasPrefix(cells[2], "`") {
			names = append(names, strings.Trim(cells[2], "`"))
		}
	}
	if got, want := strings.Join(names, " "), "clusterip-by-name clusterip-by-address host-nodeport-worker"; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
}

// TestWithoutIPVS: what is IPVS's own is on no other mode's page, even where the
// kernel has it loaded.
func TestWithoutIPVS(t *testing.T) {
	f := newFixture(t, "iptables")
	before := f.page()
	for i := range f.e.Kernel {
		f.e.Kernel[i].Tables = append(f.e.Kernel[i].Tables, collect.NodeTable{File: "x", ServiceTable: collect.ServiceTable{Encoding: "ipvs"}})
		f.e.Kernel[i].Scheduled = &collect.Scheduled{File: "x"}
	}
	after := f.page()
	for _, heading := range []string{"### Order of the backends", "### Addresses of the virtual services", "### Connections in IPVS"} {
		if strings.Contains(before, heading) || strings.Contains(after, heading) {
			t.Errorf("the page of mode iptables has %q", heading)
		}
	}
}

// TestDeclaredScheduler: the page says which scheduler is declared, if one is.
func TestDeclaredScheduler(t *testing.T) {
	f := newFixture(t, "ipvs")
	f.e.Mode.Scheduler.Value = "lc"
	if page := f.page(); !strings.Contains(page, "The scheduler it declares for IPVS: `lc`.") {
		t.Error("the page does not say which scheduler is declared")
	}
}

func TestIPVSUnreadable(t *testing.T) {
	unreadable(t, "ipvs", "worker/ip_vs.txt", "worker/"+ipvs.IPSetFile, "worker/"+ipvs.DummyFile, "worker/"+leftoverFile)
}
