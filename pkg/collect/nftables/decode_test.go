package nftables

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestDecode reads every listing that there is in both forms: the two give one
// table, which is the golden one, and every Line is found in its file.
func TestDecode(t *testing.T) {
	for _, name := range []string{
		"recorded/control-plane",
		"recorded/worker",
		"recorded/worker2",
		"recorded/iptables-worker",
		"made/affinity", // three backends; affinity; masquerade always and never; NodePort at any address
		"made/policies", // traffic policies; no endpoints; external and load balancer IPs
		"made/dual",     // both address families
		"made/affinity-1.1.3",
		"made/foreign", // what kube-proxy does not write
	} {
		t.Run(name, func(t *testing.T) {
			rawText, rawJSON := read(t, name+".txt"), read(t, name+".json")
			fromText, err := Decode(rawText)
			if err != nil {
				t.Fatal(err)
			}
			fromJSON, err := Decode(rawJSON)
			if err != nil {
				t.Fatal(err)
			}
			got := describe(fromText)
			if other := describe(fromJSON); got != other {
				t.Errorf("the forms differ\ntext:\n%s\nJSON:\n%s", got, other)
			}
			golden(t, name+".golden", got)

			lines := strings.Split(string(rawText), "\n")
			for _, l := range linesOf(fromText) {
				if l.Number < 1 || l.Text != strings.TrimSpace(lines[l.Number-1]) {
					t.Errorf("text: line %d of the file is not %q", l.Number, l.Text)
				}
			}
			for _, l := range linesOf(fromJSON) {
				if l.Number != 0 || !json.Valid([]byte(l.Text)) || strings.Contains(l.Text, `": `) {
					t.Errorf("JSON: %v is not one compact element", l)
				}
			}
		})
	}
}

