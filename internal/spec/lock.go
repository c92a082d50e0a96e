package spec

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// Lock pins the third-party charts and images: charts/lock.yaml.
type Lock struct {
	APIVersion string   `yaml:"apiVersion" json:"apiVersion"`
	Kind       string   `yaml:"kind" json:"kind"` // Lock
	Metadata   Metadata `yaml:"metadata" json:"metadata"`
	Charts     []Chart  `yaml:"charts" json:"charts"`
}

// Chart is one version of a chart with the images it is installed with.
type Chart struct {
	Name    string `yaml:"name" json:"name"`
	Version string `yaml:"version" json:"version"`
	// Source is a directory of this tree whose Go module holds chart and
	// sources; go.sum pins both. "" where they are only to be had elsewhere.
	Source string `yaml:"source,omitempty" json:"source,omitempty"`
	// Repository serves the chart where there is no Source.
	Repository string `yaml:"repository,omitempty" json:"repository,omitempty"`
	// Digest is the SHA-256 of the chart archive. Without one the archive is
	// taken as it comes, and the run records what it was.
	Digest string `yaml:"digest,omitempty" json:"digest,omitempty"`
	// Unpinned says why images of the chart may lack a digest: a run then records
	// that of what it got. "" where each has to have one.
	Unpinned string `yaml:"unpinned,omitempty" json:"unpinned,omitempty"`
	// Images by the part they are for, each with tag and digest.
	Images map[string]string `yaml:"images" json:"images"`
}

// LoadLock reads a lock file.
func LoadLock(file string) (Lock, error) {
	var l Lock
	err := load(file, &l, func(v *validation) { l.check(v) })
	return l, err
}

// Versions of a chart, in the order of the file.
func (l Lock) Versions(name string) []string {
	var versions []string
	for _, c := range l.Charts {
		if c.Name == name {
			versions = append(versions, c.Version)
		}
	}
	return versions
}

// Chart returns a version of a chart; false where the file does not pin it.
func (l Lock) Chart(name, version string) (Chart, bool) {
	i := slices.IndexFunc(l.Charts, func(c Chart) bool { return c.Name == name && c.Version == version })
	if i < 0 {
		return Chart{}, false
	}
	return l.Charts[i], true
}

var (
	digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	imageForm  = regexp.MustCompile(`^[a-z0-9./-]+:[A-Za-z0-9._-]+@sha256:[0-9a-f]{64}$`)
	tagForm    = regexp.MustCompile(`^[a-z0-9./-]+:[A-Za-z0-9._-]+$`)
)

func (l *Lock) check(v *validation) {
	v.header(l.APIVersion, l.Kind, "Lock", l.Metadata)
	if len(l.Charts) == 0 {
		v.fault("lists none", "", "charts")
	}
	for i, c := range l.Charts {
		at := func(path ...string) []string { return append([]string{"charts", strconv.Itoa(i)}, path...) }
		v.name(c.Name, at("name")...)
		v.required(c.Version, at("version")...)
		same := func(other Chart) bool { return other.Name == c.Name && other.Version == c.Version }
		if c.Version != "" && slices.IndexFunc(l.Charts, same) < i {
			v.fault("is there twice", c.Version, at("version")...)
		}
		if (c.Source == "") == (c.Repository == "") {
			v.fault("needs a source or a repository, and not both", "", at()...)
		}
		if c.Digest != "" && !digestForm.MatchString(c.Digest) {
			v.fault("is no sha256:… digest", c.Digest, at("digest")...)
		}
		if len(c.Images) == 0 {
			v.fault("lists none", "", at("images")...)
		}
		for _, part := range slices.Sorted(maps.Keys(c.Images)) {
			image := c.Images[part]
			if !imageForm.MatchString(image) && (c.Unpinned == "" || !tagForm.MatchString(image)) {
				v.fault("is no NAME:TAG@sha256:… reference", image, at("images", part)...)
			}
		}
	}
}
