package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"
	"gopkg.in/yaml.v3"

	"service-dataplane/internal/check"
	"service-dataplane/internal/host"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
)

// settings are the flags that all verbs share.
type settings struct {
	repo    string
	workDir string
	output  string
}

// resolve fills what was not given: the tree from the working directory. forms
// are those of the output that the verb has beside everyone's.
func (s *settings) resolve(forms ...string) error {
	if forms = append([]string{"table", "json", "yaml"}, forms...); !slices.Contains(forms, s.output) {
		last := len(forms) - 1
		return fmt.Errorf("--output %s: want %s or %s", s.output, strings.Join(forms[:last], ", "), forms[last])
	}
	if s.repo == "" {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		for !isTree(dir) {
			if dir == filepath.Dir(dir) {
				return errors.New("this is not inside a service-dataplane tree; say where it is with --repo DIR")
			}
			dir = filepath.Dir(dir)
		}
		s.repo = dir
	} else if !isTree(s.repo) {
		return fmt.Errorf("--repo %s: has no scenarios and experiments directories", s.repo)
	}
	if s.workDir == "" {
		s.workDir = filepath.Join(s.repo, ".work")
	}
	var err error
	s.workDir, err = filepath.Abs(s.workDir)
	return err
}

func isTree(dir string) bool {
	for _, name := range []string{"scenarios", "experiments"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// scenarios loads the named scenarios, all where none is named, and
// charts/lock.yaml that they refer to. A name is that of a file or of a variant
// in it. Every mistake in every file is in the error.
func (s *settings) scenarios(names []string) ([]spec.Scenario, spec.Lock, error) {
	lock, err := spec.LoadLock(relative(filepath.Join(s.repo, "charts", "lock.yaml")))
	if err != nil {
		return nil, spec.Lock{}, err
	}
	known := spec.Known{Features: host.Known(), Charts: lock}
	name := func(s spec.Scenario) string { return s.Metadata.Name }
	chosen, err := loadAll(s.repo, "scenarios", names, name, func(file string) ([]spec.Scenario, error) {
		return spec.LoadScenarios(file, known)
	})
	return chosen, lock, err
}

func (s *settings) experiments(names []string) ([]spec.Experiment, error) {
	name := func(e spec.Experiment) string { return e.Metadata.Name }
	return loadAll(s.repo, "experiments", names, name, func(file string) ([]spec.Experiment, error) {
		experiment, err := spec.LoadExperiment(file, check.IDs())
		return []spec.Experiment{experiment}, err
	})
}

// loadAll loads the named items of a directory's files, or all in the order of
// the files. A file that has a mistake stands in the way of its own items
// only, and of finding out what else there is.
func loadAll[T any](repo, dir string, names []string, nameOf func(T) string, load func(string) ([]T, error)) ([]T, error) {
	files, err := filepath.Glob(filepath.Join(repo, dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no *.yaml files", filepath.Join(repo, dir))
	}
	var known []string
	var failed []error
	items, faults := map[string]T{}, map[string]error{}
	for _, file := range files {
		base := strings.TrimSuffix(filepath.Base(file), ".yaml")
		loaded, err := load(relative(file))
		if err != nil {
			known, faults[base] = append(known, base), err
			continue
		}
		for _, item := range loaded {
			name := nameOf(item)
			if _, taken := items[name]; taken {
				failed = append(failed, fmt.Errorf("%s: %s is the name of another one in %s", relative(file), name, dir))
				continue
			}
			known = append(known, name)
			items[name] = item
		}
	}
	if len(names) == 0 {
		names = known
	}
	var chosen []T
	for _, name := range names {
		item, ok := items[name]
		switch fault := faults[name]; {
		case ok:
			chosen = append(chosen, item)
		case fault != nil:
			failed = append(failed, fault)
		default:
			failed = append(failed, fmt.Errorf("there is no %s in %s; there are: %s", name, dir, strings.Join(known, ", ")))
			for _, base := range slices.Sorted(maps.Keys(faults)) {
				if strings.HasPrefix(name, base+"-") { // it may be a variant there
					failed = append(failed, faults[base])
				}
			}
		}
	}
	return chosen, errors.Join(failed...)
}

// reporter shows progress on stderr.
func reporter() *progress.Reporter {
	return progress.New(os.Stderr, term.IsTerminal(int(os.Stderr.Fd())))
}

// print writes a result in the asked form; table writes it for people, and in
// the forms that only the verb has.
func (s *settings) print(w io.Writer, value any, table func(io.Writer)) error {
	switch s.output {
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	case "yaml":
		encoder := yaml.NewEncoder(w)
		encoder.SetIndent(2)
		return errors.Join(encoder.Encode(value), encoder.Close())
	}
	table(w)
	return nil
}