// TestDecodeOneThingChanged changes one thing in a listing and says what that
// does to the table: lines that go, lines that come, and what is not understood.
func TestDecodeOneThingChanged(t *testing.T) {
	const (
		sticky = "G5HJIGAW-shop/sticky/tcp/http"
		plain  = "MT2E23Y7-shop/plain/udp/dns"
	)
	for _, row := range []struct {
		name     string
		old, new string
		want     []string // lines of the table
		unparsed []string
	}{
		{
			name: "an endpoint that has two slots of three",
			old:  "2 : goto endpoint-" + sticky + "__10.244.2.9/8080",
			new:  "2 : goto endpoint-" + sticky + "__10.244.1.9/8080",
			want: []string{"ClusterIP 10.96.0.51:80/TCP shop/sticky:http random cluster masquerade=always -> 10.244.1.9:8080 0.667, 10.244.3.9:8080 0.333"},
			// A client may be led back to an endpoint that is never picked.
			unparsed: []string{"numgen random mod 3"},
		},
		{
			name:     "a slot that is not there",
			old:      ", 2 : goto endpoint-" + sticky + "__10.244.2.9/8080",
			want:     []string{"ClusterIP 10.96.0.51:80/TCP shop/sticky:http cluster masquerade=always"},
			unparsed: []string{"numgen random mod 3"},
		},
		{
			name:     "a slot that is there twice",
			old:      ", 2 : goto",
			new:      ", 1 : goto",
			want:     []string{"ClusterIP 10.96.0.51:80/TCP shop/sticky:http cluster masquerade=always"},
			unparsed: []string{"numgen random mod 3"},
		},
		{
			name:     "a slot that leads to no chain",
			old:      "0 : goto endpoint-" + plain,
			new:      "0 : goto endpoint-AAAAAAAA-shop/plain/udp/dns",
			want:     []string{"ClusterIP 10.96.0.52:53/UDP shop/plain:dns cluster masquerade=never"},
			unparsed: []string{"numgen random mod 1"},
		},
		{
			name:     "an unknown verdict",
			old:      "goto service-" + plain,
			new:      "queue",
			unparsed: []string{"10.96.0.52 . udp . 53 : queue"},
		},
		{
			name:     "an unknown chain",
			old:      ": goto service-" + plain,
			new:      ": goto service-AAAAAAAA-shop/plain/udp/dns",
			want:     []string{"ClusterIP 10.96.0.52:53/UDP shop/plain:dns masquerade=never"},
			unparsed: []string{"10.96.0.52 . udp . 53"},
		},
		{
			name:     "the wrong protocol behind a frontend",
			old:      "meta l4proto udp dnat to 10.244.1.6:53",
			new:      "meta l4proto tcp dnat to 10.244.1.6:53",
			want:     []string{"ClusterIP 10.96.0.52:53/UDP shop/plain:dns cluster masquerade=never affinity=129600"},
			unparsed: []string{"numgen random mod 1"},
		},
		{
			name:     "a hairpin rule of another address",
			old:      "ip saddr 10.244.1.6 jump",
			new:      "ip saddr 10.244.1.7 jump",
			want:     []string{"ClusterIP 10.96.0.52:53/UDP shop/plain:dns cluster masquerade=never affinity=129600"},
			unparsed: []string{"meta l4proto udp dnat to", "numgen random mod 1"},
		},
		{
			name:     "a backend of the other address family",
			old:      "dnat to 10.244.1.6:53",
			new:      "dnat to [fd00::6]:53",
			unparsed: []string{"meta l4proto udp dnat to", "numgen random mod 1"},
		},
		{
			name:     "a rule that no packet gets to",
			old:      "meta l4proto udp dnat to 10.244.1.6:53",
			new:      "meta l4proto udp dnat to 10.244.1.6:53\n\t\tmeta l4proto udp dnat to 10.244.1.7:53",
			want:     []string{"ClusterIP 10.96.0.52:53/UDP shop/plain:dns random cluster masquerade=never affinity=129600 -> 10.244.1.6:53 1"},
			unparsed: []string{"meta l4proto udp dnat to 10.244.1.7:53"},
		},
		{
			name:     "an endpoint that does not remember its clients",
			old:      "\t\tupdate @affinity-" + plain + "__10.244.1.6/53 { ip saddr }\n",
			want:     []string{"ClusterIP 10.96.0.52:53/UDP shop/plain:dns random cluster masquerade=never -> 10.244.1.6:53 1"},
			unparsed: []string{"numgen random mod 1"},
		},
		{
			name:     "no way back to one endpoint of three",
			old:      "\t\tip saddr @affinity-" + sticky + "__10.244.1.9/8080 goto endpoint-" + sticky + "__10.244.1.9/8080\n",
			unparsed: []string{"numgen random mod 3"},
		},
		{
			name: "masquerade for another address",
			old:  "ip daddr 10.96.0.51 jump",
			new:  "ip daddr 10.96.0.99 jump",
			want: []string{"ClusterIP 10.96.0.51:80/TCP shop/sticky:http random cluster masquerade=never affinity=10800 -> 10.244.1.9:8080 0.333, 10.244.2.9:8080 0.333, 10.244.3.9:8080 0.333"},
		},
		{
			name: "off-cluster by interface prefix",
			old:  "ip daddr 10.96.0.51 jump",
			new:  `ip daddr 10.96.0.51 iifname != "veth*" jump`,
			want: []string{"ClusterIP 10.96.0.51:80/TCP shop/sticky:http random cluster masquerade=off-cluster affinity=10800 -> 10.244.1.9:8080 0.333, 10.244.2.9:8080 0.333, 10.244.3.9:8080 0.333"},
		},
		{
			name: "protocols as numbers, without /etc/protocols",
			old:  "10.96.0.52 . udp . 53",
			new:  "10.96.0.52 . 17 . 53",
			want: []string{"ClusterIP 10.96.0.52:53/UDP shop/plain:dns random cluster masquerade=never affinity=129600 -> 10.244.1.6:53 1"},
		},
		{
			name:     "port 0",
			old:      "10.96.0.52 . udp . 53",
			new:      "10.96.0.52 . udp . 0",
			unparsed: []string{"10.96.0.52 . udp . 0"},
		},
		{
			name:     "an address of the other family",
			old:      "10.96.0.52 . udp . 53",
			new:      "fd00::52 . udp . 53",
			unparsed: []string{"fd00::52 . udp . 53"},
		},
		{
			name:     "a frontend twice",
			old:      "10.96.0.52 . udp . 53 :",
			new:      "10.96.0.51 . tcp . 80 :",
			unparsed: []string{"10.96.0.51 . tcp . 80 : goto service-" + sticky, "numgen random mod 1"},
		},
		{
			name:     "no endpoints and yet endpoints",
			old:      "udp . 30052 comment",
			new:      "tcp . 30051 comment",
			unparsed: []string{"tcp . 30051 comment"},
		},
		{
			name:     "a base chain with a policy",
			old:      "type nat hook output priority -100; policy accept;",
			new:      "type nat hook output priority -100; policy drop;",
			unparsed: []string{"chain nat-output {", "jump services"},
		},
		{
			name:     "a chain that is hooked no more",
			old:      "\t\ttype nat hook output priority -100; policy accept;\n",
			unparsed: []string{"chain nat-output {", "jump services"},
		},
		{
			name: "services not reached from the node itself",
			old:  "chain nat-output {\n\t\ttype nat hook output priority -100; policy accept;\n\t\tjump services\n",
			new:  "chain nat-output {\n\t\ttype nat hook output priority -100; policy accept;\n",
			unparsed: []string{
				"table ip kube-proxy: no rule of chain nat-output leads to services, so map service-ips is not looked up",
				"table ip kube-proxy: no rule of chain nat-output leads to services, so map service-nodeports is not looked up",
			},
		},
		{
			name:     "a table that is not in force",
			old:      "\tcomment \"rules for kube-proxy\"\n",
			new:      "\tflags dormant\n",
			unparsed: []string{"flags dormant"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			raw := string(read(t, "made/affinity.txt"))
			if !strings.Contains(raw, row.old) {
				t.Fatalf("the listing does not contain %q", row.old)
			}
			table, err := Decode([]byte(strings.Replace(raw, row.old, row.new, 1)))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range row.want {
				if got := describe(table); !strings.Contains(got, want+"\n") {
					t.Errorf("no line\n%s\nin\n%s", want, got)
				}
			}
			if len(table.Unparsed) != len(row.unparsed) {
				t.Fatalf("unparsed %v, want %v", table.Unparsed, row.unparsed)
			}
			for i, want := range row.unparsed {
				if !strings.Contains(table.Unparsed[i].Text, want) {
					t.Errorf("unparsed %v, want %s", table.Unparsed[i], want)
				}
			}
		})
	}
}

