package jsonlines

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func parse(t testing.TB, text string) Value {
	t.Helper()
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// spread has a line break wherever JSON allows one between names and values.
const spread = "\n\n{\n\"a\"\n:\n1 , \"b\": [ 2,\n\ntrue,\n{\"c\":\r\n\"d\\n\"}]\n,\n\"b\": null, \"e\" : { } }\n"

// outline is the root, its members with the lines of name and value, the elements
// of the second member and what the last of these holds.
func outline(t *testing.T, root Value) []string {
	t.Helper()
	all := []string{fmt.Sprintf("%d %s", root.Line, root.Short())}
	members, err := root.Members()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		all = append(all, fmt.Sprintf("%s %d-%d %s", m.Name, m.NameLine, m.Line, m.Short()))
	}
	elements, err := members[1].Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range elements {
		all = append(all, fmt.Sprintf("%d %s", e.Line, e.Short()))
	}
	last := elements[len(elements)-1]
	c, ok, err := last.Get("c")
	if !ok || err != nil {
		t.Fatalf("no c: %v", err)
	}
	return append(all, fmt.Sprintf("%s %d-%d %s, line of c %d, of x %d", c.Name, c.NameLine, c.Line, c.Short(), last.LineOf("c"), last.LineOf("x")))
}

func TestLines(t *testing.T) {
	compare(t, outline(t, parse(t, spread)), []string{
		"3 {…}",
		"a 4-6 1", "b 6-6 […]", "b 12-12 null", "e 12-12 {}",
		"6 2", "8 true", "9 {…}",
		`c 9-10 "d\n", line of c 10, of x 9`,
	})
}

// What has no line has none inside either, and says so in no error.
func TestNoLines(t *testing.T) {
	root := parse(t, spread)
	root.Line = 0
	compare(t, outline(t, root), []string{
		"0 {…}",
		"a 0-0 1", "b 0-0 […]", "b 0-0 null", "e 0-0 {}",
		"0 2", "0 true", "0 {…}",
		`c 0-0 "d\n", line of c 0, of x 0`,
	})
	a, _, _ := root.Get("a")
	if _, err := a.Text(); err == nil || err.Error() != "1 where a string is due" {
		t.Errorf("error %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":            "line 1: unexpected end",
		" \n \n":      "line 3: unexpected end",
		"{\n\"a\"\n}": "line 3: invalid character",
		"1\n2":        "line 2: invalid character",
	} {
		if v, err := Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) || v.Raw != nil {
			t.Errorf("%q: %+v and error %v, want one of %s", text, v, err, want)
		}
	}
}

// The last member of a name counts, and null is like none at all.
func TestGet(t *testing.T) {
	tests := []struct{ text, want, err string }{
		{`{"a": 1, "a": 2, "b": 3}`, "2", ""},
		{`{"a": null, "a": 2}`, "2", ""},
		{`{"a": 1, "a": null}`, "", ""},
		{`{"A": 1, "aa": 2}`, "", ""},
		{`{"\u0061": 1}`, "1", ""},
		{`{}`, "", ""},
		{`null`, "", ""},
		{`[]`, "", "line 1: [] where { is due"},
		{`"a"`, "", `line 1: "a" where { is due`},
	}
	for _, tt := range tests {
		m, ok, err := parse(t, tt.text).Get("a")
		got, gotErr := "", ""
		if ok {
			got = string(m.Raw)
		}
		if err != nil {
			gotErr = err.Error()
		}
		if got != tt.want || gotErr != tt.err || ok != (tt.want != "") {
			t.Errorf("%s: %q, %v and error %q; want %q and %q", tt.text, got, ok, gotErr, tt.want, tt.err)
		}
	}
}

// What a value is not is an error that names its line; only a list asked for as
// such may be null.
func TestWrongValue(t *testing.T) {
	members := func(v Value) error { _, err := v.Members(); return err }
	elements := func(v Value) error { _, err := v.Elements(); return err }
	orNull := func(v Value) error { _, err := v.ElementsOrNull(); return err }
	text := func(v Value) error { _, err := v.Text(); return err }
	into := func(to any) func(Value) error { return func(v Value) error { return v.Decode(to) } }
	known := func(v Value) error { return v.DecodeKnown(&struct{ A int }{}) }
	tests := []struct {
		name string
		read func(Value) error
		text string
		want string
	}{
		{"an object", members, "{}", ""},
		{"an array for an object", members, "[1]", "[…] where { is due"},
		{"null for an object", members, "null", "null where { is due"},
		{"an array", elements, "[]", ""},
		{"an object for an array", elements, `{"a": 1}`, "{…} where [ is due"},
		{"null for an array", elements, "null", "null where [ is due"},
		{"a list", orNull, "[1]", ""},
		{"null for a list", orNull, "null", ""},
		{"a word for a list", orNull, `"null"`, `"null" where [ is due`},
		{"a string", text, `""`, ""},
		{"a number for a string", text, "1", "1 where a string is due"},
		{"null for a string", text, "null", "null where a string is due"},
		{"a number", into(new(int)), "1", ""},
		{"a word for a number", into(new(int)), `"1"`, "json: cannot unmarshal string"},
		{"an unknown member", into(&struct{ A int }{}), `{"a": 1, "b": 2}`, ""},
		{"all known", known, `{"a": 1}`, ""},
		{"not all known", known, `{"a": 1, "b": 2}`, `json: unknown field "b"`},
		{"known, but not so", known, `{"a": "1"}`, "json: cannot unmarshal string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.read(parse(t, "\n"+tt.text))
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
			} else if err == nil || !strings.HasPrefix(err.Error(), "line 2: "+tt.want) {
				t.Errorf("error %v, want one with line 2: %s", err, tt.want)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	tests := []struct{ text, short, compact string }{
		{"null", "null", "null"},
		{`"{ }"`, `"{ }"`, `"{ }"`},
		{"{\n}", "{}", "{}"},
		{"[ ]", "[]", "[]"},
		{"{\"a\":\n[ 1,\n2 ]}", "{…}", `{"a":[1,2]}`},
		{"[\n\"a b\" ]", "[…]", `["a b"]`},
	}
	for _, tt := range tests {
		v := parse(t, tt.text)
		if v.Short() != tt.short || v.Compact() != tt.compact {
			t.Errorf("%s: short %s and compact %s, want %s and %s", tt.text, v.Short(), v.Compact(), tt.short, tt.compact)
		}
	}
}
