package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// TestScenariosByName: those asked for in the order asked, else all.
func TestScenariosByName(t *testing.T) {
	s := settings{repo: tree(t)}
	for _, test := range []struct{ names, want []string }{
		{nil, []string{"iptables", "ipvs", "nftables"}},
		{[]string{"nftables"}, []string{"nftables"}},
		{[]string{"nftables", "iptables"}, []string{"nftables", "iptables"}},
	} {
		loaded, err := s.scenarios(test.names)
		var got []string
		for _, scenario := range loaded {
			got = append(got, scenario.Metadata.Name)
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, %v", test.names, got, err)
		}
	}
}
