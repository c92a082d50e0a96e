// Package pagetest gives tests runs whose every text tries to leave its place on
// a page.
package pagetest

import (
	"reflect"

	"service-dataplane/internal/report"
)

// Evil ends whatever element, attribute or comment it gets into, and runs.
const Evil = `"><script>alert(1)</script></pre></details></text></svg></style>'--><img src=x onerror=alert(2)>{{.}}` + "`\u202e\x00\ufffe" + `javascript:alert(3)`

// Hostile are runs with Evil behind every text of theirs. What says how a
// connection was made stays, so that there is as much on the page.
func Hostile(runs []report.IndexEntry) []report.IndexEntry {
	var all []report.IndexEntry
	for _, r := range runs {
		all = append(all, evil(reflect.ValueOf(r)).Interface().(report.IndexEntry))
	}
	return all
}

// kept fields decide what a page shows.
var kept = map[string]bool{"From": true, "To": true, "Node": true, "Role": true}

// evil copies a value; types of named texts, such as verdicts, are kept.
func evil(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			out.SetString(v.String() + Evil)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !kept[f.Name] {
				out.Field(i).Set(evil(v.Field(i)))
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			break
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(evil(v.Index(i)))
		}
	case reflect.Pointer:
		if v.IsNil() {
			break
		}
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(evil(v.Elem()))
	}
	return out
}
