package nftables

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	for _, row := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  jump  services ", []string{"jump", "services"}},
		{"policy accept;", []string{"policy", "accept", ";"}},
		{`iifname != "veth*" accept`, []string{"iifname", "!=", `"veth*"`, "accept"}},
		{"vmap { 0 : goto a, 1 : goto b } x", []string{"vmap", "{ 0 : goto a, 1 : goto b }", "x"}},
		{"chain a {", []string{"chain", "a", "{"}},
		{`comment "not closed`, []string{"comment", `"not closed`}},
		{"a,b}", []string{"a", ",", "b", "}"}},
	} {
		if got := words(row.in); !slices.Equal(got, row.want) {
			t.Errorf("words(%q) = %q, want %q", row.in, got, row.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[string]int{
		"3h": 10800, "1m": 60, "1d": 86400, "1d12h": 129600, "2h59m59s944ms": 10799, "500ms": 0,
	} {
		if got, ok := seconds(in); !ok || got != want {
			t.Errorf("seconds(%q) = %d, %v, want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "3", "-3h", "1d-30h", "d", "99999999999999999999d", "1 h"} {
		if got, ok := seconds(in); ok {
			t.Errorf("seconds(%q) = %d", in, got)
		}
	}
}

func TestRender(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{`{"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": "new"}}`, "ct state new"},
		{`{"match": {"op": "!=", "left": {"payload": {"protocol": "ip", "field": "saddr"}}, "right": {"prefix": {"addr": "10.0.0.0", "len": 8}}}}`, "ip saddr != 10.0.0.0/8"},
		{`{"match": {"op": "==", "left": {"&": [{"meta": {"key": "mark"}}, 16384]}, "right": 0}}`, "meta mark & 16384 == 0"},
		{`{"match": {"op": "==", "left": {"fib": {"result": "type", "flags": ["daddr"]}}, "right": "local"}}`, "fib daddr type local"},
		{`{"match": {"op": "==", "left": {"fib": {"result": "type", "flags": "daddr"}}, "right": "local"}}`, "fib daddr type local"},
		{`{"match": {"op": "!=", "left": {"meta": {"key": "iifname"}}, "right": "veth*"}}`, "iifname != veth*"},
		{`{"vmap": {"key": {"numgen": {"mode": "random", "mod": 1, "offset": 0}}, "data": {"set": [[0, {"goto": {"target": "a"}}]]}}}`, "numgen random mod 1 vmap { 0 : goto a }"},
		{`{"numgen": {"mode": "random", "mod": 2, "offset": 3}}`, "numgen random mod 2 offset 3"},
		{`{"set": {"op": "update", "elem": {"payload": {"protocol": "ip", "field": "saddr"}}, "set": "@a"}}`, "update @a { ip saddr }"},
		{`{"dnat": {"addr": "10.0.0.1", "port": 80}}`, "dnat to 10.0.0.1:80"},
		{`{"dnat": {"addr": "fd00::1", "port": 80}}`, "dnat to [fd00::1]:80"},
		{`{"reject": {"type": "icmp", "expr": "port-unreachable"}}`, "reject"},
		{`{"reject": {"type": "icmp", "expr": "host-unreachable"}}`, "reject with icmp host-unreachable"},
		{`{"mangle": {"key": {"meta": {"key": "mark"}}, "value": {"|": [{"meta": {"key": "mark"}}, 16384]}}}`, "meta mark set meta mark | 16384"},
		{`{"masquerade": {"flags": "fully-random"}}`, "masquerade fully-random"},
		{`{"drop": null}`, "drop"},
	} {
		if got, ok := render(parsed(row.in)); !ok || got != row.want {
			t.Errorf("render(%s) = %q, %v, want %q", row.in, got, ok, row.want)
		}
	}
	for _, in := range []string{
		`null`, `true`, `""`, `"a b"`, `"}"`, `[]`, `[1]`, `[1, 2, 3]`, `{}`, `{"drop": 1}`, `{"drop": null, "x": 1}`,
		`{"nat": {}}`, `{"jump": null}`, `{"jump": {}}`, `{"jump": {"target": "a", "x": 1}}`, `{"concat": []}`,
		`{"set": []}`, `{"dnat": {"addr": "10.0.0.1"}}`, `{"dnat": {"addr": "10.0.0.1", "port": 80, "flags": "random"}}`,
		`{"limit": {"rate": 1}}`, `{"match": {"left": 1, "right": 1}}`,
	} {
		if got, ok := render(parsed(in)); ok {
			t.Errorf("render(%s) = %q", in, got)
		}
	}
}

func parsed(in string) any {
	var v any
	fields(json.RawMessage(in), &v)
	return v
}
