package calico

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

func FuzzDecode(f *testing.F) {
	// Short seeds: the engine spends its time on shrinking long ones.
	for _, frontend := range []string{
		`"addr":"10.96.0.1","port":80,"proto":6,"id":1,"count":1,"local":0`,
		`"addr":"255.255.255.255","port":30081,"proto":6,"id":1,"count":1,"local":1,"flags":"external-local, internal-local"`,
		`"addr":"203.0.113.6","port":80,"proto":6,"src_cidr":"192.0.2.0/25","id":1,"count":-1,"local":0`,
		`"addr":"fd00::1","port":80,"proto":17,"id":4294967295,"count":4294967294,"local":4294967295,"flags":"nat-exclude"`,
	} {
		f.Add([]byte(`[{"frontend":{`+frontend+`},"backends":[{"addr":"10.1.0.1","port":8080},{"addr":"missing","port":0}]},{"frontend":{},"backends":null}]`),
			[]byte(`[{"client_ip":"0.0.0.0","proto":6,"addr":"10.96.0.1","port":80,"backend":{"addr":"10.1.0.1","port":8080},"timestamp":"1h"}]`))
	}
	f.Fuzz(func(t *testing.T, nat, affinity []byte) {
		table := checkDecode(t, Raw{NAT: nat, Affinity: affinity})
		if table == nil {
			return
		}
		rows, rest, err := readJSON(nat)
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := parseJSON(NATFile, nat)
		if elements, _ := whole.ElementsOrNull(); len(rows)+len(rest) != len(elements) {
			t.Errorf("%d rows and %d others of %d elements", len(rows), len(rest), len(elements))
		}
		checkRows(t, rows, rest, *table)
	})
}

func FuzzDecodeText(f *testing.F) {
	for _, text := range []string{
		"10.96.0.1 port 80 proto 6 id 1 count 2 local 1\n\t1:0\t 10.1.0.1:8080\n\t1:1\t is missing\n",
		"fd00::1 port 80 proto 132 id 1 count 1 local 1 flags external-local, internal-local src fd00::/64\n\t1:0\t [fd00::2]:8080\n",
		"1:0 10.1.0.1:80\nx\n10.96.0.1 port 80 proto 6 id 1 count -1 local 0\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) == 0 {
			return
		}
		table := checkDecode(t, Raw{NATText: text})
		if table == nil {
			return
		}
		rows, rest, err := readText(text)
		if err != nil {
			t.Fatal(err)
		}
		filled := 0
		for line := range strings.Lines(string(text)) {
			if strings.TrimSpace(line) != "" {
				filled++
			}
		}
		read := len(rest)
		for _, r := range rows {
			read += len(r.lines())
		}
		if read != filled {
			t.Errorf("%d lines read of %d", read, filled)
		}
		checkRows(t, rows, rest, *table)
	})
}

// checkDecode gives nil where the evidence is an error.
func checkDecode(t *testing.T, raw Raw) *collect.ServiceTable {
	t.Helper()
	table, err := Decode(raw)
	if err != nil {
		if len(table.Frontends)+len(table.Unparsed) > 0 {
			t.Errorf("a table together with %v", err)
		}
		return nil
	}
	if again, _ := Decode(raw); !reflect.DeepEqual(again, table) {
		t.Error("a second decoding differs")
	}
	for _, f := range table.Frontends {
		if f.Port == 0 || f.Protocol == "" || f.Line.Text == "" || f.AffinitySeconds != 0 {
			t.Errorf("frontend %+v", f)
		}
		if (f.Selection == "") == (f.NoBackends == "") {
			t.Errorf("selection %q and no backends %q: %+v", f.Selection, f.NoBackends, f)
		}
		sum := 0.0
		for _, b := range f.Backends {
			sum += b.Probability
			if !b.Address.IsValid() || b.Port == 0 || b.State != collect.Active {
				t.Errorf("backend %+v", b)
			}
		}
		if len(table.Unparsed) == 0 && f.Selection != "" && math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: probabilities add up to %v", f.Endpoint(), sum)
		}
	}
	return &table
}

// checkRows: every row and every backend that was read is in the table or beside
// it. Two are neither: the blackhole of source ranges, and the other nodes'
// backends where the policy is local.
func checkRows(t *testing.T, rows []row, rest []collect.Line, table collect.ServiceTable) {
	t.Helper()
	shown := map[collect.Line]bool{}
	policies := map[collect.Line]collect.Policy{}
	for _, f := range table.Frontends {
		shown[f.Line] = true
		policies[f.Line] = f.Policy
		for _, b := range f.Backends {
			shown[b.Line] = true
		}
	}
	beside := map[int]string{}
	for _, l := range table.Unparsed {
		beside[l.Number] += "\n" + l.Text
	}
	visible := func(l collect.Line) bool { return shown[l] || strings.Contains(beside[l.Number], "\n"+l.Text+" # ") }
	for _, l := range rest {
		if !strings.Contains(beside[l.Number], "\n"+l.Text) {
			t.Errorf("%s is nowhere", l)
		}
	}
	kinds := newKinds(rows)
	for _, r := range rows {
		if !visible(r.line) && (r.count != blackhole || !kinds.hasRanges(r)) {
			t.Errorf("%s is nowhere", r.line)
		}
		for ordinal, s := range r.slots {
			elsewhere := policies[r.line] == collect.PolicyLocal && ordinal >= int(r.local)
			if !visible(s.line) && !elsewhere {
				t.Errorf("%s of %s is nowhere", s.line, r.line)
			}
		}
	}
}
