package check

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

// TestRoundRobin gives a recorded run the kernel state of IPVS, made up from
// the expected table, and connections in turn.
func TestRoundRobin(t *testing.T) {
	inTurn := func(_ string, i int) int { return i % 2 }
	tests := []struct {
		name      string
		backend   func(entry string, i int) int
		change    func(r *recorded)
		table     collect.Verdict
		selection collect.Verdict
		reason    string
	}{
		{"in turn", inTurn, func(*recorded) {}, collect.Pass, collect.Pass, ""},
		{"one out of turn, counts balanced", func(entry string, i int) int {
			if entry == "clusterip-by-name" && (i == 4 || i == 5) {
				return (i + 1) % 2
			}
			return i % 2
		}, func(*recorded) {}, collect.Pass, collect.Fail, "client/clusterip-by-name.jsonl: connections 4 and 5 were both answered by"},
		{"random", func(_ string, i int) int { return i * i / 3 % 2 }, func(*recorded) {}, collect.Pass, collect.Fail, "connections 1 and 2"},
		{"another scheduler", inTurn, func(r *recorded) {
			r.replace("worker/ip_vs.txt", " rr", " lc")
		}, collect.Fail, collect.Pass, ""},
		{"another weight", inTurn, func(r *recorded) {
			r.replace("worker/ip_vs.txt", "Masq    1 ", "Masq    7 ")
		}, collect.Fail, collect.Pass, ""},
		{"a backend that takes no new connections", inTurn, func(r *recorded) {
			r.replace("worker/ip_vs.txt", "Masq    1 ", "Masq    0 ")
		}, collect.Fail, collect.Pass, ""},
		{"one more, that takes none", inTurn, func(r *recorded) {
			r.replace("worker/ip_vs.txt", `(  -> )\w+(:\w+ +Masq +)1 .*\n`, "${0}${1}0AF40909${2}0      0          0\n")
		}, collect.Pass, collect.Pass, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := record(t, "iptables")
			r.scenario.Spec.Expect.Encoding, r.scenario.Spec.Expect.Selection = "ipvs", "round-robin"
			r.experiment.Spec.Checks = []string{"kernel.table", "traffic.selection"}
			r.programIPVS()
			r.send(12, test.backend)
			test.change(r)
			checks := r.judge()
			if c := checks["kernel.table"]; c.Verdict != test.table {
				t.Errorf("kernel.table is %s, want %s: %s", c.Verdict, test.table, c.Reason)
			}
			c := checks["traffic.selection"]
			if c.Verdict != test.selection || !strings.Contains(c.Reason, test.reason) {
				t.Errorf("traffic.selection is %s (%s), want %s (%s)", c.Verdict, c.Reason, test.selection, test.reason)
			}
		})
	}
}

// programIPVS writes the files of a kernel that has the expected table.
func (r *recorded) programIPVS() {
	r.Helper()
	e, err := evidence.Decode(r.raw, r.scenario, r.experiment)
	if err != nil {
		r.Fatal(err)
	}
	hex := func(b [4]byte) string { return fmt.Sprintf("%02X%02X%02X%02X", b[0], b[1], b[2], b[3]) }
	for _, node := range e.Nodes {
		table := "IP Virtual Server version 1.2.1 (size=4096)\nProt LocalAddress:Port Scheduler Flags\n" +
			"  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n"
		sets := "create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536\ncreate KUBE-NODE-PORT-TCP bitmap:port range 0-65535\n"
		for _, f := range e.Objects.Expected.Frontends {
			address := f.Address
			if f.Kind == collect.NodePort {
				address = node.InternalIP
				sets += fmt.Sprintf("add KUBE-NODE-PORT-TCP %d\n", f.Port)
			} else {
				sets += fmt.Sprintf("add KUBE-CLUSTER-IP %s,%s:%d\n", address, strings.ToLower(f.Protocol), f.Port)
			}
			table += fmt.Sprintf("%s  %s:%04X rr  \n", f.Protocol, hex(address.As4()), f.Port)
			for _, b := range f.Backends {
				table += fmt.Sprintf("  -> %s:%04X      Masq    1      0          0         \n", hex(b.Address.As4()), b.Port)
			}
		}
		for file, text := range map[string]string{"ip_vs.txt": table, "ipset.txt": sets} {
			r.outcome(node.Role+"/"+file, collect.Captured, "")
			r.raw[node.Role+"/"+file].Data = []byte(text)
		}
	}
}

