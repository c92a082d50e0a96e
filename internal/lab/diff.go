package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"service-dataplane/internal/diff"
	"service-dataplane/internal/evidence"
	"service-dataplane/internal/results"
)

// Diff compares the results at and below two directories, each derived anew
// from its raw files. Two directories that are one result each are compared
// whatever their scenarios. The error is about directories that cannot be read.
func Diff(base, new string, allowMissing bool) (diff.Report, error) {
	a, oneA, notesA, errA := readSide("BASE", base)
	b, oneB, notesB, errB := readSide("NEW", new)
	if err := errors.Join(errA, errB); err != nil {
		return diff.Report{}, err
	}
	var report diff.Report
	if oneA && oneB {
		report = diff.Runs(a[0], b[0])
	} else {
		report = diff.Trees(a, b, allowMissing)
	}
	if len(report.Compared) == 0 {
		return diff.Report{}, fmt.Errorf("%s and %s have no run of one experiment and scenario; name two results themselves to compare them nevertheless", base, new)
	}
	report.Notes = append(notesA, notesB...)
	return report, nil
}

// readSide derives the results at and below dir. one says that dir itself is one,
// and the notes name files that are not what they were, or should be.
func readSide(side, dir string) (all []diff.Result, one bool, notes []string, err error) {
	dir = filepath.Clean(dir)
	dirs, err := find(dir)
	if err != nil {
		return nil, false, nil, fmt.Errorf("%s: %w", side, err)
	}
	at := map[diff.Name]string{}
	for _, d := range dirs {
		run, err := results.ReadRun(d)
		if err != nil {
			return nil, false, nil, err
		}
		raw := filepath.Join(d, results.RawDir)
		altered, err := evidence.Altered(os.DirFS(raw))
		if err != nil {
			return nil, false, nil, fmt.Errorf("%s: %w", raw, err)
		}
		derived, err := Derive(raw, run)
		if err != nil {
			return nil, false, nil, fmt.Errorf("%s: %w", d, err)
		}
		for _, problem := range altered {
			notes = append(notes, fmt.Sprintf("%s: %s: %s", side, filepath.Join(raw, problem.File), problem.Text))
		}
		file := filepath.Join(d, results.NormalizedFile)
		switch committed, err := os.ReadFile(file); {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return nil, false, nil, err
		case !bytes.Equal(committed, derived.Files[results.NormalizedFile]):
			notes = append(notes, fmt.Sprintf("%s: %s is not what the raw files lead to, which is what was compared; see runner verify %s", side, file, d))
		}
		result := diff.Result{Run: run, Evidence: derived.Evidence, Checks: derived.Checks}
		if other, twice := at[result.Name()]; twice {
			return nil, false, nil, fmt.Errorf("%s: %s and %s are of one experiment and scenario; name one of them, or a directory above one of them alone", side, other, d)
		}
		at[result.Name()] = d
		all = append(all, result)
	}
	return all, dirs[0] == dir, notes, nil
}
