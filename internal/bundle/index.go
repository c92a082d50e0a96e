package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
)

// Names in a bundle. The index stands last, behind what it describes, and its
// own digest behind it.
const (
	indexFile  = "index.json"
	digestFile = "index.sha256"
)

const kind = "Bundle"

// Index says what is in a bundle.
type Index struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Created in UTC.
	Created time.Time `json:"created"`
	// Revision of the tree that made it, "" outside of a Git checkout.
	Revision string `json:"revision,omitempty"`
	// Scenarios it was made for.
	Scenarios []string `json:"scenarios"`
	// Node image of every cluster; zero in a directory without one.
	Node Node `json:"node,omitzero"`
	// Echo is the workload; zero in a directory.
	Echo   Echo    `json:"echo,omitzero"`
	Planes []Plane `json:"planes"`
}

// Echo is the workload's program, and its image.
type Echo struct {
	Reference string `json:"reference"`
	Binary    Entry  `json:"binary"`
	Archive   Entry  `json:"archive"`
}

// Entry is a file of the bundle.
type Entry struct {
	// File is its path in the bundle, with slashes.
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hex
}

// Node is the node image.
type Node struct {
	Image imagebuild.Image `json:"image"`
	// Archive in the form of docker save.
	Archive Entry `json:"archive"`
}

// Plane is a data plane at one version.
type Plane struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Images by the part they are for, and the name each has in the archive.
	Images map[string]imagebuild.Image `json:"images"`
	Names  map[string]string           `json:"names"`
	// Archives hold the images in the form of docker save.
	Archives []Entry `json:"archives"`
	// Chart is a chart archive, and ChartFrom where it came from.
	Chart     Entry  `json:"chart"`
	ChartFrom string `json:"chartFrom"`
	// Deviations of the images from the published ones, as whoever brought them
	// says: the lines of a directory's deviations.txt.
	Deviations []string `json:"deviations,omitempty"`
}

// entries are the files that the index describes.
func (i Index) entries() []Entry {
	entries := []Entry{i.Node.Archive, i.Echo.Binary, i.Echo.Archive}
	for _, p := range i.Planes {
		entries = append(append(entries, p.Archives...), p.Chart)
	}
	return entries
}

// Plane returns a data plane; false where the bundle does not have it.
func (i Index) Plane(name, version string) (Plane, bool) {
	at := slices.IndexFunc(i.Planes, func(p Plane) bool { return p.Name == name && p.Version == version })
	if at < 0 {
		return Plane{}, false
	}
	return i.Planes[at], true
}

// Lacks names what a scenario needs and the bundle does not have, "" where it
// has all.
func (i Index) Lacks(scenario spec.Scenario) string {
	name, version := scenario.Spec.DataPlane.Chart()
	if _, ok := i.Plane(name, version); ok || name == "" {
		return ""
	}
	text := name + " " + version
	if len(i.Scenarios) > 0 {
		text += fmt.Sprintf(" (it was made for %s)", strings.Join(i.Scenarios, ", "))
	}
	return text
}

// Otherwise says in what a bundle's data plane for a scenario is not what the lock
// of this tree pins, "" where it is: a bundle that another revision made may be
// whole and hold other images.
func (i Index) Otherwise(scenario spec.Scenario, lock spec.Lock) string {
	name, version := scenario.Spec.DataPlane.Chart()
	packed, there := i.Plane(name, version)
	pinned, ok := lock.Chart(name, version)
	if !there || !ok {
		return ""
	}
	for _, part := range slices.Sorted(maps.Keys(pinned.Images)) {
		image, want := packed.Images[part], pinned.Images[part]
		switch {
		case image.Reference == "":
			return fmt.Sprintf("%s %s has no %s image", name, version, part)
		case image.Origin == imagebuild.Registry && strings.Contains(want, "@") && image.Reference != want:
			return fmt.Sprintf("the %s image of %s %s is %s, and charts/lock.yaml pins %s", part, name, version, image.Reference, want)
		}
	}
	if pinned.Digest != "" && !strings.HasSuffix(packed.ChartFrom, pinned.Digest) {
		return fmt.Sprintf("chart %s %s is from %s, and charts/lock.yaml pins %s", name, version, packed.ChartFrom, pinned.Digest)
	}
	return ""
}

// check finds what a reader of the index could stumble over.
func (i Index) check() error {
	switch {
	case i.APIVersion != spec.APIVersion || i.Kind != kind:
		return fmt.Errorf("%s is of %s %s, want %s %s: made by another version of this program", indexFile, i.APIVersion, i.Kind, spec.APIVersion, kind)
	case i.Node.Image.ID == "" || i.Node.Image.Reference == "" || i.Echo.Reference == "":
		return fmt.Errorf("%s names no node image or no workload", indexFile)
	}
	for _, e := range i.entries() {
		if e.File == "" || len(e.SHA256) != 64 || e.Bytes <= 0 {
			return fmt.Errorf("%s has an incomplete entry %+v", indexFile, e)
		}
	}
	for at, p := range i.Planes {
		same := func(other Plane) bool { return other.Name == p.Name && other.Version == p.Version }
		switch {
		case p.Name == "" || p.Version == "" || len(p.Images) == 0 || len(p.Archives) == 0:
			return fmt.Errorf("%s has an incomplete data plane %q %q", indexFile, p.Name, p.Version)
		case slices.IndexFunc(i.Planes, same) < at:
			return fmt.Errorf("%s has %s %s twice", indexFile, p.Name, p.Version)
		}
		for part := range p.Images {
			if p.Names[part] == "" {
				return fmt.Errorf("%s says no name for the %s image of %s %s", indexFile, part, p.Name, p.Version)
			}
		}
	}
	return nil
}
