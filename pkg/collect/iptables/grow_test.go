package iptables

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"service-dataplane/pkg/collect/internal/benchtest"
)

// grown is the dump of a recorded node with more Services: the rules that
// kube-proxy 1.35 writes for them, in the order in which iptables-nft-save prints.
func grown(t testing.TB, services []benchtest.Service) (benchtest.Files, benchtest.Size) {
	t.Helper()
	raw, err := os.ReadFile("testdata/kube-proxy-iptables/worker/iptables-nft-save.txt")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	p := printed{}
	for line := range strings.Lines(string(raw)) {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "COMMIT\n":
			p.write(&out, services)
			out.WriteString(line)
		case word == "-A":
			chain, _, _ := strings.Cut(rest, " ")
			p.rules[chain] = append(p.rules[chain], line)
		case strings.HasPrefix(word, ":KUBE-"):
			p.chains = append(p.chains, word[1:])
		case line[0] == '*':
			p = printed{table: strings.TrimSpace(line[1:]), rules: map[string][]string{}}
			fallthrough
		default:
			out.WriteString(line)
			p.first = append(p.first, strings.TrimPrefix(word, ":"))
		}
	}
	return benchtest.Files{"iptables-nft-save.txt": []byte(out.String())}, benchtest.SizeOf(recorded).With(services)
}

// printed is what a dump says of one table.
type printed struct {
	table  string
	first  []string            // chains whose declarations are written already
	chains []string            // kube-proxy's and kubelet's
	rules  map[string][]string // by chain
}

// write adds the Services and prints what is in a table between its first chains
// and COMMIT.
func (p *printed) write(out *strings.Builder, services []benchtest.Service) {
	atEnd := p.rules[servicesChain]
	if n := len(atEnd); n > 0 { // the jump to KUBE-NODEPORTS
		p.rules[servicesChain], atEnd = atEnd[:n-1:n-1], atEnd[n-1:]
	}
	for _, s := range services {
		switch {
		case p.table == "nat" && len(s.Endpoints) > 0:
			p.serve(s)
		case p.table == "filter" && len(s.Endpoints) == 0:
			p.add(servicesChain, `-d %s/32 -p tcp -m comment --comment "%s:http has no endpoints" -m tcp --dport %d -j REJECT --reject-with icmp-port-unreachable`,
				s.Address.Addr(), s.Name, s.Address.Port())
		}
	}
	p.rules[servicesChain] = append(p.rules[servicesChain], atEnd...)

	slices.Sort(p.chains)
	for _, chain := range p.chains {
		fmt.Fprintf(out, ":%s - [0:0]\n", chain)
	}
	for _, chain := range append(p.first, slices.Sorted(maps.Keys(p.rules))...) {
		for _, rule := range p.rules[chain] {
			out.WriteString(rule)
		}
		delete(p.rules, chain)
	}
}

func (p *printed) add(chain, format string, values ...any) {
	p.rules[chain] = append(p.rules[chain], "-A "+chain+" "+fmt.Sprintf(format, values...)+"\n")
}

// serve adds a Service to the nat table.
func (p *printed) serve(s benchtest.Service) {
	name := s.Name + ":http"
	hash := benchtest.Hash(16, name, "tcp")
	svc, ext := "KUBE-SVC-"+hash, "KUBE-EXT-"+hash
	at := fmt.Sprintf(`-d %s/32 -p tcp -m comment --comment "%s cluster IP" -m tcp --dport %d`, s.Address.Addr(), name, s.Address.Port())
	p.chains = append(p.chains, svc)
	p.add(servicesChain, "%s -j %s", at, svc)
	p.add(svc, "! -s 10.244.0.0/16 %s -j KUBE-MARK-MASQ", at)
	if s.NodePort != 0 {
		p.chains = append(p.chains, ext)
		entry := fmt.Sprintf(`-p tcp -m comment --comment "%s" -m tcp --dport %d`, name, s.NodePort)
		p.add(nodePortsChain, "-d 127.0.0.0/8 %s -m nfacct --nfacct-name  localhost_nps_accepted_pkts -j %s", entry, ext)
		p.add(nodePortsChain, "%s -j %s", entry, ext)
		p.add(ext, `-m comment --comment "masquerade traffic for %s external destinations" -j KUBE-MARK-MASQ`, name)
		p.add(ext, "-j %s", svc)
	}
	var choices []string
	for i, e := range s.Endpoints {
		sep := "KUBE-SEP-" + benchtest.Hash(16, name, "tcp", e.String())
		p.chains = append(p.chains, sep)
		random, remember := "", ""
		if left := len(s.Endpoints) - i; left > 1 {
			random = fmt.Sprintf(" -m statistic --mode random --probability %.11f", 1/float64(left))
		}
		comment := fmt.Sprintf(`-m comment --comment "%s -> %s"`, name, e)
		if s.Sticky {
			list := "--name " + sep + " --mask 255.255.255.255 --rsource"
			p.add(svc, "%s -m recent --rcheck --seconds %d --reap %s -j %s", comment, benchtest.AffinitySeconds, list, sep)
			remember = " -m recent --set " + list
		}
		choices = append(choices, comment+random+" -j "+sep)
		p.add(sep, `-s %s/32 -m comment --comment "%s" -j KUBE-MARK-MASQ`, e.Addr(), name)
		p.add(sep, `-p tcp -m comment --comment "%s"%s -m tcp -j DNAT --to-destination %s`, name, remember, e)
	}
	for _, choice := range choices {
		p.add(svc, "%s", choice)
	}
}
