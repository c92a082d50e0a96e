package jsonlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"
)

// FuzzParse compares the values and their lines with a second way to tell both:
// the tokens of the whole file, none of which has a line break in it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(spread))
	for _, text := range []string{"", "\n1e3\n2", "[\r\n-0.5 ,\n\"\\u000a\" ]", "{\"a\":\n{\"a\":null}, \"\xff\": [[\n]]}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		whole, err := Parse(raw)
		if (err == nil) != json.Valid(raw) {
			t.Fatalf("error %v of a file that is valid: %v", err, json.Valid(raw))
		}
		if err != nil {
			return
		}
		if got, want := leaves(t, whole), tokens(t, raw); !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
		checkGet(t, whole)
		whole.Line = 0
		for _, leaf := range leaves(t, whole) {
			if leaf[:2] != "0 " {
				t.Errorf("without lines: %q", leaf)
			}
		}
	})
}

// leaves are the lines and texts of names and values, from the top of the file.
func leaves(t *testing.T, v Value) []string {
	var all []string
	switch v.Raw[0] {
	case '{':
		all = append(all, fmt.Sprintf("%d {", v.Line))
		members, err := v.Members()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			all = append(all, fmt.Sprintf("%d %v", m.NameLine, m.Name))
			all = append(all, leaves(t, m.Value)...)
		}
	case '[':
		all = append(all, fmt.Sprintf("%d [", v.Line))
		elements, err := v.Elements()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range elements {
			all = append(all, leaves(t, e)...)
		}
	default:
		var scalar any
		if err := v.Decode(&scalar); err != nil {
			scalar = err // a number no float64 holds
		} else if text, err := v.Text(); err == nil && text != scalar {
			t.Errorf("text %q of %s", text, v.Raw)
		}
		all = append(all, fmt.Sprintf("%d %v", v.Line, scalar))
	}
	return all
}

func tokens(t *testing.T, raw []byte) []string {
	var all []string
	decoder := json.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Skip(err)
		}
		if token != json.Delim('}') && token != json.Delim(']') {
			all = append(all, fmt.Sprintf("%d %v", 1+bytes.Count(raw[:decoder.InputOffset()], []byte("\n")), token))
		}
	}
}

// checkGet: what Get finds is what encoding/json keeps of the members of a name.
func checkGet(t *testing.T, v Value) {
	var kept map[string]json.RawMessage
	if json.Unmarshal(v.Raw, &kept) != nil {
		return
	}
	for name, raw := range kept {
		m, ok, err := v.Get(name)
		if err != nil || ok == (string(raw) == "null") || ok && !bytes.Equal(m.Raw, raw) {
			t.Errorf("%q: %s, %v and error %v; encoding/json has %s", name, m.Raw, ok, err, raw)
		}
	}
}
