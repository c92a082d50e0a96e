package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// Verified is what verifying one result directory found.
type Verified struct {
	Dir string `json:"dir" yaml:"dir"`
	// Checks as they follow from the raw files now.
	Checks []collect.Check `json:"checks" yaml:"checks"`
	// Differences between the directory and what its raw files lead to.
	Differences []Difference `json:"differences,omitempty" yaml:"differences,omitempty"`
}

// Difference is one file that is not what it should be.
type Difference struct {
	File string `json:"file" yaml:"file"`
	Text string `json:"text" yaml:"text"`
}

// Failed says whether the directory cannot be relied on: a check fails, or a
// file is not what the raw files lead to.
func (v Verified) Failed() bool {
	return len(v.Differences) > 0 || collect.Overall(v.Checks) == collect.Fail
}

// Undecided says whether a check could not be made.
func (v Verified) Undecided() bool { return collect.Overall(v.Checks) == collect.Inconclusive }

// Verify decodes, checks and renders every result directory at and below dir
// again, from raw/ and run.yaml alone, and compares. The error is about
// directories that cannot be read at all.
func Verify(dir string) ([]Verified, error) {
	dir = filepath.Clean(dir) // as Find returns them
	dirs, err := find(dir)
	if err != nil {
		return nil, err
	}
	var all []Verified
	for _, d := range dirs {
		v, err := verify(d)
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	index, err := verifyIndex(dir, dirs)
	return append(all, index...), err
}

func verify(dir string) (Verified, error) {
	run, err := results.ReadRun(dir)
	if err != nil {
		return Verified{}, err
	}
	raw := filepath.Join(dir, results.RawDir)
	altered, err := evidence.Altered(os.DirFS(raw))
	if err != nil {
		return Verified{}, fmt.Errorf("%s: %w", raw, err)
	}
	derived, err := Derive(raw, run)
	if err != nil {
		return Verified{}, fmt.Errorf("%s: %w", dir, err)
	}
	v := Verified{Dir: dir, Checks: derived.Checks}
	for _, problem := range altered {
		v.Differences = append(v.Differences, Difference{filepath.Join(results.RawDir, problem.File), problem.Text})
	}
	different, err := differences(dir, derived.Files)
	if err != nil {
		return Verified{}, err
	}
	v.Differences = append(v.Differences, different...)
	err = recorded(dir, &v)
	return v, err
}

// differences are those of the files of a directory that are not what they
// should be.
func differences(dir string, files map[string][]byte) (all []Difference, err error) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := compare(filepath.Join(dir, name), files[name])
		if err != nil {
			return nil, err
		}
		if text != "" {
			all = append(all, Difference{name, text})
		}
	}
	return all, nil
}

// isRoot says whether root holds all results: root/<experiment>/<scenario>.
func isRoot(root string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		below, err := filepath.Rel(root, dir)
		return err == nil && strings.Count(filepath.ToSlash(below), "/") == 1
	})
}

// verifyIndex compares what tells of all results, where root is theirs.
func verifyIndex(root string, dirs []string) ([]Verified, error) {
	if !isRoot(root, dirs) {
		return nil, nil
	}
	index, err := Index(root)
	if err != nil {
		return nil, err
	}
	v := Verified{Dir: root}
	if v.Differences, err = differences(root, index); err != nil || len(v.Differences) == 0 {
		return nil, err
	}
	return []Verified{v}, nil
}

// compare returns where a file differs from what it should hold, "" where it
// does not.
func compare(file string, want []byte) (string, error) {
	got, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "is missing", nil
	}
	if err != nil || bytes.Equal(got, want) {
		return "", err
	}
	is, should := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	line := 0
	for line < len(is) && line < len(should) && bytes.Equal(is[line], should[line]) {
		line++
	}
	if line >= len(is) || line >= len(should) {
		return fmt.Sprintf("has %d lines, the raw files lead to %d", len(is), len(should)), nil
	}
	column := 0
	for column < min(len(is[line]), len(should[line])) && is[line][column] == should[line][column] {
		column++
	}
	// What stands where they part, with some of what leads to it.
	quote := func(text []byte) string {
		from := max(0, column-40)
		return fmt.Sprintf("%q", bytes.TrimSpace(text[from:min(len(text), from+120)]))
	}
	return fmt.Sprintf("line %d is %s, the raw files lead to %s", line+1, quote(is[line]), quote(should[line])), nil
}

// recorded adds the checks whose verdict is not the recorded one any more.
func recorded(dir string, v *Verified) error {
	raw, err := os.ReadFile(filepath.Join(dir, results.EvidenceFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil // already a difference
	}
	if err != nil {
		return err
	}
	var then results.Document
	if err := json.Unmarshal(raw, &then); err != nil {
		v.Differences = append(v.Differences, Difference{results.EvidenceFile, err.Error()})
		return nil
	}
	for _, now := range v.Checks {
		i := slices.IndexFunc(then.Checks, func(c collect.Check) bool { return c.ID == now.ID })
		if i >= 0 && then.Checks[i].Verdict != now.Verdict {
			v.Differences = append(v.Differences, Difference{results.EvidenceFile,
				fmt.Sprintf("records check %s as %s, the raw files lead to %s", now.ID, then.Checks[i].Verdict, now.Verdict)})
		}
	}
	return nil
}
