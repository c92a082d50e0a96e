package calico

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The fixtures: made is written in the form of the source's format strings, the
// others are recorded output of Calico v3.31.7.
func read(t testing.TB, path ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decode(t testing.TB, raw Raw) collect.ServiceTable {
	t.Helper()
	table, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func golden(t *testing.T, table collect.ServiceTable, path ...string) {
	t.Helper()
	got, err := json.MarshalIndent(table, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join(append([]string{"testdata"}, path...)...)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, path...); !bytes.Equal(got, want) {
		t.Errorf("table differs from %s (see it with go test -update and git diff):\n%s", file, got)
	}
}

// summary is one line of what a check compares of a frontend.
func summary(f collect.Frontend) string {
	words := []string{string(f.Kind), f.Endpoint(), string(f.Selection), string(f.Policy), f.NoBackends}
	for _, b := range f.Backends {
		words = append(words, fmt.Sprintf("%s=%.3g", b.Address, b.Probability))
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

func summaries(table collect.ServiceTable) []string {
	var all []string
	for _, f := range table.Frontends {
		all = append(all, summary(f))
	}
	return all
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func texts(lines []collect.Line) []string {
	var all []string
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return all
}

func TestDecodeRecorded(t *testing.T) {
	const dns, echo = " 10.244.95.130=0.5 10.244.95.131=0.5", " 10.244.95.133=0.5 10.244.146.67=0.5"
	common := []string{
		"ClusterIP 10.96.0.1:443/TCP random cluster 172.18.0.5=1",
		"ClusterIP 10.96.0.10:53/TCP random cluster" + dns,
		"ClusterIP 10.96.0.10:53/UDP random cluster" + dns,
		"ClusterIP 10.96.0.10:9153/TCP random cluster" + dns,
		"ClusterIP 10.96.174.59:5473/TCP random cluster 172.18.0.6=0.5 172.18.0.7=0.5",
		"ClusterIP 10.96.221.2:80/TCP random cluster" + echo,
		"NodePort *:30081/TCP random cluster" + echo,
	}
	// The addresses of the tunnel and of the node.
	nodes := map[string][]string{
		"control-plane": {"10.244.240.128", "172.18.0.5"},
		"worker":        {"10.244.95.128", "172.18.0.6"},
		"worker2":       {"10.244.146.64", "172.18.0.7"},
	}
	for node, addresses := range nodes {
		t.Run(node, func(t *testing.T) {
			table := decode(t, Raw{NAT: read(t, node, NATFile), Affinity: read(t, node, AffinityFile)})
			want := slices.Clone(common)
			for _, address := range addresses {
				want = append(want, "NodePort "+address+":30081/TCP random cluster"+echo)
			}
			compare(t, summaries(table), want)
			compare(t, texts(table.Unparsed), nil)
		})
	}
	golden(t, decode(t, Raw{NAT: read(t, "worker", NATFile)}), "worker", "table.golden.json")
}

// An older version gives no JSON: the text must tell as much.
func TestDecodeTextEqualsJSON(t *testing.T) {
	for _, name := range []string{"worker", "worker2", "control-plane", "affinity", "made"} {
		t.Run(name, func(t *testing.T) {
			fromJSON := unnumbered(decode(t, Raw{NAT: read(t, name, NATFile)}))
			fromText := unnumbered(decode(t, Raw{NATText: read(t, name, NATTextFile)}))
			a, b := fmt.Sprintf("%+v", fromJSON), fmt.Sprintf("%+v", fromText)
			if a != b {
				t.Errorf("JSON %s\ntext %s", a, b)
			}
		})
	}
}

func TestDecodePrefersJSON(t *testing.T) {
	table := decode(t, Raw{NAT: []byte("null\n"), NATText: read(t, "worker", NATTextFile)})
	if len(table.Frontends) != 0 {
		t.Errorf("%d frontends of the text beside JSON", len(table.Frontends))
	}
}

// unnumbered is a table without what the form of the file decides.
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

// Line numbers are those of the file, in both forms.
func TestDecodeLines(t *testing.T) {
	for _, name := range []string{"worker", "made"} {
		for file, raw := range map[string]Raw{
			NATFile:     {NAT: read(t, name, NATFile)},
			NATTextFile: {NATText: read(t, name, NATTextFile)},
		} {
			lines := strings.Split(string(read(t, name, file)), "\n")
			check := func(l collect.Line, address string) {
				if l.Number < 1 || !strings.Contains(lines[l.Number-1], address) {
					t.Errorf("%s: line %s is %q in the file", file, l, lines[max(l.Number-1, 0)])
				}
			}
			for _, f := range decode(t, raw).Frontends {
				address := "255.255.255.255"
				if f.Address.IsValid() {
					address = f.Address.String()
				}
				check(f.Line, address)
				for _, b := range f.Backends {
					check(b.Line, b.Address.String())
				}
			}
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct {
		name string
		raw  Raw
		want string
	}{
		{"nothing", Raw{}, NATFile + ": nothing was printed"},
		{"truncated", Raw{NAT: []byte("[\n  {\n    \"frontend\": {\n")}, NATFile + ": line 4: unexpected end"},
		{"the text in the JSON file", Raw{NAT: read(t, "worker", NATTextFile)}, NATFile + ": line 1: invalid character"},
		{"an object", Raw{NAT: []byte("{\n}")}, NATFile + ": line 1: {} where [ is due"},
		{"two values", Raw{NAT: []byte("[]\n[]")}, NATFile + ": line 2: invalid character"},
		{"the JSON in the text file", Raw{NATText: read(t, "worker", NATFile)}, NATTextFile + `: no line is a row of nat dump; the first is "["`},
		{"a message", Raw{NATText: []byte("\nError: unknown flag: --json\nUsage:\n")}, NATTextFile + `: no line is a row of nat dump; the first is "Error: unknown flag: --json"`},
		{"affinity truncated", Raw{NAT: []byte("[]"), Affinity: []byte("[")}, AffinityFile + ": line 1: unexpected end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, err := Decode(tt.raw)
			if err == nil {
				t.Fatalf("decoded as %+v", table)
			}
			if !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
		})
	}
}

// A cluster without Services prints null, which is no table that cannot be read.
func TestDecodeEmpty(t *testing.T) {
	for _, text := range []string{"null\n", "[]", " [\n]\n"} {
		table := decode(t, Raw{NAT: []byte(text), Affinity: []byte("[]\n")})
		if table.Encoding != Encoding || table.Frontends == nil || len(table.Frontends)+len(table.Unparsed) != 0 {
			t.Errorf("%q: table %+v, want none", text, table)
		}
	}
}
