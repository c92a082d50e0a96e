package spec

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Import says of evidence that was recorded elsewhere, without this runner,
// what each of its files is: the map of `runner import`.
type Import struct {
	APIVersion string     `yaml:"apiVersion" json:"apiVersion"`
	Kind       string     `yaml:"kind" json:"kind"` // Import
	Metadata   Metadata   `yaml:"metadata" json:"metadata"`
	Spec       ImportSpec `yaml:"spec" json:"spec"`
}

// ImportSpec is the map itself.
type ImportSpec struct {
	// Scenario and Experiment that the evidence is judged by.
	Scenario   string `yaml:"scenario" json:"scenario"`
	Experiment string `yaml:"experiment" json:"experiment"`
	// Recorded is when, in UTC: 2026-11-29T15:04:00Z.
	Recorded string `yaml:"recorded" json:"recorded"`
	// On is the cluster, its kernel and the versions that it was recorded on.
	On    string         `yaml:"on" json:"on"`
	Files []ImportedFile `yaml:"files" json:"files"`
}

// ImportedFile is one recorded file, or one of each node where From and To hold
// NodePlaceholder.
type ImportedFile struct {
	// From is its path below the directory of what was recorded, To its path
	// below raw/.
	From string `yaml:"from,omitempty" json:"from,omitempty"`
	To   string `yaml:"to" json:"to"`
	// Argv is the command that printed it.
	Argv []string `yaml:"argv,flow" json:"argv"`
	// Stderr is what else it said, where that was recorded.
	Stderr string `yaml:"stderr,omitempty" json:"stderr,omitempty"`
	// Absent says that the command has answered that what it reads does not
	// exist. It need not have a file then.
	Absent bool `yaml:"absent,omitempty" json:"absent,omitempty"`
}

// NodePlaceholder stands for the role of each node.
const NodePlaceholder = "{node}"

// ImportKnown is what a map may name.
type ImportKnown struct {
	Scenarios, Experiments []string
	// Recorded is the directory that the map is of.
	Recorded fs.FS
}

// LoadImport reads the map of an import. That it loads says that every file it
// names is there.
func LoadImport(file string, known ImportKnown) (Import, error) {
	var m Import
	err := load(file, &m, func(v *validation) { m.check(v, known) })
	return m, err
}

// Time is when the evidence was recorded; the zero time where the map does not
// say.
func (s ImportSpec) Time() time.Time {
	t, err := time.Parse(time.RFC3339, s.Recorded)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// EachNode are the files that an entry stands for.
func (f ImportedFile) EachNode() []ImportedFile {
	if !strings.Contains(f.From+f.To, NodePlaceholder) {
		return []ImportedFile{f}
	}
	var all []ImportedFile
	for _, role := range Roles {
		of := func(text string) string { return strings.ReplaceAll(text, NodePlaceholder, role) }
		one := f
		one.From, one.To, one.Stderr = of(f.From), of(f.To), of(f.Stderr)
		one.Argv = nil
		for _, word := range f.Argv {
			one.Argv = append(one.Argv, of(word))
		}
		all = append(all, one)
	}
	return all
}

func (m *Import) check(v *validation, known ImportKnown) {
	v.header(m.APIVersion, m.Kind, "Import", m.Metadata)
	if slices.Contains(known.Scenarios, m.Metadata.Name) {
		v.fault("is a scenario's name: what was imported would stand where its runs do", m.Metadata.Name, "metadata", "name")
	}
	v.oneOf(m.Spec.Scenario, known.Scenarios, "spec", "scenario")
	v.oneOf(m.Spec.Experiment, known.Experiments, "spec", "experiment")
	switch {
	case m.Spec.Recorded == "":
		v.fault("is missing", "", "spec", "recorded")
	case m.Spec.Time().IsZero() || !strings.HasSuffix(m.Spec.Recorded, "Z"):
		v.fault("is no time in UTC such as 2026-11-29T15:04:00Z", m.Spec.Recorded, "spec", "recorded")
	}
	v.required(strings.TrimSpace(m.Spec.On), "spec", "on")
	if len(m.Spec.Files) == 0 {
		v.fault("lists none", "", "spec", "files")
	}
	written := map[string]bool{}
	for i, f := range m.Spec.Files {
		at := func(field string) []string { return []string{"spec", "files", strconv.Itoa(i), field} }
		f.checkFrom(v, known.Recorded, at("from"))
		f.checkTo(v, written, at("to"))
		if len(f.Argv) == 0 || f.Argv[0] == "" {
			v.fault("is missing: the command that printed the file", "", at("argv")...)
		}
		if f.Absent && f.From == "" && strings.TrimSpace(f.Stderr) == "" {
			v.fault("is missing: the words that say what does not exist", "", at("stderr")...)
		}
	}
}

func (f ImportedFile) checkFrom(v *validation, recorded fs.FS, at []string) {
	switch {
	case f.From == "" && f.Absent:
		return
	case f.From == "":
		v.fault("is missing", "", at...)
		return
	case !filepath.IsLocal(f.From):
		v.fault("is not below the directory of what was recorded", f.From, at...)
		return
	}
	for _, one := range f.EachNode() {
		info, err := fs.Stat(recorded, path.Clean(one.From))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			v.fault("is not there", one.From, at...)
		case err != nil:
			v.fault("cannot be read: "+err.Error(), one.From, at...)
		case !info.Mode().IsRegular():
			v.fault("is no file", one.From, at...)
		}
	}
}

// rawName is the form of a file's name below its place.
var rawName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (f ImportedFile) checkTo(v *validation, written map[string]bool, at []string) {
	places := append([]string{"cluster", FromClient, FromHost}, Roles...)
	all := f.EachNode()
	place, name, _ := strings.Cut(all[0].To, "/")
	ofNodes := strings.Contains(f.To, NodePlaceholder)
	switch {
	case f.To == "":
		v.fault("is missing", "", at...)
	case !filepath.IsLocal(f.To):
		v.fault("is not below raw/", f.To, at...)
	case !slices.Contains(places, place):
		v.fault("is in none of "+strings.Join(places, ", "), f.To, at...)
	case !rawName.MatchString(name):
		v.fault("is not of the form PLACE/FILE", f.To, at...)
	case ofNodes && f.From != "" && !strings.Contains(f.From, NodePlaceholder):
		v.fault("is a file of each node, and from is one file", f.To, at...)
	case !ofNodes && strings.Contains(f.From, NodePlaceholder):
		v.fault("is one file, and from is one of each node", f.To, at...)
	default:
		for _, one := range all {
			if written[one.To] {
				v.fault("is there twice", one.To, at...)
			}
			written[one.To] = true
		}
	}
}
