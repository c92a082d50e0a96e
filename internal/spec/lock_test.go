package spec

import (
	"slices"
	"strings"
	"testing"
)

func TestLock(t *testing.T) {
	lock := Lock{Charts: []Chart{
		{Name: "cilium", Version: "1.20.2", Source: "images/cilium"},
		{Name: "coredns", Version: "1.20.2", Repository: "oci://example.org/charts"},
		{Name: "cilium", Version: "1.19.8", Repository: "oci://example.org/charts"},
		{Name: "cilium", Version: "1.20.10", Repository: "oci://example.org/charts"},
	}}
	for name, want := range map[string][]string{
		"cilium":  {"1.20.2", "1.19.8", "1.20.10"}, // as in the file, not by number
		"coredns": {"1.20.2"},
		"calico":  nil,
		"":        nil,
	} {
		if got := lock.Versions(name); !slices.Equal(got, want) {
			t.Errorf("versions of %q: %q, want %q", name, got, want)
		}
	}
	for _, test := range []struct {
		name, version string
		at            int // in the file, -1 where it is not pinned
	}{
		{"cilium", "1.20.2", 0},
		{"cilium", "1.20.10", 3},
		{"coredns", "1.20.2", 1}, // another chart of the same version
		{"coredns", "1.19.8", -1},
		{"cilium", "1.20", -1},
		{"cilium", "v1.20.2", -1},
		{"cilium", "", -1},
		{"calico", "1.20.2", -1},
	} {
		got, ok := lock.Chart(test.name, test.version)
		want := Chart{}
		if test.at >= 0 {
			want = lock.Charts[test.at]
		}
		if ok != (test.at >= 0) || got.Name != want.Name || got.Version != want.Version || got.Repository != want.Repository {
			t.Errorf("%s %s: %+v, %v; want %+v", test.name, test.version, got, ok, want)
		}
	}
}

// TestLockOfOneChartTwice: entries of one name and version differ in their
// images at least, and only the first is ever found.
func TestLockOfOneChartTwice(t *testing.T) {
	const file = `apiVersion: service-dataplane/v1alpha1
kind: Lock
metadata: {name: lock-twice, title: A test}
charts:
  - {name: cilium, version: 1.20.2, source: images/cilium, images: {agent: &image "quay.io/cilium/cilium:v1.20.2@sha256:2939231d0d3e3ebddcd80fffa168b7ddcc78fdf0dc864d1c8c126ff523c54f01"}}
  - {name: cilium, version: 1.20.2, source: images/cilium, images: {agent: *image}}
`
	var l Lock
	err := parse("lock-twice.yaml", []byte(file), &l, func(v *validation) { l.check(v) })
	if want := `lock-twice.yaml:6: charts.1.version: "1.20.2" is there twice`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestLockImagesInOrder: a mapping has no order, what is said about it has one.
func TestLockImagesInOrder(t *testing.T) {
	const file = `{apiVersion: service-dataplane/v1alpha1, kind: Lock, metadata: {name: lock-flow, title: A test},
charts: [{name: cilium, version: 1.20.2, source: images/cilium, images: {agent: a, operator: b, relay: c, proxy: d}}]}
`
	said := map[string]bool{}
	for range 20 {
		var l Lock
		err := parse("lock-flow.yaml", []byte(file), &l, func(v *validation) { l.check(v) })
		if err == nil || strings.Count(err.Error(), "\n") != 3 {
			t.Fatalf("error %v, want four faults", err)
		}
		said[err.Error()] = true
	}
	if len(said) != 1 {
		t.Errorf("%d errors for one file", len(said))
	}
}

// TestLockWithoutDigest: of an image whose digest was not to be had the tag is
// enough. What looks like a digest is one.
func TestLockWithoutDigest(t *testing.T) {
	const digest = "sha256:2939231d0d3e3ebddcd80fffa168b7ddcc78fdf0dc864d1c8c126ff523c54f01"
	for _, test := range []struct {
		image string
		is    bool
	}{
		{"quay.io/calico/node:v3.31.7", true},
		{"quay.io/calico/node:v3.31.7@" + digest, true},
		{"quay.io/calico/kube-controllers:v3.31.7-0.dev_1", true},
		{"quay.io/calico/node", false},
		{"quay.io/calico/node:", false},
		{"quay.io/calico/node@" + digest, false},
		{"quay.io/calico/node:@" + digest, false},
		{"quay.io/calico/node:v3.31.7@", false},
		{"quay.io/calico/node:v3.31.7@sha256:", false},
		{"quay.io/calico/node:v3.31.7@" + digest[:len(digest)-1], false},
		{"quay.io/calico/node:v3.31.7@" + digest + "0", false},
		{"quay.io/calico/node:v3.31.7@" + strings.ToUpper(digest), false},
		{"quay.io/calico/node:v3.31.7@" + digest + "@" + digest, false},
		{"quay.io/calico/node:v3.31.7 ", false},
		{"", false},
	} {
		file := `apiVersion: service-dataplane/v1alpha1
kind: Lock
metadata: {name: lock-flow, title: A test}
charts:
  - name: tigera-operator
    version: v3.31.7
    repository: https://docs.tigera.io/calico/charts
    unpinned: a test
    images:
      operator: quay.io/tigera/operator:v1.40.15
      node: "` + test.image + "\"\n"
		var l Lock
		err := parse("lock-flow.yaml", []byte(file), &l, func(v *validation) { l.check(v) })
		if test.is {
			if err != nil || l.Charts[0].Images["node"] != test.image || l.Charts[0].Images["operator"] != "quay.io/tigera/operator:v1.40.15" {
				t.Errorf("%q: %+v, %v", test.image, l, err)
			}
			continue
		}
		where := "lock-flow.yaml:11: charts.0.images.node"
		if test.image != "" {
			where += `: "` + test.image + `"`
		}
		if want := where + " is no NAME:TAG@sha256:… reference"; err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", test.image, err, want)
		}
	}
}
