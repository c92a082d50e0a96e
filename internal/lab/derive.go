package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"service-dataplane/internal/check"
	"service-dataplane/internal/evidence"
	"service-dataplane/internal/page"
	"service-dataplane/internal/report"
	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// Derived is everything that follows from the raw files and the provenance.
type Derived struct {
	Evidence collect.Evidence
	Checks   []collect.Check
	// Files of the result directory by their name.
	Files map[string][]byte
}

// Derive decodes the raw directory of a run, makes the checks and renders what
// is written beside it.
func Derive(raw string, run results.Run) (Derived, error) {
	files := os.DirFS(raw)
	e, err := evidence.Decode(files, run.Scenario, run.Experiment)
	if err != nil {
		return Derived{}, err
	}
	d := Derived{Evidence: e, Checks: check.Run(e, run.Scenario, run.Experiment), Files: map[string][]byte{}}
	if run.Imported != nil {
		d.Checks = check.NotRecorded(d.Checks, e.Problems)
	}
	for name, value := range map[string]any{
		results.EvidenceFile:   results.Document{Evidence: e, Checks: d.Checks},
		results.NormalizedFile: evidence.Normalize(e, d.Checks),
	} {
		if d.Files[name], err = marshal(value); err != nil {
			return Derived{}, err
		}
	}
	if run.Experiment.Spec.Refusal != nil {
		d.Files[results.ReadmeFile], err = report.Refusal(run, e, d.Checks)
	} else {
		d.Files[results.ReadmeFile], err = report.Scenario(run, e, d.Checks, files)
	}
	return d, err
}

// Runs derives every result directory at and below dir.
func Runs(dir string) ([]report.IndexEntry, error) {
	dirs, err := find(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	return entries(dirs)
}

func entries(dirs []string) (runs []report.IndexEntry, err error) {
	for _, d := range dirs {
		run, err := results.ReadRun(d)
		if err != nil {
			return nil, err
		}
		derived, err := Derive(filepath.Join(d, results.RawDir), run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		runs = append(runs, report.IndexEntry{Run: run, Evidence: derived.Evidence, Checks: derived.Checks, Dir: filepath.ToSlash(d)})
	}
	return runs, nil
}

// Index renders what tells of all results below root, by name: the README.md and
// the page.
func Index(root string) (map[string][]byte, error) {
	dirs, err := results.Find(root)
	if err != nil {
		return nil, err
	}
	runs, err := entries(dirs)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		relative, err := filepath.Rel(root, runs[i].Dir)
		if err != nil {
			return nil, err
		}
		runs[i].Dir = filepath.ToSlash(relative)
	}
	rendered, err := page.Page(runs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", results.PageFile, err)
	}
	return map[string][]byte{results.ReadmeFile: report.Index(runs), results.PageFile: rendered}, nil
}

// find returns the result directories at and below dir, one at least.
func find(dir string) ([]string, error) {
	dirs, err := results.Find(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w; want a directory that runner run has written, such as results", err)
	case err == nil && len(dirs) == 0:
		err = fmt.Errorf("%s holds no results: no directory below it has a %s; want one that runner run has written, such as results", dir, results.RunFile)
	}
	return dirs, err
}

// marshal writes JSON for people and for git diff: indented, nothing escaped
// that need not be.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return out.Bytes(), err
}
