package nftables

import (
	"fmt"
	"slices"
	"testing"
)

func TestTables(t *testing.T) {
	iptables := []string{
		"ip nat iptables-nft", "ip mangle iptables-nft", "ip filter iptables-nft",
		"ip6 mangle iptables-nft", "ip6 nat iptables-nft", "ip6 filter iptables-nft",
	}
	kubeProxy := append(slices.Clone(iptables), "ip kube-proxy kube-proxy 5", "ip6 kube-proxy kube-proxy")
	for _, row := range []struct {
		file       string
		want       []string
		programmed bool
	}{
		{"recorded/worker.txt", kubeProxy, true},
		{"recorded/worker.json", kubeProxy, true},
		{"recorded/iptables-worker.txt", iptables, false},
		{"recorded/iptables-worker.json", iptables, false},
		{"recorded/calico-worker.txt", append(slices.Clone(iptables), "ip calico calico"), false},
		{"recorded/cilium-worker.txt", []string{
			"ip nat iptables-nft", "ip6 mangle iptables-nft", "ip mangle iptables-nft", "ip filter iptables-nft",
			"ip6 nat iptables-nft", "ip6 filter iptables-nft", "ip raw iptables-nft",
		}, false},
	} {
		t.Run(row.file, func(t *testing.T) {
			checkTables(t, read(t, row.file), row.want, row.programmed)
		})
	}
}

func TestTablesByHand(t *testing.T) {
	for _, row := range []struct{ name, raw, want string }{
		{"written for nft", "table ip filter {\nchain input {\ntype filter hook input priority 0;\n}\nchain A {\n}\n}\n", "ip filter other"},
		{"another family", "table inet filter {\nchain INPUT {\n}\n}\n", "inet filter other"},
		{"another name", "table ip docker-bridges {\nchain INPUT {\n}\n}\n", "ip docker-bridges other"},
		{"empty", "table ip filter {\n}\n", "ip filter other"},
		{"braces in a comment", "table ip calico-x {\nchain a {\naccept comment \"}\"\n}\n}\n", "ip calico-x calico"},
		{"kube-proxy with nothing in it", "table ip kube-proxy {\nmap service-ips {\n}\n}\n", "ip kube-proxy kube-proxy"},
		{"kube-proxy of a family it does not use", "table inet kube-proxy {\n}\n", "inet kube-proxy other"},
		{"a policy that is none of a chain", `{"nftables": [{"table": {"family": "ip", "name": "t"}}, {"ct timeout": {"family": "ip", "table": "t", "name": "n", "policy": {"established": 9}}}]}`, "ip t other"},
		{"a warning of nft", "# Warning: table ip nat is managed by iptables-nft, do not touch!\ntable ip nat {\nchain OUTPUT {\n}\n}\n", "ip nat iptables-nft"},
	} {
		t.Run(row.name, func(t *testing.T) {
			checkTables(t, []byte(row.raw), []string{row.want}, false)
		})
	}
}

func checkTables(t *testing.T, raw []byte, want []string, programmed bool) {
	t.Helper()
	tables, err := Tables(raw)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, table := range tables {
		s := fmt.Sprintf("%s %s %s", table.Family, table.Name, table.Owner)
		if table.ServiceIPs > 0 {
			s += fmt.Sprintf(" %d", table.ServiceIPs)
		}
		got = append(got, s)
		if table.Line.Text == "" {
			t.Errorf("%s stands nowhere", s)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if Programmed(tables) != programmed {
		t.Errorf("programmed is %v", !programmed)
	}
}
