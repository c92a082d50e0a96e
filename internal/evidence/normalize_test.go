package evidence

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/pkg/collect"
)

var update = flag.Bool("update", false, "write the golden files")

func normalized(t *testing.T, scenario string, change func(fstest.MapFS)) []byte {
	t.Helper()
	raw, s, x := load(t, scenario)
	change(raw)
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(Normalize(e, []collect.Check{{ID: "mode.declared", Verdict: collect.Pass, Reason: "volatile"}}), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

func TestNormalizeGolden(t *testing.T) {
	for _, scenario := range scenarios {
		got := normalized(t, scenario, func(fstest.MapFS) {})
		golden := "testdata/" + scenario + "/normalized.golden"
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; see git diff after -update", golden)
		}
		if address := regexp.MustCompile(`\d+\.\d+\.\d+\.\d+`).Find(got); address != nil {
			t.Errorf("%s holds the address %s", scenario, address)
		}
	}
}

// TestNormalizeAnotherRun renames whatever may differ between two runs all
// through the raw files. What is left must be the same bytes.
func TestNormalizeAnotherRun(t *testing.T) {
	rename := func(replacements ...string) func(fstest.MapFS) {
		replacer := strings.NewReplacer(replacements...)
		return func(raw fstest.MapFS) {
			for _, file := range raw {
				file.Data = []byte(replacer.Replace(string(file.Data)))
			}
		}
	}
	for _, scenario := range scenarios {
		raw, s, x := load(t, scenario)
		e, err := Decode(raw, s, x)
		if err != nil {
			t.Fatal(err)
		}
		first := normalized(t, scenario, func(fstest.MapFS) {})
		for name, change := range map[string]func(fstest.MapFS){
			"pod networks swapped":   rename("10.244.1.", "10.244.2.", "10.244.2.", "10.244.1."),
			"node addresses swapped": rename(e.Nodes[0].InternalIP.String(), e.Nodes[2].InternalIP.String(), e.Nodes[2].InternalIP.String(), e.Nodes[0].InternalIP.String()),
			"another ClusterIP":      rename(e.Objects.Service.ClusterIP.String(), "10.96.200.201"),
			"other pods":             rename(e.Objects.Endpoints[0].Pod, "echo-server-77777-aaaaa", e.Objects.Endpoints[1].Pod, "echo-server-77777-bbbbb"),
			"another cluster's name": rename(e.Nodes[2].Name, "another-worker2", e.Nodes[1].Name, "another-worker", e.Nodes[0].Name, "another-control-plane"),
			"another kernel":         rename(e.Nodes[0].KernelRelease, "7.0.0"),
			"other backends answer":  rename(`,"podIP":"`+e.Objects.Endpoints[0].Address.String()+`"},"sourceSeen"`, `,"podIP":"`+e.Objects.Endpoints[1].Address.String()+`"},"sourceSeen"`),
		} {
			if again := normalized(t, scenario, change); !bytes.Equal(first, again) {
				t.Errorf("%s: %s changes it", scenario, name)
			}
		}
	}
}

// TestNormalizeTells: what a reader compares runs for does change it.
func TestNormalizeTells(t *testing.T) {
	raw, s, x := load(t, "iptables")
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	write := func() string {
		out, _ := json.Marshal(Normalize(e, nil))
		return string(out)
	}
	before := write()
	table := e.Kernel[1].Tables[0].Frontends
	for _, change := range []struct {
		name string
		make func()
	}{
		{"a backend", func() { table[0].Backends[0].Address = netip.MustParseAddr("192.0.2.1") }},
		{"a probability", func() { table[1].Backends[0].Probability = 0.25 }},
		{"a policy", func() { table[2].Policy = collect.PolicyLocal }},
		{"an unparsed line", func() { e.Kernel[1].Tables[0].Unparsed = make([]collect.Line, 1) }},
		{"a source", func() { e.Traffic[0].Attempts[3].SourceSeen = netip.MustParseAddrPort("192.0.2.1:5") }},
		{"a failure", func() { e.Traffic[0].Attempts[3].Error = "refused" }},
		{"a mode", func() { e.Mode.Nodes[1].Log.Value = "ipvs" }},
	} {
		change.make()
		after := write()
		if after == before {
			t.Errorf("%s does not show", change.name)
		}
		before = after
	}
}
