package cilium

import (
	"fmt"
	"strings"
	"testing"
)

func TestElementLines(t *testing.T) {
	const text = "\n\n{\n\"a\"\n:\n1 , \"b\": [ 2,\n\ntrue,\n{\"c\":\r\n\"d\\n\"}]\n,\n\"b\": null, \"e\" : { } }\n"
	root, err := parseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	members, err := root.members()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		got = append(got, fmt.Sprintf("%s %d-%d %s", m.key, m.keyLine, m.line, m.short()))
	}
	elements, err := members[1].elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range elements {
		got = append(got, fmt.Sprintf("%d %s", e.line, e.short()))
	}
	last, _ := elements[2].get("c")
	got = append(got, last.quote("b", "c").String())
	compare(t, append([]string{fmt.Sprintf("%d %s", root.line, root.short())}, got...), []string{
		"3 {…}",
		"a 4-6 1", "b 6-6 […]", "b 12-12 null", "e 12-12 {}",
		"6 2", "8 true", "9 {…}",
		`9: b.c: "d\n"`,
	})
	if _, ok := root.get("b"); ok {
		t.Error("the last b is null")
	}
}

func TestParseJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":            "line 1: ",
		" \n \n":      "line 3: ",
		"{\n\"a\"\n}": "line 3: ",
		"1\n2":        "line 2: ",
	} {
		if _, err := parseJSON([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want one of %s", text, err, want)
		}
	}
}
