package calico

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"service-dataplane/pkg/collect"
)

func TestDecodeAffinity(t *testing.T) {
	entries, err := DecodeAffinity(read(t, "affinity", AffinityFile))
	if err != nil {
		t.Fatal(err)
	}
	want := Affinity{
		Client:    netip.MustParseAddr("172.18.0.1"),
		Protocol:  "TCP",
		Frontend:  netip.MustParseAddrPort("172.18.0.7:30081"),
		Backend:   netip.MustParseAddrPort("10.244.146.67:8080"),
		SinceBoot: 79*time.Minute + 50843106774*time.Nanosecond,
		Line: collect.Line{
			Number: 14,
			Text:   "client 172.18.0.1 svc proto 6 172.18.0.7:30081 -> 10.244.146.67:8080 ts 1h19m50.843106774s",
		},
	}
	if len(entries) != 2 || entries[1] != want {
		t.Errorf("got %+v, want two with %+v", entries, want)
	}
	if !entries[0].Client.IsUnspecified() {
		t.Errorf("the client of connect() is %s", entries[0].Client)
	}
}

func TestDecodeAffinityNone(t *testing.T) {
	for _, node := range []string{"worker", "worker2", "control-plane"} {
		if entries, err := DecodeAffinity(read(t, node, AffinityFile)); err != nil || len(entries) != 0 {
			t.Errorf("%s: %v, %v", node, entries, err)
		}
	}
}

func TestDecodeAffinityErrors(t *testing.T) {
	good := string(read(t, "affinity", AffinityFile))
	tests := []struct{ name, old, new, want string }{
		{"nothing", good, "", "line 1: unexpected end"},
		{"truncated", good, good[:100], "line 7: unexpected end"},
		{"the text form", good, "client 0.0.0.0 svc proto 6 10.96.221.2:80 -> 10.244.146.67:8080 ts 1h\n", "line 1: invalid character"},
		{"an object", good, "{\n}", "line 1: {} where [ is due"},
		{"no address", "10.96.221.2", "svc", "line 2: frontend: "},
		{"no client", "0.0.0.0", "", "line 2: client: "},
		{"no backend", "10.244.146.67", "missing", "line 2: backend: "},
		{"no time", "1h19m50.782592578s", "yesterday", "line 2: timestamp: "},
		{"another protocol", `"proto": 6`, `"proto": 1`, "line 2: protocol 1 is none of a Service"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, err := DecodeAffinity([]byte(strings.Replace(good, tt.old, tt.new, 1)))
			if err == nil {
				t.Fatalf("decoded as %+v", entries)
			}
			if !strings.HasPrefix(err.Error(), AffinityFile+": "+tt.want) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
		})
	}
}

// The dump does not print the time of session affinity: a Service that has it is in
// the table with every frontend, and beside it.
func TestDecodeSessionAffinity(t *testing.T) {
	raw := Raw{NAT: read(t, "affinity", NATFile)}
	compare(t, texts(decode(t, raw).Unparsed), nil)
	raw.Affinity = read(t, "affinity", AffinityFile)
	table := decode(t, raw)
	if len(table.Frontends) != 9 {
		t.Errorf("%d frontends, want 9", len(table.Frontends))
	}
	var want []string
	for _, address := range []string{"10.96.221.2 port 80", "10.244.146.64 port 30081", "172.18.0.7 port 30081", "255.255.255.255 port 30081"} {
		want = append(want, address+" proto 6 id 6 count 2 local 1 # the time of session affinity is not known")
	}
	got := texts(table.Unparsed)
	for _, text := range want {
		if !strings.Contains(strings.Join(got, "\n"), text) {
			t.Errorf("unparsed lacks %q", text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("unparsed:\n%s", strings.Join(got, "\n"))
	}
}

func TestDecodeAffinityEntry(t *testing.T) {
	const dump = "10.96.0.10 port 53 proto 17 id 1 count 1 local 0\n\t1:0\t 10.244.0.1:53\n" +
		"255.255.255.255 port 30053 proto 17 id 1 count 1 local 0\n\t1:0\t 10.244.0.1:53\n"
	tests := []struct {
		name, client, addr string
		port               int
		backend, want      string
	}{
		{"an unconnected socket proves no affinity", "0.0.0.0", "10.96.0.10", 53, "10.244.0.1", ""},
		{"a client does", "172.18.0.1", "10.96.0.10", 53, "10.244.0.1", "the time of session affinity is not known"},
		{"another node's port", "172.18.0.1", "172.18.0.9", 30053, "10.244.0.1", "the time of session affinity is not known"},
		{"a backend that is gone", "0.0.0.0", "10.96.0.10", 53, "10.244.0.9", "not a backend of its frontend"},
		{"a frontend that is gone", "0.0.0.0", "10.96.0.11", 53, "10.244.0.1", "no such frontend"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entry := fmt.Sprintf(`[{"client_ip": %q, "proto": 17, "addr": %q, "port": %d, "backend": {"addr": %q, "port": 53}, "timestamp": "1s"}]`,
				tt.client, tt.addr, tt.port, tt.backend)
			table := decode(t, Raw{NATText: []byte(dump), Affinity: []byte(entry)})
			got := strings.Join(texts(table.Unparsed), "\n")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("unparsed %q, want %q", got, tt.want)
			}
			if strings.Contains(got, AffinityFile) && !strings.Contains(got, AffinityFile+": client ") {
				t.Errorf("unparsed %q does not quote the entry", got)
			}
		})
	}
}
