package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
	"gopkg.in/yaml.v3"

	"service-dataplane/internal/spec"
)

// Names in a result directory.
const (
	RunFile        = "run.yaml"
	RawDir         = "raw"
	EvidenceFile   = "evidence.json"
	NormalizedFile = "normalized.json"
	ReadmeFile     = "README.md"
	// PageFile is of all results: it lies beside their README.md.
	PageFile = "index.html"
)

// Draft is a result directory that is not whole yet. It lies beside its
// target, so that taking the target's place is one rename.
type Draft struct {
	// Dir holds the files written so far.
	Dir    string
	target string
}

// NewDraft begins the result directory root/<experiment>/<scenario>.
func NewDraft(root, experiment, scenario string) (*Draft, error) {
	parent := filepath.Join(root, experiment)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "."+scenario+".draft-")
	if err != nil {
		return nil, err
	}
	// MkdirTemp is for private files; results are for everyone.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Draft{Dir: dir, target: filepath.Join(parent, scenario)}, nil
}

// Raw is the directory of the raw files.
func (d *Draft) Raw() string { return filepath.Join(d.Dir, RawDir) }

// Target is where the directory will be.
func (d *Draft) Target() string { return d.target }

// Write writes files by their name.
func (d *Draft) Write(files map[string][]byte) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(d.Dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Commit puts the draft in the place of what was there before, at once.
func (d *Draft) Commit() error {
	err := unix.Renameat2(unix.AT_FDCWD, d.Dir, unix.AT_FDCWD, d.target, unix.RENAME_EXCHANGE)
	if err == nil {
		return os.RemoveAll(d.Dir) // now the former results
	}
	if !errors.Is(err, unix.ENOENT) { // a file system that cannot exchange
		if err := os.RemoveAll(d.target); err != nil {
			return err
		}
	}
	return os.Rename(d.Dir, d.target)
}

// Discard removes what is left of a draft; after Commit that is nothing.
func (d *Draft) Discard() error { return os.RemoveAll(d.Dir) }

// MarshalRun is the content of run.yaml.
func MarshalRun(run Run) ([]byte, error) {
	run.APIVersion, run.Kind = spec.APIVersion, runKind
	var out bytes.Buffer
	out.WriteString("# Provenance of this run. With raw/ it is all that the other files are made from.\n")
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(run), encoder.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// ReadRun reads run.yaml of a result directory.
func ReadRun(dir string) (Run, error) {
	file := filepath.Join(dir, RunFile)
	raw, err := os.ReadFile(file)
	if err != nil {
		return Run{}, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true)
	var run Run
	if err := decoder.Decode(&run); err != nil {
		return Run{}, fmt.Errorf("%s: %w", file, err)
	}
	if run.APIVersion != spec.APIVersion || run.Kind != runKind {
		return Run{}, fmt.Errorf("%s: is %s %s, want %s %s", file, run.APIVersion, run.Kind, spec.APIVersion, runKind)
	}
	return run, nil
}

// Find returns the result directories at and below dir, sorted: those that
// hold a run.yaml.
func Find(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != dir && entry.Name()[0] == '.':
			return fs.SkipDir
		case entry.Name() == RunFile:
			found = append(found, filepath.Dir(path))
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// RemoveDrafts removes the drafts below root that killed runs left behind.
func RemoveDrafts(root string) ([]string, error) {
	drafts, err := filepath.Glob(filepath.Join(root, "*", ".*.draft-*"))
	for _, draft := range drafts {
		err = errors.Join(err, os.RemoveAll(draft))
	}
	return drafts, err
}