func TestDecodeBroken(t *testing.T) {
	const kubeProxy = `{"table": {"family": "ip", "name": "kube-proxy"}}`
	text := string(read(t, "recorded/worker.txt"))
	asJSON := string(read(t, "recorded/worker.json"))
	for _, row := range []struct{ name, raw, want string }{
		{"text cut inside a chain", text[:strings.Index(text, "meta l4proto")], "line 164: the listing ends inside chain nodeport-endpoints-check of table ip kube-proxy"},
		{"text cut between chains", text[:strings.Index(text, "\tchain services {")], "ends inside table ip kube-proxy"},
		{"text cut inside elements", text[:strings.Index(text, "10.96.104.167 }")], "line 80: the listing ends inside braces"},
		{"text cut inside a block without a name", "table ip a {\n{\n", "line 2: the listing ends inside {"},
		{"text that is no listing", "Error: Could not process rule\n", `line 1: "Error: Could not process rule" is not the head of a table`},
		{"a brace too many", "table ip a {\n}\n}\n", "line 3:"},
		{"a brace too many in a chain", "table ip a {\n\tchain b {\n\t\taccept }\n", "line 3:"},
		{"a table twice", "table ip a {\n}\ntable ip a {\n}\n", "line 3: table ip a is listed twice"},
		{"a chain twice", "table ip a {\nchain b {\n}\nchain b {\n}\n}\n", "line 4: chain b of table ip a is listed twice"},
		{"a map twice", "table ip kube-proxy {\nmap b {\n}\nset b {\n}\n}\n", "line 4: set or map b of table ip kube-proxy is listed twice"},
		{"JSON cut inside an element", asJSON[:20000], "the listing is cut short"},
		{"JSON cut between elements", `{"nftables": [` + kubeProxy, "after byte 63: the listing is cut short"},
		{"JSON cut by nft itself", string(read(t, "made/dormant.json")), "after byte 110: the listing is cut short"},
		{"no JSON", `{"nftables": [}`, "after byte 14"},
		{"other JSON", `{"ok": true}`, "ok where nftables is expected"},
		{"JSON that goes on", `{"nftables": []} {}`, "after the end"},
		{"an element of two kinds", `{"nftables": [{"table": {}, "chain": {}}]}`, "not an object of one kind"},
		{"a rule before its table", `{"nftables": [{"rule": {"family": "ip", "table": "nat"}}]}`, "a rule of table ip nat, which is not listed"},
		{"another schema", `{"nftables": [{"metainfo": {"json_schema_version": 2}}]}`, "schema version 2"},
		{"a name that is a number", `{"nftables": [{"table": {"family": "ip", "name": 4}}]}`, "table: json: cannot unmarshal"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Decode([]byte(row.raw))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got error %v, want %s", err, row.want)
			}
			if _, err := Tables([]byte(row.raw)); err == nil {
				t.Error("Tables gives no error")
			}
		})
	}
}

