package traffic

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// Two attempts as a dial prints them: translated at connect(2), and refused.
const (
	answered = `{"sequence":1,"entry":"cluster-ip","target":"echo-server:80","dialedAddress":"10.97.156.17:80","localAddress":"10.245.1.99:38998","peername":"10.97.156.17:80","kernelRemote":"10.245.2.76:8080","backend":{"pod":"echo-server-7c9d","node":"worker","podIP":"10.245.2.76"},"sourceSeen":"10.245.1.99:38998","connectMicroseconds":412,"error":""}` + "\n"
	refused  = `{"sequence":2,"entry":"cluster-ip","target":"echo-server:80","dialedAddress":"10.97.156.17:80","localAddress":"","peername":"","kernelRemote":"","backend":{"pod":"","node":"","podIP":""},"sourceSeen":"","connectMicroseconds":97,"error":"dial tcp 10.97.156.17:80: connect: connection refused"}` + "\n"
)

func TestParse(t *testing.T) {
	got, err := Parse([]byte(answered + refused))
	if err != nil {
		t.Fatal(err)
	}
	want := []Attempt{
		{
			Sequence:            1,
			Entry:               "cluster-ip",
			Target:              "echo-server:80",
			DialedAddress:       netip.MustParseAddrPort("10.97.156.17:80"),
			LocalAddress:        netip.MustParseAddrPort("10.245.1.99:38998"),
			Peername:            netip.MustParseAddrPort("10.97.156.17:80"),
			KernelRemote:        netip.MustParseAddrPort("10.245.2.76:8080"),
			Backend:             Identity{Pod: "echo-server-7c9d", Node: "worker", PodIP: netip.MustParseAddr("10.245.2.76")},
			SourceSeen:          netip.MustParseAddrPort("10.245.1.99:38998"),
			ConnectMicroseconds: 412,
		},
		{
			Sequence:            2,
			Entry:               "cluster-ip",
			Target:              "echo-server:80",
			DialedAddress:       netip.MustParseAddrPort("10.97.156.17:80"),
			ConnectMicroseconds: 97,
			Error:               "dial tcp 10.97.156.17:80: connect: connection refused",
		},
	}
	if !slices.Equal(got, want) {
		t.Errorf("attempts are\n%+v, want\n%+v", got, want)
	}
	if again := encode(t, got); string(again) != answered+refused {
		t.Errorf("written again they are\n%s, want\n%s", again, answered+refused)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name string
		raw  string
		want string
	}{
		{"unknown field", answered + `{"sequence":2,"latency":1}` + "\n", "line 2"},
		{"line cut off", answered + refused[:40], "line 2"},
		{"blank line", answered + "\n" + refused, "line 2"},
		{"message between the lines", answered + "command terminated\n" + refused, "line 2"},
		{"two attempts in a line", strings.TrimSpace(answered) + refused, "line 1"},
		{"address no address", `{"sequence":1,"peername":"10.97.156.17"}`, "line 1"},
		{"first line missing", refused, "line 1: sequence is 2"},
		{"same line twice", answered + answered, "line 2: sequence is 1"},
		{"null", "null\n", "line 1: sequence is 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse([]byte(test.raw))
			if err == nil {
				t.Fatalf("attempts are %+v, want an error", got)
			}
			if !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error is %q, want it to begin with %q", err, test.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(answered + refused))
	f.Add([]byte("{\"sequence\":1}\nnull"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := Parse(raw)
		if err != nil {
			return
		}
		second, err := Parse(encode(t, first))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(first, second) {
			t.Errorf("written and read again they are\n%+v, want\n%+v", second, first)
		}
	})
}

func encode(t *testing.T, attempts []Attempt) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, a := range attempts {
		if err := json.NewEncoder(&out).Encode(a); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}
