package bundle

import (
	"strings"
	"testing"

	"service-dataplane/internal/spec"
)

func scenario(cilium string) spec.Scenario {
	s := spec.Scenario{Metadata: spec.Metadata{Name: "s"}}
	if cilium != "" {
		s.Spec.DataPlane.Cilium = &spec.Cilium{Version: cilium}
	}
	return s
}

func TestLacks(t *testing.T) {
	cilium := []Plane{{Name: "cilium", Version: "1.20.2"}}
	for _, test := range []struct {
		name   string
		index  Index
		cilium string
		want   string
	}{
		{"what needs no data plane", Index{}, "", ""},
		{"the version", Index{Planes: cilium}, "1.20.2", ""},
		{"one of two", Index{Planes: append([]Plane{{Name: "cilium", Version: "1.19.8"}}, cilium...)}, "1.20.2", ""},
		{"another version", Index{Planes: cilium, Scenarios: []string{"nftables", "cilium"}}, "1.19.8", "Cilium 1.19.8 (it was made for nftables, cilium)"},
		{"a version that begins alike", Index{Planes: cilium, Scenarios: []string{"cilium"}}, "1.20", "Cilium 1.20 (it was made for cilium)"},
		{"no data plane", Index{Scenarios: []string{"nftables"}}, "1.20.2", "Cilium 1.20.2 (it was made for nftables)"},
		{"another data plane of that version", Index{Planes: []Plane{{Name: "calico", Version: "1.20.2"}}, Scenarios: []string{"calico"}}, "1.20.2", "Cilium 1.20.2 (it was made for calico)"},
	} {
		if got := test.index.Lacks(scenario(test.cilium)); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestLacksOfDirectory: it was made for nothing.
func TestLacksOfDirectory(t *testing.T) {
	if got := (Index{}).Lacks(scenario("1.20.2")); !strings.HasPrefix(got, "Cilium 1.20.2") || strings.Contains(got, "made for )") {
		t.Errorf("says %q", got)
	}
}

func TestPlane(t *testing.T) {
	index := Index{Planes: []Plane{{Name: "cilium", Version: "1.20.2", ChartFrom: "a"}, {Name: "cilium", Version: "1.19.8", ChartFrom: "b"}}}
	for _, test := range []struct{ name, version, want string }{
		{"cilium", "1.20.2", "a"}, {"cilium", "1.19.8", "b"}, {"cilium", "1.18.0", ""}, {"calico", "1.20.2", ""}, {"", "", ""},
	} {
		if p, ok := index.Plane(test.name, test.version); p.ChartFrom != test.want || ok != (test.want != "") {
			t.Errorf("%s %s: %+v, %v", test.name, test.version, p, ok)
		}
	}
}

// TestCheckOfPlanes: what a reader installs has a name, its images are there
// and each is called something in them.
func TestCheckOfPlanes(t *testing.T) {
	whole := pack(t, nil).index
	for name, change := range map[string]func(i *Index, p *Plane){
		"without a name":                   func(_ *Index, p *Plane) { p.Name = "" },
		"without a version":                func(_ *Index, p *Plane) { p.Version = "" },
		"without images":                   func(_ *Index, p *Plane) { p.Images = nil },
		"without archives":                 func(_ *Index, p *Plane) { p.Archives = nil },
		"without names of images":          func(_ *Index, p *Plane) { p.Names = nil },
		"with a name of an image it lacks": func(_ *Index, p *Plane) { p.Names = map[string]string{"agent": "a", "envoy": "e"} },
		"twice":                            func(i *Index, p *Plane) { i.Planes = append(i.Planes, *p) },
	} {
		i := whole
		i.Planes = []Plane{whole.Planes[0]}
		change(&i, &i.Planes[0])
		if err := i.check(); err == nil {
			t.Errorf("a plane %s is taken", name)
		}
	}
}
