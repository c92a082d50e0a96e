package iptables

import (
	"fmt"
	"strings"
	"testing"
)

// large is a dump of services with one node port and 20 backends each.
func large(services int) []byte {
	var chains, rules strings.Builder
	for _, c := range []string{"PREROUTING ACCEPT", "OUTPUT ACCEPT", "KUBE-SERVICES -", "KUBE-NODEPORTS -", "KUBE-MARK-MASQ -"} {
		fmt.Fprintf(&chains, ":%s [0:0]\n", c)
	}
	fmt.Fprintf(&rules, "-A PREROUTING -j KUBE-SERVICES\n-A OUTPUT -j KUBE-SERVICES\n-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS\n")
	for s := range services {
		name, vip := fmt.Sprintf("ns/svc-%d:http", s), fmt.Sprintf("10.%d.%d.%d", 100+s>>16, s>>8&255, s&255)
		fmt.Fprintf(&chains, ":KUBE-SVC-%016d - [0:0]\n", s)
		fmt.Fprintf(&rules, "-A KUBE-SERVICES -d %s/32 -p tcp -m comment --comment \"%s cluster IP\" -m tcp --dport 80 -j KUBE-SVC-%016d\n", vip, name, s)
		fmt.Fprintf(&rules, "-A KUBE-SVC-%016d ! -s 10.244.0.0/16 -d %s/32 -p tcp -m comment --comment \"%s cluster IP\" -m tcp --dport 80 -j KUBE-MARK-MASQ\n", s, vip, name)
		for b := range 20 {
			pod := fmt.Sprintf("10.244.%d.%d", s&255, b+1)
			fmt.Fprintf(&chains, ":KUBE-SEP-%08d%08d - [0:0]\n", s, b)
			random := ""
			if b < 19 {
				random = fmt.Sprintf(" -m statistic --mode random --probability %.11f", 1/float64(20-b))
			}
			fmt.Fprintf(&rules, "-A KUBE-SVC-%016d -m comment --comment \"%s -> %s:8080\"%s -j KUBE-SEP-%08d%08d\n", s, name, pod, random, s, b)
			fmt.Fprintf(&rules, "-A KUBE-SEP-%08d%08d -s %s/32 -m comment --comment \"%s\" -j KUBE-MARK-MASQ\n", s, b, pod, name)
			fmt.Fprintf(&rules, "-A KUBE-SEP-%08d%08d -p tcp -m comment --comment \"%s\" -m tcp -j DNAT --to-destination %s:8080\n", s, b, name, pod)
		}
	}
	return []byte("*nat\n" + chains.String() + rules.String() + "COMMIT\n")
}

func BenchmarkDecode(b *testing.B) {
	raw := large(1000)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		t, err := Decode(raw)
		if err != nil || len(t.Frontends) != 1000 || len(t.Unparsed) != 0 {
			b.Fatal(err, len(t.Frontends), len(t.Unparsed))
		}
	}
	b.ReportMetric(float64(strings.Count(string(raw), "\n")), "lines")
}
