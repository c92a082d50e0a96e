package cilium

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// Without the counts every slot is in use, and the time of affinity is unknown.
func TestDecodeWithoutCounts(t *testing.T) {
	raw := evidence(t, "made")
	raw.Frontends = nil
	table, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range table.Frontends {
		if f.Endpoint() == "10.97.0.25:80/TCP" && len(f.Backends) == 3 {
			for _, b := range f.Backends {
				if b.State != collect.Active || b.Probability != 1./3 {
					t.Errorf("backend %+v", b)
				}
			}
		}
	}
	affinity := 0
	for _, text := range texts(table.Unparsed) {
		if strings.HasSuffix(text, "# the time of session affinity is not known") {
			affinity++
		}
	}
	if affinity != 3 {
		t.Errorf("%d frontends with affinity of unknown time, want 3", affinity)
	}
}

// The agent prints its maps in no order, and so might their JSON be.
func TestDecodeOrder(t *testing.T) {
	raw := evidence(t, "made")
	want, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		shuffled := Raw{LB: shuffle(t, raw.LB, seed), Frontends: shuffle(t, raw.Frontends, seed+1), Status: raw.Status}
		got, err := Decode(shuffled)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(unnumbered(got), unnumbered(want)) {
			t.Fatalf("seed %d: another table", seed)
		}
	}
}

func shuffle(t *testing.T, raw []byte, seed uint64) []byte {
	t.Helper()
	root, err := jsonlines.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	members, err := root.Members()
	if err != nil {
		t.Fatal(err)
	}
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var parts []string
	for _, m := range members {
		key, err := json.Marshal(m.Name)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(key)+":"+string(m.Raw))
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

func unnumbered(table collect.ServiceTable) collect.ServiceTable {
	for i := range table.Frontends {
		table.Frontends[i].Line.Number = 0
		for j := range table.Frontends[i].Backends {
			table.Frontends[i].Backends[j].Line.Number = 0
		}
	}
	for i := range table.Unparsed {
		table.Unparsed[i].Number = 0
	}
	table.Unparsed = unparsed(table.Unparsed).sorted()
	return table
}
