package cilium

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"worker", "made"} {
		raw := evidence(f, name)
		f.Add(raw.LB, raw.Frontends, raw.Status)
		f.Add(raw.LB, []byte{}, []byte{})
	}
	f.Add([]byte(`{"10.0.0.1:80/TCP (1)":["10.1.0.1:8080/TCP (1) (1)"],"10.0.0.1:80/TCP (0)":["0.0.0.0:0 (1) (0) [ClusterIP, non-routable] "]}`),
		[]byte(`{"10.0.0.1:80/TCP (0)":["0 1[0] (1) [0x0 0x0]"],"10.0.0.1:80/TCP (1)":["7 0[0] (1) [0x0 0x0]"]}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, lb, frontends, status []byte) {
		checkDecode(t, Raw{LB: lb, Frontends: frontends, Status: status})
	})
}

// FuzzDecodeRows changes words of valid JSON: a frontend with a slot, and a row
// of any key.
func FuzzDecodeRows(f *testing.F) {
	f.Add("0.0.0.0:0 (1) (0) [ClusterIP, sessionAffinity, non-routable] ", "10.1.0.1:8080/TCP (1) (1)", "10800 1[0] (1) [0x0 0x0]",
		"10.0.0.1:80/TCP (2)", "10.1.0.2:8080/TCP (1) (2)")
	f.Add("0.0.0.0:0 (1) (0) [NodePort, Local, two-scopes] ", "backend 8 not found", "0 0[1] (1) [0x46 0x20]",
		"[fd00::1]:80/UDP/i (0)", "[::]:0 (2) (0) [LoadBalancer, l7-load-balancer] (L7LB Proxy Port: 1)")
	f.Add("0.0.0.0:0 (1) (0) [HostPort] ", "10.1.0.1:8080/TCP (1) (1)", "16777216 1[0] (1) [0x8 0x0]",
		"10.0.0.1:0/ANY (0)", "0.0.0.0:0 (0) (0) [ClusterIP, non-routable] ")
	f.Fuzz(func(t *testing.T, master, slot, counts, key, entry string) {
		const at = "10.0.0.1:80/TCP"
		checkDecode(t, Raw{
			LB:        dump(t, at+" (0)", master, at+" (1)", slot, key, entry),
			Frontends: dump(t, at+" (0)", counts, at+" (1)", "7 0[0] (1) [0x0 0x0]", key, counts),
		})
	})
}

// dump makes a file of one-entry rows; pairs are keys and entries.
func dump(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		key, err := json.Marshal(pairs[i])
		if err != nil {
			t.Fatal(err)
		}
		entry, err := json.Marshal(pairs[i+1])
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, fmt.Sprintf("%s: [%s]", key, entry))
	}
	return []byte("{" + strings.Join(members, ",\n") + "}")
}

func checkDecode(t *testing.T, raw Raw) {
	t.Helper()
	table, err := Decode(raw)
	if err != nil {
		if len(table.Frontends)+len(table.Unparsed) > 0 {
			t.Errorf("a table together with %v", err)
		}
		return
	}
	checkTable(t, table)
	if again, _ := Decode(raw); !reflect.DeepEqual(again, table) {
		t.Error("a second decoding differs")
	}
	rows, err := readRows(LBFile, raw.LB)
	if err != nil {
		t.Fatal(err)
	}
	shown := shownLines(table)
	for _, r := range rows {
		k, ok := parseKey(r.key)
		if !shown[r.line] && (!ok || !k.wildcard()) {
			t.Errorf("row %s is nowhere", r.line)
		}
	}
}

func FuzzDecodeServices(f *testing.F) {
	f.Add(read(f, "made", ServicesFile))
	f.Add([]byte(`[{"spec":{"id":1,"flags":{"type":"NodePort"},"frontend-address":{"ip":"0.0.0.0","port":30081,"protocol":"TCP","scope":"external"},"backend-addresses":[{"ip":"10.1.0.1","port":80,"protocol":"TCP","state":"active"}]}}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		table, err := DecodeServices(raw)
		if err != nil {
			if len(table.Frontends)+len(table.Unparsed) > 0 {
				t.Errorf("a table together with %v", err)
			}
			return
		}
		checkTable(t, table)
		if again, _ := DecodeServices(raw); !reflect.DeepEqual(again, table) {
			t.Error("a second decoding differs")
		}
		root, _ := jsonlines.Parse(raw)
		entries, _ := root.Elements()
		if len(table.Frontends)+len(table.Unparsed) < len(entries) {
			t.Errorf("%d entries, of which some are nowhere", len(entries))
		}
	})
}

// checkTable checks what every table promises.
func checkTable(t *testing.T, table collect.ServiceTable) {
	t.Helper()
	for _, f := range table.Frontends {
		if f.Port == 0 || !isProtocol(f.Protocol) || f.Kind == "" || f.Policy == "" || f.Backends == nil ||
			!f.Address.IsValid() && f.Kind != collect.NodePort {
			t.Errorf("frontend %+v", f)
		}
		sum := 0.0
		for _, b := range f.Backends {
			if b.Port == 0 || !b.Address.IsValid() || b.State == collect.Active && b.Probability <= 0 || b.State == collect.Quarantined && b.Probability != 0 {
				t.Errorf("backend %+v of %s", b, f.Endpoint())
			}
			sum += b.Probability
		}
		if sum != 0 && math.Abs(sum-1) > 1e-6 {
			t.Errorf("probabilities of %s add up to %v", f.Endpoint(), sum)
		}
	}
	for _, l := range table.Unparsed {
		if !strings.Contains(l.Text, " # ") {
			t.Errorf("unparsed without a reason: %+v", l)
		}
	}
	sorted := collect.ServiceTable{Encoding: table.Encoding, Frontends: slices.Clone(table.Frontends), Unparsed: table.Unparsed}
	if sorted.Sort(); !reflect.DeepEqual(sorted, table) {
		t.Error("sorting the table changes it")
	}
}

// shownLines are the rows that the table quotes, without the reasons.
func shownLines(table collect.ServiceTable) map[collect.Line]bool {
	shown := map[collect.Line]bool{}
	for _, f := range table.Frontends {
		shown[f.Line] = true
		for _, b := range f.Backends {
			shown[b.Line] = true
		}
	}
	for _, l := range table.Unparsed {
		l.Text = l.Text[:strings.LastIndex(l.Text, " # ")]
		shown[l] = true
	}
	return shown
}
