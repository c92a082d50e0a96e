package bundle

import (
	"strings"
	"testing"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
)

// scenario is one that installs a version of a chart.
func scenario(chart, version string) spec.Scenario {
	s := spec.Scenario{Metadata: spec.Metadata{Name: "s"}}
	switch chart {
	case spec.CiliumChart:
		s.Spec.DataPlane.Cilium = &spec.Cilium{Version: version}
	case spec.CalicoChart:
		s.Spec.DataPlane.Calico = &spec.Calico{Version: version}
	}
	return s
}

func TestLacks(t *testing.T) {
	const cilium, calico = spec.CiliumChart, spec.CalicoChart
	planes := []Plane{{Name: cilium, Version: "1.20.2"}}
	for _, test := range []struct {
		name           string
		index          Index
		chart, version string
		want           string
	}{
		{"what needs no data plane", Index{}, "", "", ""},
		{"the version", Index{Planes: planes}, cilium, "1.20.2", ""},
		{"one of two", Index{Planes: append([]Plane{{Name: cilium, Version: "1.19.8"}}, planes...)}, cilium, "1.20.2", ""},
		{"another data plane beside it", Index{Planes: append([]Plane{{Name: calico, Version: "v3.31.7"}}, planes...)}, calico, "v3.31.7", ""},
		{"another version", Index{Planes: planes, Scenarios: []string{"nftables", "cilium"}}, cilium, "1.19.8", "cilium 1.19.8 (it was made for nftables, cilium)"},
		{"a version that begins alike", Index{Planes: planes, Scenarios: []string{"cilium"}}, cilium, "1.20", "cilium 1.20 (it was made for cilium)"},
		{"no data plane", Index{Scenarios: []string{"nftables"}}, cilium, "1.20.2", "cilium 1.20.2 (it was made for nftables)"},
		{"another data plane of that version", Index{Planes: []Plane{{Name: "calico", Version: "1.20.2"}}, Scenarios: []string{"calico"}}, cilium, "1.20.2", "cilium 1.20.2 (it was made for calico)"},
		{"another data plane", Index{Planes: planes, Scenarios: []string{"cilium"}}, calico, "v3.31.7", "tigera-operator v3.31.7 (it was made for cilium)"},
		{"a version of another spelling", Index{Planes: []Plane{{Name: calico, Version: "v3.31.7"}}, Scenarios: []string{"calico-ebpf"}}, calico, "3.31.7", "tigera-operator 3.31.7 (it was made for calico-ebpf)"},
	} {
		if got := test.index.Lacks(scenario(test.chart, test.version)); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestLacksOfDirectory: it was made for nothing.
func TestLacksOfDirectory(t *testing.T) {
	for chart, version := range map[string]string{spec.CiliumChart: "1.20.2", spec.CalicoChart: "v3.31.7"} {
		if got, want := (Index{}).Lacks(scenario(chart, version)), chart+" "+version; got != want {
			t.Errorf("says %q, want %q", got, want)
		}
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

// TestOtherwise: a bundle can be whole and hold what another revision pinned.
func TestOtherwise(t *testing.T) {
	const pin, other = "quay.io/cilium/cilium:v1@sha256:1", "quay.io/cilium/cilium:v1@sha256:2"
	cilium := scenario(spec.CiliumChart, "1.20.2")
	for _, test := range []struct {
		name, pinned, digest string
		image                imagebuild.Image
		from                 string
		want                 string // of the answer, "" for none
	}{
		{"as pinned", pin, "sha256:c", imagebuild.Image{Reference: pin, Origin: imagebuild.Registry}, "oci://x sha256:c", ""},
		{"another digest", pin, "", imagebuild.Image{Reference: other, Origin: imagebuild.Registry}, "", "is " + other + ", and charts/lock.yaml pins " + pin},
		{"without a digest", pin, "", imagebuild.Image{Reference: "quay.io/cilium/cilium:v1", Origin: imagebuild.Registry}, "", "pins " + pin},
		{"built from source", pin, "", imagebuild.Image{Reference: "localhost/x:v1", Origin: imagebuild.Source}, "", ""},
		{"from a directory", pin, "", imagebuild.Image{Reference: "quay.io/cilium/cilium:v1", Origin: FromDirectory}, "", ""},
		{"nothing pinned", "quay.io/cilium/cilium:v1", "", imagebuild.Image{Reference: other, Origin: imagebuild.Registry}, "", ""},
		{"no image", pin, "", imagebuild.Image{}, "", "has no agent image"},
		{"another chart", pin, "sha256:c", imagebuild.Image{Reference: pin, Origin: imagebuild.Registry}, "oci://x sha256:d", "pins sha256:c"},
	} {
		lock := spec.Lock{Charts: []spec.Chart{{Name: spec.CiliumChart, Version: "1.20.2", Digest: test.digest, Images: map[string]string{"agent": test.pinned}}}}
		index := Index{Planes: []Plane{{Name: spec.CiliumChart, Version: "1.20.2", Images: map[string]imagebuild.Image{"agent": test.image}, ChartFrom: test.from}}}
		got := index.Otherwise(cilium, lock)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if got := (Index{}).Otherwise(cilium, lock) + index.Otherwise(spec.Scenario{}, lock) + index.Otherwise(cilium, spec.Lock{}); got != "" {
			t.Errorf("%s: %q where there is nothing to compare", test.name, got)
		}
	}
}