func TestPValue(t *testing.T) {
	half := []float64{0.5, 0.5}
	third := []float64{1. / 3, 1. / 3, 1. / 3}
	tests := []struct {
		counts []int
		shares []float64
		want   float64
	}{
		{[]int{12, 0}, half, 2.0 / 4096},
		{[]int{11, 1}, half, 2 * 13.0 / 4096},
		{[]int{6, 6}, half, 1},
		{[]int{107, 93}, half, 0.3580},
		{[]int{0, 12}, []float64{0, 1}, 1},
		{[]int{1, 11}, []float64{0, 1}, 0},
		{[]int{3, 1}, []float64{0.9, 0.1}, 0.3439}, // all but 0.9^4
		{[]int{3, 0, 0}, third, 1.0 / 9},
		{[]int{1, 1, 1}, third, 1},
		{[]int{0, 0}, half, 1},
		{[]int{3400, 3300, 3300}, third, 0.3679}, // χ² is 2 with two degrees of freedom: exp(-1)
	}
	for _, test := range tests {
		if got := pValue(test.counts, test.shares); math.Abs(got-test.want) > 5e-5 {
			t.Errorf("pValue(%v, %v) = %.5f, want %.5f", test.counts, test.shares, got, test.want)
		}
	}
}

func TestHolm(t *testing.T) {
	tests := []struct {
		pValues []float64
		want    []bool
	}{
		{[]float64{0.01, 0.04, 0.03, 0.005}, []bool{true, false, false, true}}, // 0.0125, 0.0167, 0.025
		{[]float64{0.02, 0.02, 0.02}, []bool{false, false, false}},
		{[]float64{0.05}, []bool{true}},
	}
	for _, test := range tests {
		if got := holm(test.pValues, 0.05); fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("holm(%v) = %v, want %v", test.pValues, got, test.want)
		}
	}
}

func TestTogether(t *testing.T) {
	for _, test := range []struct {
		pValues []float64
		want    float64
	}{
		{[]float64{0.5, 0.5}, 0.5966}, // 1 - pchisq(-4 * log(0.5), 4)
		{[]float64{1, 1, 1}, 1},
		{[]float64{0.5, 0}, 0},
	} {
		if got := together(test.pValues); math.Abs(got-test.want) > 5e-5 {
			t.Errorf("together(%v) = %.5f, want %.5f", test.pValues, got, test.want)
		}
	}
}

// TestDetectable: the share found must have the power that is claimed, by
// counting outcomes, and one step less must not.
func TestDetectable(t *testing.T) {
	if share, ok := detectable(12, 0.5, 0.001/9); ok {
		t.Errorf("12 connections show a share of %v at 0.001 over 9 tests; want nothing", share)
	}
	for _, n := range []int{20, 200, 1000} {
		share, ok := detectable(n, 0.5, 0.001/9)
		if !ok {
			t.Fatalf("%d connections show nothing", n)
		}
		power := func(q float64) float64 {
			sum := 0.0
			for k := n / 2; k <= n; k++ {
				if pValue([]int{k, n - k}, []float64{0.5, 0.5}) <= 0.001/9 {
					log := func(n int) float64 { l, _ := math.Lgamma(float64(n + 1)); return l }
					sum += math.Exp(log(n) - log(k) - log(n-k) + float64(k)*math.Log(q) + float64(n-k)*math.Log(1-q))
				}
			}
			return sum
		}
		if power(share) < 0.8 || power(share-0.01) >= 0.8 {
			t.Errorf("n = %d: power at %.2f is %.3f, at %.2f %.3f", n, share, power(share), share-0.01, power(share-0.01))
		}
	}
}
