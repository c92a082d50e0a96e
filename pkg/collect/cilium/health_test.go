package cilium

import (
	"reflect"
	"strings"
	"testing"
)

func TestDecodeHealth(t *testing.T) {
	const path = `{"icmp":{"latency":1},"http":{"latency":1},"ip":"172.18.0.3"}`
	const failed = `{"icmp":{"status":"Connection timed out"},"http":{"latency":1}}`
	node := func(name, host, endpoint string) string {
		return `{"name":"` + name + `","host":{"primary-address":` + host + `,"secondary-addresses":null},` +
			`"health-endpoint":{"primary-address":` + endpoint + `,"secondary-addresses":null}}`
	}
	tests := []struct {
		name, nodes string
		want        Health
	}{
		{"all answered", node("a", path, path) + "," + node("b", path, path), Health{Reachable: 2, Total: 2}},
		{"not yet probed", "", Health{}},
		{"host fails", node("a", failed, path), Health{Total: 1, Unreachable: []string{"a"}}},
		{"endpoint fails", node("a", path, failed), Health{Total: 1, Unreachable: []string{"a"}}},
		{"sorted", node("b", path, failed) + "," + node("a", failed, path), Health{Total: 2, Unreachable: []string{"a", "b"}}},
		{"HTTP fails, ICMP is not known", node("a", path, `{"http":{"status":"refused"}}`), Health{Total: 1, Unreachable: []string{"a"}}},
		{"HTTP is not known", node("a", path, `{"icmp":{}}`), Health{Reachable: 1, Total: 1, Unproven: []string{"a"}}},
		{"no primary address", node("a", path, `null`), Health{Total: 1, Unreachable: []string{"a"}}},
		{"no endpoint", `{"name":"a","host":{"primary-address":` + path + `}}`, Health{Reachable: 1, Total: 1, Unproven: []string{"a"}}},
		{
			"a secondary address fails",
			`{"name":"a","host":{"primary-address":` + path + `,"secondary-addresses":[` + path + `,` + failed + `]},"health-endpoint":{"primary-address":` + path + `}}`,
			Health{Total: 1, Unreachable: []string{"a"}},
		},
		{
			"the deprecated endpoint does not count",
			`{"name":"a","endpoint":` + failed + `,"host":{"primary-address":` + path + `},"health-endpoint":{"primary-address":` + path + `}}`,
			Health{Reachable: 1, Total: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			health, err := DecodeHealth([]byte(`{"local":{"name":"a"},"nodes":[` + tt.nodes + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(health, tt.want) {
				t.Errorf("got %+v, want %+v", health, tt.want)
			}
		})
	}
}

// What the text of the same moment calls "2/3 reachable".
func TestDecodeHealthEarly(t *testing.T) {
	health, err := DecodeHealth(read(t, "made", HealthFile))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Health{Reachable: 2, Total: 3, Unreachable: []string{"cil-worker2"}}); !reflect.DeepEqual(health, want) {
		t.Errorf("got %+v, want %+v", health, want)
	}
}

func TestDecodeHealthErrors(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":              "",
		"truncated":            `{"nodes":[`,
		"null":                 "null",
		"an array":             "[]",
		"the text form":        "Cluster health:   3/3 reachable\n",
		"a node that is none":  `{"nodes":[null]}`,
		"a node without name":  `{"nodes":[{"host":{}}]}`,
		"a number for nodes":   `{"nodes":3}`,
		"a number for a state": `{"nodes":[{"name":"a","host":{"primary-address":{"icmp":{"status":1}}}}]}`,
	} {
		health, err := DecodeHealth([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), HealthFile+": ") {
			t.Errorf("%s: error %v and %+v", name, err, health)
		}
	}
}
