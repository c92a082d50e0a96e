package report

import (
	"errors"
	"io/fs"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/pkg/collect"
)

// texts are the quoted lines of all stages.
func texts(stages []stage) string {
	var all []string
	for _, l := range linesIn(stages) {
		all = append(all, strings.TrimSpace(l.Text))
	}
	return strings.Join(all, "\n")
}

func TestIptablesPathStaysWithTheService(t *testing.T) {
	const dump = `*filter
-A KUBE-SERVICES -d 10.96.0.7/32 -j REJECT
COMMIT
*nat
:KUBE-SVC-MINE - [0:0]
-A PREROUTING -m comment --comment "service portals" -j KUBE-SERVICES
-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000
-A KUBE-SEP-MINE -s 10.244.0.2/32 -j KUBE-MARK-MASQ
-A KUBE-SEP-MINE -p tcp -m comment --comment "a \" -j KUBE-SEP-OTHER b" -j DNAT --to-destination 10.244.0.2:80
-A KUBE-SEP-OTHER -p tcp -j DNAT --to-destination 10.244.0.3:80
[7:420] -A KUBE-SERVICES -d 10.96.0.7/32 -j KUBE-SVC-MINE
-A KUBE-SERVICES -d 10.96.0.8/32 -j KUBE-SVC-OTHER
-A KUBE-SVC-MINE -j KUBE-SEP-MINE
-A KUBE-SVC-OTHER -j KUBE-SEP-OTHER
COMMIT
`
	got := texts(iptablesPath(linesOf([]byte(dump)), []collect.Frontend{{Line: collect.Line{Number: 11}}}))
	want := `-A PREROUTING -m comment --comment "service portals" -j KUBE-SERVICES
[7:420] -A KUBE-SERVICES -d 10.96.0.7/32 -j KUBE-SVC-MINE
-A KUBE-SVC-MINE -j KUBE-SEP-MINE
-A KUBE-SEP-MINE -s 10.244.0.2/32 -j KUBE-MARK-MASQ
-A KUBE-SEP-MINE -p tcp -m comment --comment "a \" -j KUBE-SEP-OTHER b" -j DNAT --to-destination 10.244.0.2:80
-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000`
	if got != want {
		t.Errorf("path:\n%s\nwant:\n%s", got, want)
	}
}

func TestNftablesPathStaysWithTheService(t *testing.T) {
	const list = `table ip kube-proxy {
	map service-ips {
		elements = { 110.96.0.7 . tcp . 80 : goto service-OTHER,
			     10.96.0.7 . tcp . 8080 : goto service-OTHER,
			     10.96.0.7 . tcp . 80 : goto service-MINE }
	}

	chain service-MINE {
		ip daddr 10.96.0.7 ip saddr != 10.244.0.0/16 jump mark-for-masquerade
		numgen random mod 2 vmap { 0 : goto endpoint-A, 1 : goto endpoint-B }
	}

	chain service-OTHER {
		goto endpoint-OTHER
	}

	chain endpoint-A {
		dnat to 10.244.0.2:80
	}

	chain endpoint-B {
		dnat to 10.244.0.3:80
	}
}
table ip6 kube-proxy {
	chain endpoint-A {
		dnat to [::2]:80
	}
}
`
	frontend := collect.Frontend{Kind: collect.ClusterIP, Address: netip.MustParseAddr("10.96.0.7"), Port: 80, Protocol: "TCP"}
	got := texts(nftablesPath(linesOf([]byte(list)), []collect.Frontend{frontend}))
	want := `map service-ips {
10.96.0.7 . tcp . 80 : goto service-MINE }
chain service-MINE {
ip daddr 10.96.0.7 ip saddr != 10.244.0.0/16 jump mark-for-masquerade
numgen random mod 2 vmap { 0 : goto endpoint-A, 1 : goto endpoint-B }
}
chain endpoint-A {
dnat to 10.244.0.2:80
}
chain endpoint-B {
dnat to 10.244.0.3:80
}`
	if got != want {
		t.Errorf("path:\n%s\nwant:\n%s", got, want)
	}
}

func TestUnderTest(t *testing.T) {
	service := collect.Service{Namespace: "shop", Name: "web", ClusterIP: netip.MustParseAddr("10.96.0.7"), Port: 80, NodePort: 30081, Protocol: "TCP"}
	at := netip.MustParseAddr
	tests := []struct {
		name string
		f    collect.Frontend
		want bool
	}{
		{"its ClusterIP", collect.Frontend{Kind: collect.ClusterIP, Address: at("10.96.0.7"), Port: 80, Protocol: "TCP", Service: "shop/web:http"}, true},
		{"its ClusterIP in a state without names", collect.Frontend{Kind: collect.ClusterIP, Address: at("10.96.0.7"), Port: 80, Protocol: "TCP"}, true},
		{"its node port", collect.Frontend{Kind: collect.NodePort, Port: 30081, Protocol: "TCP", Service: "shop/web"}, true},
		{"another Service with a longer name", collect.Frontend{Kind: collect.NodePort, Port: 30081, Protocol: "TCP", Service: "shop/web2:http"}, false},
		{"another port", collect.Frontend{Kind: collect.ClusterIP, Address: at("10.96.0.7"), Port: 81, Protocol: "TCP", Service: "shop/web:admin"}, false},
		{"another protocol", collect.Frontend{Kind: collect.NodePort, Port: 30081, Protocol: "UDP"}, false},
		{"another address", collect.Frontend{Kind: collect.ClusterIP, Address: at("10.96.0.8"), Port: 80, Protocol: "TCP"}, false},
	}
	for _, test := range tests {
		table := collect.NodeTable{ServiceTable: collect.ServiceTable{Frontends: []collect.Frontend{test.f}}}
		if got := len(underTest(table, service)) == 1; got != test.want {
			t.Errorf("%s: under test = %v, want %v", test.name, got, test.want)
		}
	}
}

func TestRawFileThatIsThereAndCannotBeRead(t *testing.T) {
	f := newFixture(t, "iptables")
	broken := brokenFS{f.raw, "worker/iptables-nft-save.txt"}
	if _, err := Scenario(f.run, f.e, f.checks, broken); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error = %v, want %v", err, fs.ErrPermission)
	}
	delete(f.raw, "worker/iptables-nft-save.txt")
	if page := f.page(); !strings.Contains(page, "worker: no line was found.") {
		t.Error("the page does not say that worker has no lines")
	}
}

// unreadable takes each file away: it must be an error that it cannot be read, and
// none that it is not there.
func unreadable(t *testing.T, scenario string, files ...string) {
	t.Helper()
	for _, file := range files {
		f := newFixture(t, scenario)
		if _, err := Scenario(f.run, f.e, f.checks, brokenFS{f.raw, file}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: error = %v, want %v", file, err, fs.ErrPermission)
		}
		delete(f.raw, file)
		f.page()
	}
}

type brokenFS struct {
	fstest.MapFS
	file string
}

func (b brokenFS) ReadFile(name string) ([]byte, error) {
	if name == b.file {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrPermission}
	}
	return b.MapFS.ReadFile(name)
}
