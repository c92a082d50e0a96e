package diff

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Field is a value as it is shown, "" where there is none.
type Field struct{ Name, Value string }

// fields are the values of a struct that stand for themselves: text, numbers,
// truth values and lists of text, by the words of their JSON names. What is
// nested is compared on its own. A field that comes later is not forgotten.
func fields(of any) []Field {
	var all []Field
	v := reflect.ValueOf(of)
	for _, f := range reflect.VisibleFields(v.Type()) {
		value := v.FieldByIndex(f.Index)
		text := ""
		switch list, isList := value.Interface().([]string); {
		case f.Anonymous:
			continue
		case isList:
			text = strings.Join(list, ", ")
		case value.Kind() == reflect.String || value.CanInt() || value.CanUint() || value.CanFloat() || value.Kind() == reflect.Bool:
			text = fmt.Sprint(value)
		default:
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, Field{words(name), text})
	}
	return all
}

// said is what JSON names are called where their words alone do not say it.
var said = map[string]string{
	"agent":         "cilium-config",
	"clusterIP":     "ClusterIP",
	"kubeProxy":     "kube-proxy",
	"log":           "log's mode",
	"noBackends":    "without backends",
	"nodePort":      "NodePort",
	"process":       "kube-proxy process",
	"proxyMode":     "/proxyMode",
	"sourceFits":    "source as expected",
	"endpointsOnly": "answered by endpoints only",
	"unparsed":      "lines not understood",
}

var camel = regexp.MustCompile(`([a-z])([A-Z])`)

// words of a name in camel case: "affinity seconds".
func words(name string) string {
	if text := said[name]; text != "" {
		return text
	}
	parts := strings.Fields(camel.ReplaceAllString(name, "$1 $2"))
	for i, part := range parts {
		if part != strings.ToUpper(part) { // no abbreviation
			parts[i] = strings.ToLower(part)
		}
	}
	return strings.Join(parts, " ")
}

// changes are the texts for the values that differ: those of base in their
// order, then what new alone has.
func changes(base, new []Field) []string {
	lookup := func(all []Field, name string) (string, bool) {
		for _, f := range all {
			if f.Name == name {
				return f.Value, true
			}
		}
		return "", false
	}
	var texts []string
	for _, f := range base {
		if now, _ := lookup(new, f.Name); now != f.Value {
			texts = append(texts, f.Name+" "+arrow(f.Value, now))
		}
	}
	for _, f := range new {
		if _, before := lookup(base, f.Name); !before && f.Value != "" {
			texts = append(texts, f.Name+" "+arrow("", f.Value))
		}
	}
	return texts
}

func arrow(base, new string) string {
	return cmp.Or(base, "none") + " → " + cmp.Or(new, "none")
}

// pairs matches the elements of two lists: first those that are equal, then
// those of one identity, then those that are equal but for one field, as where
// a port has changed. The rest is on one side only.
func pairs[T any](base, new []T, identity func(T) string) (both [][2]T, missing, extra []T) {
	used := make([]bool, len(new))
	partner := make([]int, len(base))
	for i := range partner {
		partner[i] = -1
	}
	for _, fits := range []func(a, b T) bool{
		func(a, b T) bool { return apart(a, b) == 0 },
		func(a, b T) bool { return identity(a) == identity(b) },
		func(a, b T) bool { return apart(a, b) == 1 },
	} {
		for i, a := range base {
			for j, b := range new {
				if partner[i] < 0 && !used[j] && fits(a, b) {
					partner[i], used[j] = j, true
				}
			}
		}
	}
	for i, a := range base {
		if partner[i] < 0 {
			missing = append(missing, a)
		} else {
			both = append(both, [2]T{a, new[partner[i]]})
		}
	}
	for j, b := range new {
		if !used[j] {
			extra = append(extra, b)
		}
	}
	return both, missing, extra
}

// apart counts the fields in which two structs differ.
func apart(a, b any) int {
	n := 0
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	for _, f := range reflect.VisibleFields(va.Type()) {
		if !f.Anonymous && !reflect.DeepEqual(va.FieldByIndex(f.Index).Interface(), vb.FieldByIndex(f.Index).Interface()) {
			n++
		}
	}
	return n
}
