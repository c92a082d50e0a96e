package spec

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Variant is a scenario that differs from its file's in some fields.
type Variant struct {
	// Metadata names it: the file's name, a dash and more.
	Metadata Metadata `yaml:"metadata" json:"metadata"`
	// Spec has the fields that differ. Lists take the place of the file's,
	// fields within fields are merged.
	Spec ScenarioSpec `yaml:"spec" json:"spec" schema:"partial"`
}

// variants checks each variant as the scenario it is: the file's tree with the
// variant's fields laid over it. A mistake keeps the line of its field.
func (s *Scenario) variants(v *validation, known Known) []Scenario {
	list, exact := v.at("variants")
	if !exact {
		return nil
	}
	var all []Scenario
	names := map[string]bool{}
	for i, variant := range s.Variants {
		own, exact := v.at("variants", strconv.Itoa(i))
		if !exact || list.Kind != yaml.SequenceNode {
			continue
		}
		whole := &validation{fileName: variant.Metadata.Name, root: overlay(v.root, own), mistyped: v.mistyped, incomplete: v.incomplete}
		name := variant.Metadata.Name
		switch {
		case name != "" && !strings.HasPrefix(name, s.Metadata.Name+"-"):
			v.fault("does not begin with "+s.Metadata.Name+"-", name, "variants", strconv.Itoa(i), "metadata", "name")
		case names[name]:
			v.fault("is there twice", name, "variants", strconv.Itoa(i), "metadata", "name")
		}
		names[name] = true
		var merged Scenario
		if err := whole.root.Decode(&merged); err != nil {
			continue // a type that the strict decoder has named already
		}
		merged.Variants = nil
		merged.check(whole, known)
		v.faults = append(v.faults, whole.faults...)
		all = append(all, merged)
	}
	return all
}

// overlay returns a mapping with the fields of over laid on those of base.
func overlay(base, over *yaml.Node) *yaml.Node {
	if base.Kind == yaml.AliasNode {
		base = base.Alias
	}
	if over.Kind == yaml.AliasNode {
		over = over.Alias
	}
	if base.Kind != yaml.MappingNode || over.Kind != yaml.MappingNode {
		return over
	}
	merged := *base
	merged.Content = slices.Clone(base.Content)
	merged.Line = over.Line // where what is missing is missing
	fields := fieldsOf(over)
	for i := 0; i+1 < len(fields); i += 2 {
		key, value := fields[i], fields[i+1]
		at := -1
		for j := 0; j+1 < len(merged.Content); j += 2 {
			if merged.Content[j].Value == key.Value {
				at = j
			}
		}
		if at < 0 {
			merged.Content = append(merged.Content, key, value)
			continue
		}
		merged.Content[at], merged.Content[at+1] = key, overlay(merged.Content[at+1], value)
	}
	return &merged
}

// fieldsOf are the keys and values of a mapping, those that it merges in (<<)
// before its own, so that what stands later wins.
func fieldsOf(mapping *yaml.Node) []*yaml.Node {
	if mapping.Kind == yaml.AliasNode {
		mapping = mapping.Alias
	}
	var merged, own []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		switch {
		case key.Tag != "!!merge":
			own = append(own, key, value)
		case value.Kind == yaml.SequenceNode:
			// The first of several wins.
			for _, one := range slices.Backward(value.Content) {
				merged = append(merged, fieldsOf(one)...)
			}
		default:
			merged = append(merged, fieldsOf(value)...)
		}
	}
	return append(merged, own...)
}
