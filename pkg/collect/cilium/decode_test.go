package cilium

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

func read(t testing.TB, path ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func evidence(t testing.TB, name string) Raw {
	t.Helper()
	return Raw{LB: read(t, name, LBFile), Frontends: read(t, name, FrontendsFile), Status: read(t, name, StatusFile)}
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
	words := []string{string(f.Kind), f.Endpoint(), string(f.Selection), string(f.Policy)}
	if f.Service != "" {
		words = append(words, f.Service)
	}
	if f.AffinitySeconds != 0 {
		words = append(words, fmt.Sprintf("%ds", f.AffinitySeconds))
	}
	for _, b := range f.Backends {
		words = append(words, fmt.Sprintf("%s=%s:%.3g", b.Address, b.State, b.Probability))
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

func TestDecodeWorker(t *testing.T) {
	table, err := Decode(evidence(t, "worker"))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, summaries(table), []string{
		"ClusterIP 10.97.0.1:443/TCP random cluster 172.18.0.4=active:1",
		"ClusterIP 10.97.0.10:53/TCP random cluster 10.245.0.17=active:0.5 10.245.0.75=active:0.5",
		"ClusterIP 10.97.0.10:53/UDP random cluster 10.245.0.17=active:0.5 10.245.0.75=active:0.5",
		"ClusterIP 10.97.0.10:9153/TCP random cluster 10.245.0.17=active:0.5 10.245.0.75=active:0.5",
		"ClusterIP 10.97.156.17:80/TCP random cluster 10.245.1.86=active:0.5 10.245.2.76=active:0.5",
		"NodePort *:30081/TCP random cluster 10.245.1.86=active:0.5 10.245.2.76=active:0.5",
		"NodePort 172.18.0.3:30081/TCP random cluster 10.245.1.86=active:0.5 10.245.2.76=active:0.5",
	})
	compare(t, texts(table.Unparsed), nil)
	golden(t, table, "worker", "table.golden.json")
}

func TestDecodeMade(t *testing.T) {
	table, err := Decode(evidence(t, "made"))
	if err != nil {
		t.Fatal(err)
	}
	const one, two = " 10.245.1.86=active:1", " 10.245.1.86=active:0.5 10.245.2.76=active:0.5"
	const two6 = " fd00:245:1::86=active:0.5 fd00:245:2::76=active:0.5"
	compare(t, summaries(table), []string{
		"ClusterIP 10.97.0.20:80/TCP random cluster" + two, // "Local" is about its node port
		"ClusterIP 10.97.0.21:80/TCP random local",
		"ClusterIP 10.97.0.22:80/TCP random cluster 10800s" + two,
		"ClusterIP 10.97.0.23:80/TCP maglev cluster 600s" + two, // by annotation
		"ClusterIP 10.97.0.24:80/TCP maglev cluster" + one,      // routable
		"ClusterIP 10.97.0.25:80/TCP random cluster" + one + " 10.245.2.76=quarantined:0 10.245.2.77=quarantined:0",
		"ClusterIP 10.97.0.27:80/TCP random cluster" + one,
		"ClusterIP 10.97.0.28:80/TCP random cluster" + one,
		"ClusterIP 10.97.0.29:80/TCP random cluster" + one,
		"ClusterIP 10.97.0.30:80/TCP random cluster" + one,
		"ClusterIP [fd00:97::a]:80/TCP random cluster" + two6,
		"ExternalIP 198.51.100.7:80/TCP maglev cluster" + two,
		"ExternalIP 198.51.100.7:90/SCTP maglev cluster" + one,
		"LoadBalancer 203.0.113.6:80/TCP maglev cluster" + two,
		"NodePort *:30080/TCP random local 10.245.2.76=active:1",
		"NodePort *:30080/TCP random cluster" + two, // from inside
		"NodePort *:30081/TCP random cluster" + two,
		"NodePort *:30081/TCP random cluster" + two6,
		"NodePort 172.18.0.3:30080/TCP maglev local 10.245.2.76=active:1",
		"NodePort 172.18.0.3:30080/TCP random cluster" + two, // from inside
		"NodePort 172.18.0.3:30083/TCP random cluster 600s" + two,
		"NodePort [fc00::3]:30081/TCP maglev cluster" + two6,
	})
	compare(t, texts(table.Unparsed), []string{
		"10.97.0.26:80/TCP (0): 0.0.0.0:0 (61) (0) [LocalRedirect, non-routable] # LocalRedirect is no frontend of a Service",
		"10.97.0.26:80/TCP (1): 10.245.1.86:8080/TCP (61) (1) # LocalRedirect is no frontend of a Service",
		"10.97.0.27:80/TCP (0): 0.0.0.0:0 (62) (0) [ClusterIP, non-routable, l7-load-balancer] (L7LB Proxy Port: 15000) # a proxy takes the connections",
		"10.97.0.28:80/TCP (0): 0.0.0.0:0 (63) (0) [ClusterIP, non-routable, 46x64] # translated between IPv4 and IPv6",
		"10.97.0.29:80/TCP (0): 0.0.0.0:0 (64) (0) [ClusterIP, non-routable, delegate-if-local] # a proxy takes the connections",
		"10.97.0.30:80/TCP (2): backend 99 not found # not a backend",
		"172.18.0.3:8443/TCP (0): 0.0.0.0:0 (60) (0) [HostPort] # HostPort is no frontend of a Service",
		"172.18.0.3:8443/TCP (1): 10.245.1.86:8080/TCP (60) (1) # HostPort is no frontend of a Service",
	})
	golden(t, table, "made", "table.golden.json")
}

// Line numbers are the keys' lines in the file.
func TestDecodeLines(t *testing.T) {
	raw := evidence(t, "worker")
	lines := strings.Split(string(raw.LB), "\n")
	table, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	check := func(l collect.Line) {
		key, _, _ := strings.Cut(l.Text, ": ")
		if l.Number < 1 || !strings.Contains(lines[l.Number-1], `"`+key+`"`) {
			t.Errorf("line %s is %q in the file", l, lines[max(l.Number-1, 0)])
		}
	}
	for _, f := range table.Frontends {
		check(f.Line)
		for _, b := range f.Backends {
			check(b.Line)
		}
	}
}

func TestDecodeEmpty(t *testing.T) {
	table, err := Decode(Raw{LB: []byte("{}\n"), Frontends: []byte("{}"), Status: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if table.Encoding != Encoding || table.Frontends == nil || len(table.Frontends)+len(table.Unparsed) != 0 {
		t.Errorf("table %+v, want none", table)
	}
}

func TestDecodeErrors(t *testing.T) {
	good := evidence(t, "worker")
	tests := []struct{ name, lb, frontends, status, want string }{
		{"nothing", "", "", "", LBFile + ": line 1: unexpected end"},
		{"truncated", "{\n  \"10.97.0.1:443/TCP (0)\": [\n", "", "", LBFile + ": line 3: unexpected end"},
		{"text output", "SERVICE ADDRESS   BACKEND ADDRESS (REVNAT_ID) (SLOT)\n", "", "", LBFile + ": line 1: invalid character"},
		{"null", "null", "", "", LBFile + ": line 1: null where { is due"},
		{"an array", "[]", "", "", LBFile + ": line 1: [] where { is due"},
		{"a string for the entries", "{\n\"a\": \"b\"}", "", "", LBFile + `: line 2: "b" where [ is due`},
		{"a number for an entry", "{\n\"a\": [\n\"x\",\n7]}", "", "", LBFile + ": line 4: 7 where a string is due"},
		{"two values", "{}{}", "", "", LBFile + ": line 1: invalid character"},
		{"counts truncated", string(good.LB), "{", "", FrontendsFile + ": line 1"},
		{"status truncated", string(good.LB), "", "{", StatusFile + ": line 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, err := Decode(Raw{LB: []byte(tt.lb), Frontends: []byte(tt.frontends), Status: []byte(tt.status)})
			if err == nil {
				t.Fatalf("decoded as %+v", table)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
		})
	}
}
