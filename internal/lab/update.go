package lab

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/results"
)

// Update writes the derived files of every result directory at and below dir
// again, as after a change of a decoder or of a page, and returns the files
// that changed. raw/ and run.yaml stay; where raw/ is not what was recorded
// nothing is written.
func Update(dir string) (changed []string, err error) {
	dir = filepath.Clean(dir)
	dirs, err := find(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, d := range dirs {
		run, err := results.ReadRun(d)
		if err != nil {
			return nil, err
		}
		raw := filepath.Join(d, results.RawDir)
		altered, err := evidence.Altered(os.DirFS(raw))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", raw, err)
		}
		if len(altered) > 0 {
			return nil, fmt.Errorf("%s: %s: %s: not the run's own files any more, run the scenario again", raw, altered[0].File, altered[0].Text)
		}
		derived, err := Derive(raw, run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		for name, content := range derived.Files {
			files[filepath.Join(d, name)] = content
		}
	}
	if isRoot(dir, dirs) {
		index, err := Index(dir)
		if err != nil {
			return nil, err
		}
		for name, content := range index {
			files[filepath.Join(dir, name)] = content
		}
	}
	return replaceFiles(files)
}

// replaceFiles writes those of the files that hold something else, each whole
// or not at all, and returns their names.
func replaceFiles(files map[string][]byte) (changed []string, err error) {
	for _, file := range slices.Sorted(maps.Keys(files)) {
		content := files[file]
		if present, err := os.ReadFile(file); err == nil && bytes.Equal(present, content) {
			continue
		}
		if err := replaceFile(file, content); err != nil {
			return changed, err
		}
		changed = append(changed, file)
	}
	return changed, nil
}

func replaceFile(file string, content []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name())
	_, err = draft.Write(content)
	if err := errors.Join(err, draft.Chmod(0o644), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), file)
}
