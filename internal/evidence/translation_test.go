package evidence

import (
	"fmt"
	"slices"
	"testing"
)

// TestTranslations: connections of one kind are counted together, whoever
// dialled.
func TestTranslations(t *testing.T) {
	raw, s, x := load(t, "iptables")
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, translation := range e.Kernel[1].Translations {
		got = append(got, fmt.Sprintf("%s %s -> %s %t %v", translation.Tracker, translation.Destination, translation.Backend, translation.Masqueraded, translation.Sources))
	}
	slices.Sort(got)
	want := []string{
		"conntrack 172.18.0.4:30081 -> 10.244.1.2:8080 true [10.244.2.2 172.18.0.1]",
		"conntrack 172.18.0.4:30081 -> 10.244.2.3:8080 true [10.244.2.2 172.18.0.1]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
