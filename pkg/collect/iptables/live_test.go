package iptables

import (
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for _, test := range []struct {
		dump                                 string
		frontends, services, backends, other int
		first                                string // part of the first frontend's line, else of the first other
	}{
		{"kube-proxy-iptables/worker/iptables-nft-save.txt", 7, 16, 18, 23, `--dport 30081 -m nfacct`},
		{"kube-proxy-iptables/worker2/iptables-legacy-save.txt", 0, 0, 0, 0, ""},
		{"calico-before/worker/iptables-save.txt", 4, 2, 2, 23, "has no endpoints"},
		// What remains without kube-proxy in iptables mode is no service rule.
		{"kube-proxy-nftables/worker/iptables-nft-save.txt", 0, 0, 0, 3, "-A INPUT -j KUBE-FIREWALL"},
		{"cilium/worker/iptables-save-counters.txt", 0, 0, 0, 3, "-A INPUT -j KUBE-FIREWALL"},
		{"calico/worker/iptables-save.txt", 0, 0, 0, 11, "KUBE-PROXY-FIREWALL"},
		{"calico/worker/ip6tables-save.txt", 0, 0, 0, 22, "-A INPUT -j KUBE-FIREWALL"},
		{"made/shapes-legacy.txt", 21, 36, 24, 21, "-A KUBE-NODEPORTS"},
	} {
		t.Run(test.dump, func(t *testing.T) {
			dump := read(t, test.dump)
			c, err := Count([]byte(dump))
			if err != nil {
				t.Fatal(err)
			}
			if c.Frontends.Rules != test.frontends || c.Services.Rules != test.services || c.Backends.Rules != test.backends || c.Other.Rules != test.other {
				t.Errorf("frontends %d services %d backends %d other %d, want %d %d %d %d", c.Frontends.Rules, c.Services.Rules,
					c.Backends.Rules, c.Other.Rules, test.frontends, test.services, test.backends, test.other)
			}
			first := c.Frontends.First
			if c.Frontends.Rules == 0 {
				first = c.Other.First
			}
			if !strings.Contains(first.Text, test.first) || first.Number > 0 && strings.Split(dump, "\n")[first.Number-1] != first.Text {
				t.Errorf("first is %s, want %q", first, test.first)
			}
		})
	}
}

// ipvs is what kube-proxy's IPVS mode jumps with: sets, and chains of its own.
const ipvs = `*nat
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:KUBE-LOAD-BALANCER - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-NODE-PORT - [0:0]
:KUBE-SERVICES - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ
-A KUBE-SERVICES ! -s 10.244.0.0/16 -m comment --comment "Kubernetes service cluster ip + port for masquerade purpose" -m set --match-set KUBE-CLUSTER-IP dst,dst -j KUBE-MARK-MASQ
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT
-A KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT
COMMIT
`

func TestLive(t *testing.T) {
	var (
		rules   = read(t, "kube-proxy-iptables/worker2/iptables-nft-save.txt")
		legacy  = read(t, "made/shapes-legacy.txt")
		none    = read(t, "kube-proxy-nftables/worker/iptables-nft-save.txt")
		unused  = read(t, "kube-proxy-iptables/worker2/iptables-legacy-save.txt")
		closing = read(t, "calico/worker/ip6tables-save.txt") // kube-proxy's jumps, no Service
	)
	for _, test := range []struct{ name, legacy, nft, want string }{
		{"iptables mode", unused, rules, LiveNFT},
		{"old kube-proxy", legacy, none, LiveLegacy},
		{"rules in both", legacy, rules, LiveBoth},
		{"nftables mode", "", none, LiveNone},
		{"jumps without a Service", "", closing, LiveNone},
		{"IPVS mode", "", ipvs, LiveNone},
		{"nothing", "", "", LiveNone},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Live([]byte(test.legacy), []byte(test.nft))
			if err != nil || got != test.want {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestLiveNamesTheDumpThatIsNotWhole(t *testing.T) {
	whole, cut := []byte(read(t, "made/shapes-nft.txt")), []byte("*nat\n")
	if _, err := Live(cut, whole); err == nil || !strings.HasPrefix(err.Error(), "legacy dump: line 1: ") {
		t.Errorf("legacy cut: %v", err)
	}
	if _, err := Live(whole, cut); err == nil || !strings.HasPrefix(err.Error(), "nft dump: line 1: ") {
		t.Errorf("nft cut: %v", err)
	}
}
