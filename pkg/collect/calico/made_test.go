package calico

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func TestDecodeMade(t *testing.T) {
	table := decode(t, Raw{NAT: read(t, "made", NATFile)})
	const one, two = " 10.244.146.67=1", " 10.244.95.133=0.5 10.244.146.67=0.5"
	const three = " 10.244.95.133=0.333 10.244.146.67=0.333 10.244.146.68=0.333"
	compare(t, summaries(table), []string{
		"10.96.0.26:80/TCP random cluster" + one, // a ClusterIP beside an ExternalIP
		"172.18.0.7:30082/TCP random" + one,      // the other node's part of 30082
		"198.51.100.9:80/TCP random cluster" + one,
		"203.0.113.6:80/TCP random cluster" + one, // a row a source range
		"203.0.113.6:80/TCP random cluster" + one,
		"203.0.113.7:80/TCP cluster drop", // no source range of this family
		"ClusterIP 10.96.0.1:443/TCP random cluster 172.18.0.5=1",
		"ClusterIP 10.96.0.20:80/TCP cluster reject",
		"ClusterIP 10.96.0.21:80/TCP random cluster" + two,
		"ClusterIP 10.96.0.22:80/TCP random local 10.244.95.133=1",
		"ClusterIP 10.96.0.23:80/TCP random cluster" + three, // "external-local" is not about it
		"ClusterIP 10.96.0.24:80/TCP random cluster" + one,
		"ClusterIP 10.96.0.25:80/TCP random cluster" + one,
		"ClusterIP 10.96.0.27:30084/UDP random cluster" + one, // its NodePort has the same number
		"ClusterIP 10.96.0.28:80/TCP random cluster 10.244.95.133=0.5",
		"ClusterIP 10.96.0.32:80/TCP local reject",
		"ClusterIP 10.96.0.33:5000/SCTP random cluster" + one,
		"ClusterIP 10.96.0.34:80/TCP random cluster" + one,
		"LoadBalancer 203.0.113.5:80/TCP random local 10.244.95.133=1",
		"NodePort *:30081/TCP random cluster" + two,
		"NodePort *:30083/TCP random local 10.244.95.133=1",
		"NodePort *:30084/UDP random cluster" + one,
		"NodePort 10.244.95.128:30081/TCP random cluster" + two,
		"NodePort 10.244.95.128:30082/TCP random cluster" + two, // "internal-local" is not about it
		"NodePort 172.18.0.6:30081/TCP random cluster" + two,
		"NodePort 172.18.0.6:30082/TCP random cluster" + two,
		"NodePort 172.18.0.6:30083/TCP random local 10.244.95.133=1",
		"NodePort 172.18.0.6:30084/UDP random cluster" + one,
	})
	compare(t, texts(table.Unparsed), []string{
		"10:1 is missing # not in the backend map: connections that choose it are refused",
		"10.96.0.29 port 53 proto 17 id 11 count 1 local 0 flags nat-exclude # excluded: connections are not translated",
		"11:0 10.244.146.67:8053 # excluded: connections are not translated",
		"10.96.0.30 port 80 proto 1 id 12 count 1 local 0 # not a port of a Service",
		"12:0 10.244.146.67:8080 # not a port of a Service",
		"10.96.0.31 port 0 proto 6 id 13 count 0 local 0 # not a port of a Service",
		"0.0.0.0 port 80 proto 6 id 14 count 0 local 0 # not an address of a Service",
		`10.96.0.32 port 80 proto 6 id 15 count 1 local 0 flags internal-local, maglev # flag "maglev" is not known`,
		"10.96.0.34 port 80 proto 6 id 17 count 1 local 2 # more local backends than backends",
	})
	golden(t, table, "made", "table.golden.json")
}

// nat dump walks a Go map: each run prints another order.
func TestDecodeOrder(t *testing.T) {
	raw := read(t, "made", NATFile)
	want := unnumbered(decode(t, Raw{NAT: raw}))
	var elements []json.RawMessage
	if err := json.Unmarshal(raw, &elements); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		shuffled := slices.Clone(elements)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		text, err := json.Marshal(shuffled)
		if err != nil {
			t.Fatal(err)
		}
		if got := unnumbered(decode(t, Raw{NAT: text})); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: another table", seed)
		}
	}
}