// TestDecodeJSONUnparsed has what the JSON form can say and kube-proxy not.
func TestDecodeJSONUnparsed(t *testing.T) {
	for _, row := range []struct{ name, element string }{
		{"table in no force", `{"table":{"family":"ip6","name":"kube-proxy","flags":["dormant"]}}`},
		{"other kind", `{"flowtable":{"family":"ip","table":"kube-proxy","name":"f"}}`},
		{"set with more", `{"set":{"family":"ip","table":"kube-proxy","name":"cluster-ips","auto-merge":true}}`},
		{"rule of no chain", `{"rule":{"family":"ip","table":"kube-proxy","chain":"no","expr":[{"drop":null}]}}`},
		{"rule with more", `{"rule":{"family":"ip","table":"kube-proxy","chain":"services","index":3,"expr":[]}}`},
		{"unknown statement", `{"rule":{"family":"ip","table":"kube-proxy","chain":"services","expr":[{"log":{}}]}}`},
		{"a string of many words", `{"rule":{"family":"ip","table":"kube-proxy","chain":"services","expr":[{"jump":{"target":"a b"}}]}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			raw := `{"nftables":[{"table":{"family":"ip","name":"kube-proxy"}},` +
				`{"chain":{"family":"ip","table":"kube-proxy","name":"services"}},` + row.element + `]}`
			table, err := Decode([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(table.Unparsed); got != "["+row.element+"]" {
				t.Errorf("unparsed %s, want [%s]", got, row.element)
			}
		})
	}
}

func TestDecodeNothing(t *testing.T) {
	for _, raw := range []string{"", "\n", `{"nftables": []}`, ` {"nftables": [{"metainfo": {}}]}`} {
		table, err := Decode([]byte(raw))
		if err != nil || table.Encoding != "nftables" || len(table.Frontends)+len(table.Unparsed) > 0 {
			t.Errorf("Decode(%q) = %v, %v", raw, table, err)
		}
	}
}

// describe is a table without its Lines, a line of text for each frontend.
func describe(table collect.ServiceTable) string {
	var out strings.Builder
	for _, f := range table.Frontends {
		words := []string{string(f.Kind), f.Endpoint(), f.Service, string(f.Selection), string(f.Policy), "masquerade=" + string(f.Masquerade)}
		if f.AffinitySeconds > 0 {
			words = append(words, fmt.Sprintf("affinity=%d", f.AffinitySeconds))
		}
		if f.NoBackends != "" {
			words = append(words, "none="+f.NoBackends)
		}
		var backends []string
		for _, b := range f.Backends {
			backends = append(backends, fmt.Sprintf("%s %.3g", netip.AddrPortFrom(b.Address, b.Port), b.Probability))
		}
		if len(backends) > 0 {
			words = append(words, "-> "+strings.Join(backends, ", "))
		}
		fmt.Fprintln(&out, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
	}
	fmt.Fprintf(&out, "%d unparsed\n", len(table.Unparsed))
	return out.String()
}

func linesOf(table collect.ServiceTable) []collect.Line {
	lines := table.Unparsed
	for _, f := range table.Frontends {
		lines = append(lines, f.Line)
		for _, b := range f.Backends {
			lines = append(lines, b.Line)
		}
	}
	return lines
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", name), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(read(t, name)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
