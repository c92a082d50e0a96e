package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
// and the notes name those whose files are not what they were, or should be.
func readSide(side, dir string) (all []diff.Result, one bool, notes []string, err error) {
	dir = filepath.Clean(dir)
	dirs, err := find(dir)
	if err != nil {
		return nil, false, nil, fmt.Errorf("%s: %w", side, err)
	}
	at := map[diff.Name]string{}
	for _, d := range dirs {
		result, faults, err := readResult(d)
		if err != nil {
			return nil, false, nil, fmt.Errorf("%s: %w", side, err)
		}
		if len(faults) > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s: %s; see runner verify", side, d, strings.Join(faults, ", ")))
		}
		if other, twice := at[result.Name()]; twice {
			return nil, false, nil, fmt.Errorf("%s: %s and %s are of one experiment and scenario; name one of them, or a directory above one of them alone", side, other, d)
		}
		at[result.Name()] = d
		all = append(all, result)
	}
	return all, dirs[0] == dir, notes, nil
}

// readResult derives a result directory. The faults are what its files are not.
func readResult(dir string) (result diff.Result, faults []string, err error) {
	run, err := results.ReadRun(dir)
	if err != nil {
		return diff.Result{}, nil, err
	}
	raw := filepath.Join(dir, results.RawDir)
	altered, err := evidence.Altered(os.DirFS(raw))
	if err != nil {
		return diff.Result{}, nil, fmt.Errorf("%s: %w", raw, err)
	}
	if len(altered) > 0 {
		faults = append(faults, fmt.Sprintf("%s is not as it was recorded (%d of its files)", results.RawDir, len(altered)))
	}
	derived, err := Derive(raw, run)
	if err != nil {
		return diff.Result{}, nil, fmt.Errorf("%s: %w", dir, err)
	}
	committed, err := os.ReadFile(filepath.Join(dir, results.NormalizedFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return diff.Result{}, nil, err
	}
	if !bytes.Equal(committed, derived.Files[results.NormalizedFile]) {
		faults = append(faults, results.NormalizedFile+" is not what the raw files lead to, which is what was compared")
	}
	return diff.Result{Run: run, Evidence: derived.Evidence, Checks: derived.Checks}, faults, nil
}
