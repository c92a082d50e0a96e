package schema

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// repo is the root of this project's tree.
const repo = "../.."

func generated(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := Files(os.DirFS(repo))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// validators of the files, by the names of their schemas.
func validators(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	all := map[string]*jsonschema.Schema{}
	for name, content := range generated(t) {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource(name, document); err != nil {
			t.Fatal(err)
		}
		if all[name], err = compiler.Compile(name); err != nil { // against that of draft 2020-12
			t.Fatal(err)
		}
	}
	return all
}

// read is a file as a validator wants it.
func read(t *testing.T, file string, content []byte) any {
	t.Helper()
	if filepath.Ext(file) == ".yaml" {
		var value any
		if err := yaml.Unmarshal(content, &value); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var err error
		if content, err = json.Marshal(value); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return value
}

// TestCommittedSchemas: docs/schema is what `runner schema docs/schema` writes.
func TestCommittedSchemas(t *testing.T) {
	files := generated(t)
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(repo, "docs", "schema", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/schema/%s is not that of the types (%v): bin/runner schema docs/schema", name, err)
		}
	}
	committed, err := filepath.Glob(filepath.Join(repo, "docs", "schema", "*"))
	if err != nil || len(committed) != len(files) {
		t.Errorf("docs/schema has %q (%v), want %d files", committed, err, len(files))
	}
}

// TestCommittedFiles: every file in this tree is as its schema says.
func TestCommittedFiles(t *testing.T) {
	of := validators(t)
	for pattern, test := range map[string]struct {
		schema string
		least  int
	}{
		"results/*/*/evidence.json":   {Evidence, 6},
		"results/*/*/normalized.json": {Normalized, 6},
		"scenarios/*.yaml":            {Scenario, 6},
		"experiments/*.yaml":          {Experiment, 2},
	} {
		files, err := fs.Glob(os.DirFS(repo), pattern)
		if err != nil || len(files) < test.least {
			t.Errorf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			content, err := os.ReadFile(filepath.Join(repo, file))
			if err != nil {
				t.Fatal(err)
			}
			if err := of[test.schema].Validate(read(t, file, content)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestRefused: one change to a good file that its schema has to name.
func TestRefused(t *testing.T) {
	const (
		evidence   = "results/service-path/iptables/evidence.json"
		normalized = "results/service-path/iptables/normalized.json"
		scenario   = "scenarios/ipvs.yaml"
		experiment = "experiments/service-path.yaml"
	)
	tests := []struct {
		name, schema, file string
		pattern, with      string
		says               string
	}{
		{"a verdict that is none", Evidence, evidence, `"verdict": "pass"`, `"verdict": "passed"`, "value must be one of 'pass', 'fail', 'skip', 'inconclusive'"},
		{"no statement", Evidence, evidence, `"statement": [^\n]*`, ``, "missing property 'statement'"},
		{"a port beyond all", Evidence, evidence, `"port": 8080`, `"port": 80800`, "maximum: got 80,800, want 65,535"},
		{"a kind of frontend that is none", Evidence, evidence, `"kind": "NodePort"`, `"kind": "HostPort"`, "value must be one of"},
		{"a field that is not known", Normalized, normalized, `"schema": `, `"started": "now", "schema": `, "additional properties 'started' not allowed"},
		{"a volatile address", Normalized, normalized, `"address": "pod:[^"]*"`, `"address": ["10.244.0.7"]`, "got array, want string"},
		{"no nodes", Normalized, normalized, `"nodes":`, `"node":`, "missing property 'nodes'"},
		{"another kind", Scenario, scenario, `kind: Scenario`, `kind: Experiment`, "value must be 'Scenario'"},
		{"no cluster", Scenario, scenario, `\n  cluster:`, "\n  clusters:", "missing property 'cluster'"},
		{"a field of a variant that is not known", Scenario, scenario, `ipvsScheduler: lc`, `scheduler: lc`, "additional properties 'scheduler' not allowed"},
		{"text for a number", Experiment, experiment, `connections: 12`, `connections: twelve`, "got string, want integer"},
		{"an entry point without a name", Experiment, experiment, `- name: clusterip-by-name\n      +from`, "- from", "missing property 'name'"},
	}
	of := validators(t)
	refused := map[string]bool{}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join(repo, test.file))
			if err != nil {
				t.Fatal(err)
			}
			match := regexp.MustCompile(test.pattern).FindIndex(content)
			if match == nil {
				t.Fatalf("%s has no %s", test.file, test.pattern)
			}
			changed := string(content[:match[0]]) + test.with + string(content[match[1]:])
			err = of[test.schema].Validate(read(t, test.file, []byte(changed)))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			refused[test.schema] = true
		})
	}
	for name := range of {
		if !refused[name] {
			t.Errorf("nothing is refused by %s", name)
		}
	}
}

// TestComments: a schema explains its fields in the words of the sources.
func TestComments(t *testing.T) {
	for name, want := range map[string]string{
		Evidence:   "IptablesRules has an entry for each iptables dump",
		Normalized: "Selection is how a backend is chosen for a new connection.", // of an embedded struct
		Scenario:   "IPVSScheduler is what chooses a real server: rr, lc or sh",
		Experiment: "Connections is how many new connections each entry point gets.",
	} {
		if content := generated(t)[name]; !bytes.Contains(content, []byte(`"description": "`+want)) {
			t.Errorf("%s does not say %q", name, want)
		}
	}
}

func TestNoSources(t *testing.T) {
	if _, err := Files(os.DirFS(t.TempDir())); err == nil || !strings.Contains(err.Error(), "--repo DIR") {
		t.Errorf("no sources: %v", err)
	}
}
