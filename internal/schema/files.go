package schema

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"reflect"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// The files that the schemas are of, by the name of each schema.
const (
	Evidence   = "evidence.schema.json"
	Normalized = "normalized.schema.json"
	Scenario   = "scenario.schema.json"
	Experiment = "experiment.schema.json"
)

// Files are the schemas by their names. tree is the root of this project's
// sources.
func Files(tree fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, of := range map[string]struct {
		title string
		kind  string // of files that people write
		t     reflect.Type
	}{
		Evidence:   {"evidence.json of a result directory", "", reflect.TypeFor[results.Document]()},
		Normalized: {"normalized.json of a result directory", "", reflect.TypeFor[evidence.Normalized]()},
		Scenario:   {"A file of scenarios/", "Scenario", reflect.TypeFor[spec.Scenario]()},
		Experiment: {"A file of experiments/", "Experiment", reflect.TypeFor[spec.Experiment]()},
	} {
		g := generator{
			comments: comments{map[string]string{}, map[string][]string{}},
			closed: map[reflect.Type][]string{
				reflect.TypeFor[collect.Verdict]():      nil,
				reflect.TypeFor[collect.FrontendKind](): {""},
				reflect.TypeFor[collect.Policy]():       nil,
				reflect.TypeFor[collect.Masquerade]():   {""},
				reflect.TypeFor[collect.BackendState](): nil,
			},
			defs: map[string]*node{},
		}
		for pkg := range packages(of.t, map[reflect.Type]bool{}) {
			if err := g.comments.read(tree, pkg); err != nil {
				return nil, err
			}
		}
		root := g.object(of.t, false)
		root.Schema, root.Title, root.Defs = draft, of.title, g.defs
		if of.kind != "" {
			root.Properties["apiVersion"].Const = spec.APIVersion
			root.Properties["kind"].Const = of.kind
		}
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(root); err != nil {
			return nil, err
		}
		files[name] = out.Bytes()
	}
	return files, nil
}

// packages of this tree that declare the types of which t is made.
func packages(t reflect.Type, seen map[reflect.Type]bool) map[string]bool {
	found := map[string]bool{}
	if seen[t] {
		return found
	}
	seen[t] = true
	if pkg := t.PkgPath(); strings.HasPrefix(pkg, module) {
		found[pkg] = true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		maps.Copy(found, packages(t.Elem(), seen))
	case reflect.Struct:
		for i := range t.NumField() {
			maps.Copy(found, packages(t.Field(i).Type, seen))
		}
	}
	return found
}
