package iptables

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

// seed adds every recorded dump, and the rules of one without the rest.
func seed(f *testing.F) {
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txt" {
			return err
		}
		raw, err := os.ReadFile(path)
		f.Add(raw)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(small))
}

// small is one Service with a node port, short enough to be mutated well.
const small = `*nat
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-EXT-A - [0:0]
:KUBE-SVC-A - [0:0]
:KUBE-SEP-A - [0:0]
:KUBE-SEP-B - [0:0]
-A PREROUTING -j KUBE-SERVICES
-A OUTPUT -j KUBE-SERVICES
-A KUBE-SERVICES -d 10.0.0.1/32 -p tcp -m comment --comment "a/b:c cluster IP" -m tcp --dport 80 -j KUBE-SVC-A
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
-A KUBE-NODEPORTS -p tcp -m comment --comment "a/b:c" -m tcp --dport 30000 -j KUBE-EXT-A
-A KUBE-EXT-A -j KUBE-MARK-MASQ
-A KUBE-EXT-A -j KUBE-SVC-A
-A KUBE-SVC-A ! -s 10.1.0.0/16 -d 10.0.0.1/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ
-A KUBE-SVC-A -m recent --rcheck --seconds 9 --reap --name KUBE-SEP-A --rsource -j KUBE-SEP-A
-A KUBE-SVC-A -m recent --rcheck --seconds 9 --reap --name KUBE-SEP-B --rsource -j KUBE-SEP-B
-A KUBE-SVC-A -m statistic --mode random --probability 0.5 -j KUBE-SEP-A
-A KUBE-SVC-A -j KUBE-SEP-B
-A KUBE-SEP-A -s 10.1.0.1/32 -j KUBE-MARK-MASQ
-A KUBE-SEP-A -p tcp -m recent --set --name KUBE-SEP-A --rsource -m tcp -j DNAT --to-destination 10.1.0.1:8080
-A KUBE-SEP-B -p tcp -m recent --set --name KUBE-SEP-B --rsource -m tcp -j DNAT --to-destination 10.1.0.2:8080
COMMIT
`

func FuzzDecode(f *testing.F) {
	seed(f)
	f.Fuzz(checkDecode)
}

// FuzzDecodeRules takes rules in any number and order, and words from one rule
// to another: dumps that iptables-save could print, of rules nobody writes.
func FuzzDecodeRules(f *testing.F) {
	raw, err := os.ReadFile("testdata/made/shapes-nft.txt")
	if err != nil {
		f.Fatal(err)
	}
	var head, rules []string
	for _, line := range strings.Split(string(raw), "\n") {
		switch {
		case strings.HasPrefix(line, "*filter"):
			head, rules = nil, nil
		case strings.HasPrefix(line, ":"):
			head = append(head, line)
		case strings.HasPrefix(line, "-A"):
			rules = append(rules, line)
		case strings.HasPrefix(line, "*nat"):
			rules = nil
		}
	}
	all := make([]byte, 0, 2*len(rules))
	for i := range rules {
		all = append(all, byte(i), 0)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, picks []byte) {
		dump := append([]string{"*nat"}, head...)
		for ; len(picks) > 1; picks = picks[2:] {
			rule := rules[int(picks[0])%len(rules)]
			if other := strings.Fields(rules[int(picks[1])%len(rules)]); picks[1] != 0 {
				words := strings.Fields(rule)
				words[len(words)-1] = other[len(other)-1]
				rule = strings.Join(words, " ")
			}
			dump = append(dump, rule)
		}
		checkDecode(t, []byte(strings.Join(append(dump, "COMMIT"), "\n")))
	})
}

func checkDecode(t *testing.T, raw []byte) {
	table, err := Decode(raw)
	if err != nil {
		if !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("the error names no line: %v", err)
		}
		return
	}
	if again, err := Decode(raw); err != nil || !reflect.DeepEqual(table, again) {
		t.Error("two tables of one dump differ")
	}
	lines := strings.Split(string(raw), "\n")
	quoted := func(l collect.Line) {
		if l.Number < 1 || l.Number > len(lines) || lines[l.Number-1] != l.Text {
			t.Errorf("%s is not a line of the dump", l)
		}
	}
	seen := map[string]bool{}
	for _, f := range table.Frontends {
		if seen[f.Endpoint()] {
			t.Errorf("%s twice", f.Endpoint())
		}
		seen[f.Endpoint()] = true
		quoted(f.Line)
		if f.Port == 0 || f.Protocol == "" || f.Backends == nil {
			t.Errorf("%s has no port, or nil backends", f.Endpoint())
		}
		if len(f.Backends) > 0 && (f.NoBackends != "" || f.Selection != collect.SelectRandom) {
			t.Errorf("%s has backends, %q, and selection %q", f.Endpoint(), f.NoBackends, f.Selection)
		}
		sum := 0.0
		for _, b := range f.Backends {
			quoted(b.Line)
			sum += b.Probability
			if !b.Address.IsValid() || b.Port == 0 || b.Probability <= 0 || b.Probability > 1 {
				t.Errorf("%s has backend %+v", f.Endpoint(), b)
			}
		}
		if len(f.Backends) > 0 && math.Abs(sum-1) > 1e-6 {
			t.Errorf("%s has probabilities that add up to %v", f.Endpoint(), sum)
		}
	}
	for _, l := range table.Unparsed {
		quoted(l)
	}
}

func FuzzCount(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Count(raw)
		if _, decodeErr := Decode(raw); (err != nil) != (decodeErr != nil) {
			t.Fatalf("Count says %v, Decode %v", err, decodeErr)
		}
		lines := strings.Split(string(raw), "\n")
		for _, tally := range []Tally{c.Frontends, c.Services, c.Backends, c.Other} {
			if tally.Rules > 0 != (tally.First.Number > 0) || tally.Rules > 0 && lines[tally.First.Number-1] != tally.First.Text {
				t.Errorf("%d rules, the first is %s", tally.Rules, tally.First)
			}
		}
	})
}
