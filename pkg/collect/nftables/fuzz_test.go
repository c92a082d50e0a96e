package nftables

import (
	"os"
	"path/filepath"
	"testing"

	"service-dataplane/pkg/collect"
)

// A Service of two backends, without what kube-proxy writes besides.
const (
	small = `table ip kube-proxy {
map service-ips {
elements = { 10.96.0.1 . tcp . 443 : goto service-A-a/b/tcp/c }
}
chain service-A-a/b/tcp/c {
ip saddr @affinity-a goto endpoint-a/1
numgen random mod 2 vmap { 0 : goto endpoint-a/1, 1 : goto endpoint-a/2 }
}
chain endpoint-a/1 {
meta l4proto tcp dnat to 10.0.0.1:6443
}
chain endpoint-a/2 {
meta l4proto tcp dnat to 10.0.0.2:6443
}
}
`
	smallJSON = `{"nftables":[{"table":{"family":"ip","name":"kube-proxy"}},
{"map":{"family":"ip","table":"kube-proxy","name":"service-ips","elem":[[{"concat":["10.96.0.1","tcp",443]},{"goto":{"target":"service-A-a/b/tcp/c"}}]]}},
{"chain":{"family":"ip","table":"kube-proxy","name":"service-A-a/b/tcp/c"}},
{"chain":{"family":"ip","table":"kube-proxy","name":"endpoint-a/1"}},
{"rule":{"family":"ip","table":"kube-proxy","chain":"service-A-a/b/tcp/c","expr":[{"vmap":{"key":{"numgen":{"mode":"random","mod":1,"offset":0}},"data":{"set":[[0,{"goto":{"target":"endpoint-a/1"}}]]}}}]}},
{"rule":{"family":"ip","table":"kube-proxy","chain":"endpoint-a/1","expr":[{"match":{"op":"==","left":{"meta":{"key":"l4proto"}},"right":"tcp"}},{"dnat":{"addr":"10.0.0.1","port":6443}}]}}]}`
)

func FuzzDecodeText(f *testing.F) {
	f.Add([]byte(small))
	seed(f, ".txt")
	f.Fuzz(func(t *testing.T, raw []byte) {
		table, err := DecodeText(raw)
		checkInvariants(t, table, err)
	})
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(smallJSON))
	seed(f, ".json")
	f.Fuzz(func(t *testing.T, raw []byte) {
		table, err := DecodeJSON(raw)
		checkInvariants(t, table, err)
	})
}

// seed adds the listings made by hand; those recorded are too long to mutate.
func seed(f *testing.F, ext string) {
	files, err := filepath.Glob("testdata/made/*" + ext)
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
}

func checkInvariants(t *testing.T, table collect.ServiceTable, err error) {
	if err != nil {
		if len(table.Frontends) > 0 {
			t.Errorf("frontends together with %v", err)
		}
		return
	}
	for _, f := range table.Frontends {
		if f.Port == 0 || f.Protocol == "" || !f.Address.IsValid() && f.Kind != collect.NodePort {
			t.Errorf("frontend of no address: %+v", f)
		}
		sum := 0.0
		for _, b := range f.Backends {
			if b.Port == 0 || !b.Address.IsValid() || b.Probability <= 0 || b.State != collect.Active {
				t.Errorf("backend %+v of %s", b, f.Endpoint())
			}
			sum += b.Probability
		}
		if len(f.Backends) > 0 && (sum < 0.999999 || sum > 1.000001) {
			t.Errorf("probabilities of %s add up to %v", f.Endpoint(), sum)
		}
		if len(f.Backends) > 0 && f.NoBackends != "" {
			t.Errorf("%s has backends and %s", f.Endpoint(), f.NoBackends)
		}
	}
	for _, l := range table.Unparsed {
		if l.Text == "" {
			t.Errorf("an unparsed line without text: %+v", l)
		}
	}
}
