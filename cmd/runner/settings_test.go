package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/spec"
)

func TestResolve(t *testing.T) {
	repo := tree(t)
	below := filepath.Join(repo, "scenarios", "deep")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	// Files of these names make no tree.
	fake := t.TempDir()
	for _, name := range []string{"scenarios", "experiments"} {
		if err := os.WriteFile(filepath.Join(fake, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name     string
		from     string
		settings settings
		want     settings // with an error in repo where it ends in !
	}{
		{"in the tree", repo, settings{}, settings{repo, filepath.Join(repo, ".work"), "table"}},
		{"below", below, settings{output: "json"}, settings{repo, filepath.Join(repo, ".work"), "json"}},
		{"named", "/", settings{repo: repo, output: "yaml"}, settings{repo, filepath.Join(repo, ".work"), "yaml"}},
		{"named from where one is", below, settings{repo: "../.."}, settings{"../..", filepath.Join(repo, ".work"), "table"}},
		{"another work directory", repo, settings{workDir: "w/.."}, settings{repo, repo, "table"}},
		{"outside of any tree", t.TempDir(), settings{}, settings{repo: "say where it is with --repo DIR!"}},
		{"named wrongly", repo, settings{repo: below}, settings{repo: "has no scenarios and experiments directories!"}},
		{"files of the names", repo, settings{repo: fake}, settings{repo: "has no scenarios and experiments directories!"}},
		{"no such output", repo, settings{output: "JSON"}, settings{repo: "--output JSON: want table, json or yaml!"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			t.Chdir(test.from)
			got := test.settings
			if got.output == "" {
				got.output = "table"
			}
			err := got.resolve()
			if text, fails := strings.CutSuffix(test.want.repo, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%v, want %s", err, text)
				}
			} else if err != nil || got != test.want {
				t.Errorf("%+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

// TestScenariosByName: those asked for in the order asked, else all, variants
// behind the scenario they are of.
func TestScenariosByName(t *testing.T) {
	s := settings{repo: tree(t)}
	for _, test := range []struct{ names, want []string }{
		{nil, []string{"calico-ebpf", "cilium-kube-proxy", "cilium", "cilium-1-19", "iptables", "ipvs", "ipvs-lc", "ipvs-sh", "nftables"}},
		{[]string{"nftables"}, []string{"nftables"}},
		{[]string{"nftables", "iptables"}, []string{"nftables", "iptables"}},
		{[]string{"cilium"}, []string{"cilium"}},
		{[]string{"cilium-1-19"}, []string{"cilium-1-19"}},
		{[]string{"cilium-1-19", "iptables", "cilium"}, []string{"cilium-1-19", "iptables", "cilium"}},
	} {
		loaded, _, err := s.scenarios(test.names)
		if got := namesOf(loaded); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, %v", test.names, got, err)
		}
	}
}

func namesOf(scenarios []spec.Scenario) []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.Metadata.Name)
	}
	return names
}

// TestScenariosOfABrokenFile: it is in the way of its own scenarios, and of
// telling whether another name is one of them.
func TestScenariosOfABrokenFile(t *testing.T) {
	t.Chdir(tree(t))
	const (
		file = "scenarios/cilium.yaml"
		all  = "; there are: calico-ebpf, cilium-kube-proxy, cilium, iptables, ipvs, ipvs-lc, ipvs-sh, nftables"
	)
	// A mistake of the variant is one of the file.
	fault := fmt.Sprintf("%s:%d: spec.dataPlane.cilium.version", file, replace(t, file, "version: 1.19.8", "version: 1.19.88"))
	s := settings{repo: "."}
	for _, test := range []struct {
		name        string
		names, want []string
		says        []string // what each line begins with
	}{
		{"another file", []string{"iptables"}, []string{"iptables"}, nil},
		{"another file whose name begins alike", []string{"cilium-kube-proxy"}, []string{"cilium-kube-proxy"}, nil},
		{"itself", []string{"cilium"}, nil, []string{fault}},
		{"a variant of it", []string{"cilium-1-19"}, nil, []string{"there is no cilium-1-19 in scenarios" + all, fault}},
		{"what may be a variant of it", []string{"cilium-1-18"}, nil, []string{"there is no cilium-1-18 in scenarios" + all, fault}},
		{"what is none", []string{"ciliumx", "nosuch"}, nil, []string{"there is no ciliumx in scenarios" + all, "there is no nosuch in scenarios" + all}},
		{"one that is there beside it", []string{"ipvs", "cilium"}, []string{"ipvs"}, []string{fault}},
		{"all", nil, []string{"calico-ebpf", "cilium-kube-proxy", "iptables", "ipvs", "ipvs-lc", "ipvs-sh", "nftables"}, []string{fault}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			loaded, _, err := s.scenarios(test.names)
			if got := namesOf(loaded); !slices.Equal(got, test.want) {
				t.Errorf("loaded %q, want %q", got, test.want)
			}
			var lines []string
			if err != nil {
				lines = strings.Split(err.Error(), "\n")
			}
			if !slices.EqualFunc(lines, test.says, strings.HasPrefix) {
				t.Errorf("says %q, want %q", lines, test.says)
			}
		})
	}
}

// TestScenariosWithoutLock: what they may name is not known.
func TestScenariosWithoutLock(t *testing.T) {
	t.Chdir(tree(t))
	fault := fmt.Sprintf("charts/lock.yaml:%d: kind", replace(t, "charts/lock.yaml", "kind: Lock", "kind: lock"))
	for _, names := range [][]string{nil, {"iptables"}} {
		if loaded, _, err := (&settings{repo: "."}).scenarios(names); loaded != nil || err == nil || !strings.HasPrefix(err.Error(), fault) {
			t.Errorf("%q: %q, %v; want %s", names, namesOf(loaded), err, fault)
		}
	}
}

// TestScenarioOfTwoFiles: a variant must not hide a file, nor be run twice.
func TestScenarioOfTwoFiles(t *testing.T) {
	t.Chdir(tree(t))
	replace(t, "scenarios/cilium.yaml", "name: cilium-1-19", "name: cilium-kube-proxy")
	loaded, _, err := (&settings{repo: "."}).scenarios(nil)
	if err == nil || !strings.Contains(err.Error(), "cilium-kube-proxy") {
		t.Errorf("%q, %v", namesOf(loaded), err)
	}
}
