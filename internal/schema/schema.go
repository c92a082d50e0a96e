package schema

import (
	"fmt"
	"net/netip"
	"path"
	"reflect"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// draft is the version of JSON Schema.
const draft = "https://json-schema.org/draft/2020-12/schema"

// node is a schema, or a part of one.
type node struct {
	Schema               string           `json:"$schema,omitempty"`
	Title                string           `json:"title,omitempty"`
	Description          string           `json:"description,omitempty"`
	Ref                  string           `json:"$ref,omitempty"`
	Type                 any              `json:"type,omitempty"` // a name, or several
	Const                string           `json:"const,omitempty"`
	Enum                 []string         `json:"enum,omitempty"`
	Minimum              *uint64          `json:"minimum,omitempty"`
	Maximum              *uint64          `json:"maximum,omitempty"`
	Items                *node            `json:"items,omitempty"`
	Properties           map[string]*node `json:"properties,omitempty"`
	Required             []string         `json:"required,omitempty"`
	AdditionalProperties any              `json:"additionalProperties,omitempty"` // false, or a node
	Defs                 map[string]*node `json:"$defs,omitempty"`
}

// generator makes the schema of one file.
type generator struct {
	comments comments
	// closed types have these values beside those of their constants.
	closed map[reflect.Type][]string
	defs   map[string]*node
}

// text is how types marshal that are structs to Go.
var text = map[reflect.Type]string{
	reflect.TypeFor[netip.Addr]():     "An IP address; empty where there is none.",
	reflect.TypeFor[netip.AddrPort](): "An IP address and a port; empty where there is none.",
	reflect.TypeFor[netip.Prefix]():   "A subnet; empty where there is none.",
	reflect.TypeFor[collect.Share]():  "A part of all new connections, as a fraction: 1/2.",
}

// of is the schema of a type. partial is a struct of which any field may be
// left out.
func (g *generator) of(t reflect.Type, partial bool) *node {
	if description := text[t]; description != "" {
		return &node{Type: "string", Description: description}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem(), partial)
	case reflect.Struct:
		return g.reference(t, partial)
	case reflect.Slice:
		return &node{Type: []string{"array", "null"}, Items: g.of(t.Elem(), false)}
	case reflect.Map:
		n := &node{Type: []string{"object", "null"}}
		if t.Elem().Kind() != reflect.Interface {
			n.AdditionalProperties = g.of(t.Elem(), false)
		}
		return n
	case reflect.Interface:
		return &node{}
	case reflect.Bool:
		return &node{Type: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &node{Type: "number"}
	case reflect.String:
		n := &node{Type: "string"}
		if more, closed := g.closed[t]; closed {
			n.Enum = append(slices.Clone(g.comments.values[name(t)]), more...)
		}
		return n
	}
	n := &node{Type: "integer"}
	if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 {
		n.Minimum, n.Maximum = new(uint64), new(uint64)
		*n.Maximum = 1<<t.Bits() - 1
	}
	return n
}

// reference makes the definition of a struct, once.
func (g *generator) reference(t reflect.Type, partial bool) *node {
	key := path.Base(t.PkgPath()) + "." + t.Name()
	if partial {
		key += ".partial"
	}
	if g.defs[key] == nil {
		g.defs[key] = &node{} // a type may lead back to itself
		*g.defs[key] = *g.object(t, partial)
	}
	return &node{Ref: "#/$defs/" + key}
}

// object has the fields that encoding/json would write: those of embedded structs
// too, unless another one hides them.
func (g *generator) object(t reflect.Type, partial bool) *node {
	n := &node{Type: "object", Description: g.comments.text[name(t)], Properties: map[string]*node{}, AdditionalProperties: false}
	for _, f := range reflect.VisibleFields(t) {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && key == "" || key == "-" || !f.IsExported() {
			continue
		}
		field := g.of(f.Type, partial || f.Tag.Get("schema") == "partial")
		if comment := g.comments.text[name(owner(t, f))+"."+f.Name]; comment != "" {
			field.Description = comment
		}
		n.Properties[key] = field
		if !partial && !strings.Contains(options, "omit") {
			n.Required = append(n.Required, key)
		}
	}
	return n
}

// owner is the struct that declares a field: t, or one embedded in it.
func owner(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// name of a type, with its import path.
func name(t reflect.Type) string { return fmt.Sprintf("%s.%s", t.PkgPath(), t.Name()) }
