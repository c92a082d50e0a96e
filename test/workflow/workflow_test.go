package workflow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"service-dataplane/internal/host"
	"service-dataplane/internal/spec"
)

// repo is the root of the tree, from this package's directory.
const repo = "../.."

// workflow is what is judged of one.
type workflow struct {
	Permissions any            `yaml:"permissions"`
	Jobs        map[string]job `yaml:"jobs"`
}

type job struct {
	Permissions any `yaml:"permissions"`
	Timeout     int `yaml:"timeout-minutes"`
	Strategy    struct {
		FailFast *bool             `yaml:"fail-fast"`
		Matrix   map[string]string `yaml:"matrix"`
	} `yaml:"strategy"`
	Steps []struct {
		Uses yaml.Node `yaml:"uses"`
		If   string    `yaml:"if"`
	} `yaml:"steps"`
}

var (
	hash    = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	version = regexp.MustCompile(`^# v\d+\.\d+\.\d+$`)
	// list is the part of the matrix's expression that is a list in JSON.
	list = regexp.MustCompile(`(?s)'(\[\s*".*\])'`)
)

// faults are what a workflow has otherwise than promised, in order.
func faults(raw []byte, scenarios []spec.Scenario) []string {
	var w workflow
	if err := yaml.Unmarshal(raw, &w); err != nil {
		return []string{err.Error()}
	}
	var all []string
	fault := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if fmt.Sprint(w.Permissions) != "map[contents:read]" {
		fault("permissions are %v, want contents: read", w.Permissions)
	}
	matrices := 0
	for _, name := range slices.Sorted(maps.Keys(w.Jobs)) {
		j := w.Jobs[name]
		if j.Timeout == 0 {
			fault("%s has no timeout-minutes", name)
		}
		if j.Permissions != nil {
			fault("%s has permissions of its own", name)
		}
		kept := false
		for _, s := range j.Steps {
			if s.Uses.Value == "" {
				continue
			}
			if !hash.MatchString(s.Uses.Value) || !version.MatchString(s.Uses.LineComment) {
				fault("%s: %s %s: want a commit's hash, and its version behind it", name, s.Uses.Value, s.Uses.LineComment)
			}
			kept = kept || strings.HasPrefix(s.Uses.Value, "actions/upload-artifact@") && s.If == "always()"
		}
		matrix, ok := j.Strategy.Matrix["scenarios"]
		if !ok {
			continue
		}
		matrices++
		if !kept {
			fault("%s keeps its results not always", name)
		}
		if j.Strategy.FailFast == nil || *j.Strategy.FailFast {
			fault("%s: one scenario that fails ends the others", name)
		}
		all = append(all, matrixFaults(matrix, scenarios)...)
	}
	if matrices != 1 {
		fault("%d jobs have a matrix of scenarios, want 1", matrices)
	}
	return all
}

// matrixFaults compares the jobs of a matrix with the scenarios that there are.
func matrixFaults(matrix string, scenarios []spec.Scenario) []string {
	var jobs []string
	if found := list.FindStringSubmatch(matrix); found == nil {
		return []string{"the matrix has no list of scenarios"}
	} else if err := json.Unmarshal([]byte(found[1]), &jobs); err != nil {
		return []string{"the matrix: " + err.Error()}
	}
	var all []string
	jobOf := map[string]int{}
	for i, names := range jobs {
		for name := range strings.SplitSeq(names, ",") {
			if _, twice := jobOf[name]; twice {
				all = append(all, name+" is in the matrix twice")
			}
			jobOf[name] = i
		}
	}
	for i, s := range scenarios {
		name := s.Metadata.Name
		at, ok := jobOf[name]
		if !ok {
			all = append(all, name+" is not in the matrix")
		}
		for _, other := range scenarios[:i] {
			if o := other.Metadata.Name; other.SharesCluster(s) && jobOf[o] != at {
				all = append(all, fmt.Sprintf("%s and %s share a cluster and have two jobs", o, name))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(jobOf)) {
		if !slices.ContainsFunc(scenarios, func(s spec.Scenario) bool { return s.Metadata.Name == name }) {
			all = append(all, name+" is no scenario")
		}
	}
	return all
}

func loadScenarios(t *testing.T) []spec.Scenario {
	t.Helper()
	lock, lockErr := spec.LoadLock(filepath.Join(repo, "charts", "lock.yaml"))
	files, err := filepath.Glob(filepath.Join(repo, "scenarios", "*.yaml"))
	if err = cmp.Or(lockErr, err); err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var scenarios []spec.Scenario
	for _, file := range files {
		all, err := spec.LoadScenarios(file, spec.Known{Features: host.Known(), Charts: lock})
		if err != nil {
			t.Fatal(err)
		}
		scenarios = append(scenarios, all...)
	}
	return scenarios
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(repo, ".github", "workflows", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestExperiment(t *testing.T) {
	for _, f := range faults(read(t, "experiment.yml"), loadScenarios(t)) {
		t.Error(f)
	}
}

// TestEveryWorkflowIsJudged: another one would be held to nothing.
func TestEveryWorkflowIsJudged(t *testing.T) {
	files, err := fs.ReadDir(os.DirFS(filepath.Join(repo, ".github", "workflows")), ".")
	if err != nil || len(files) != 1 {
		t.Errorf("%v (%v), want experiment.yml alone", files, err)
	}
}

// TestBrokenWorkflows changes one thing in the workflow, which has to be named.
func TestBrokenWorkflows(t *testing.T) {
	tests := []struct{ name, pattern, with, want string }{
		{"a tag for a hash", `actions/checkout@[0-9a-f]{40} # \S+`, "actions/checkout@v6", "want a commit's hash"},
		{"a short hash", `(actions/setup-go@[0-9a-f]{12})[0-9a-f]*`, "$1", "want a commit's hash"},
		{"no version behind a hash", ` # v6\.0\.2`, "", "and its version behind it"},
		{"a version that is none", ` # v6\.0\.2`, " # v6", "and its version behind it"},
		{"no timeout", `    timeout-minutes: 60\n`, "", "test has no timeout-minutes"},
		{"a scenario forgotten", `"nftables",`, "", "nftables is not in the matrix"},
		{"a variant forgotten", `ipvs-lc,`, "", "ipvs-lc is not in the matrix"},
		{"a variant with a job of its own", `,ipvs-sh"`, `", "ipvs-sh"`, "share a cluster and have two jobs"},
		{"a scenario twice", `"nftables",`, `"nftables,iptables",`, "iptables is in the matrix twice"},
		{"a scenario that is none", `"nftables",`, `"nftables", "userspace",`, "userspace is no scenario"},
		{"no list of scenarios", `(?s) \|\| '\[.*?\]'`, "", "the matrix has no list of scenarios"},
		{"no matrix", `        scenarios: >-`, "        plane: >-", "0 jobs have a matrix"},
		{"results of a good run alone", `if: always\(\)(\n        uses: actions/upload-artifact)`, "if: success()$1", "keeps its results not always"},
		{"no upload", `actions/upload-artifact@`, "actions/download-artifact@", "keeps its results not always"},
		{"the first failure ends all", `fail-fast: false`, "fail-fast: true", "ends the others"},
		{"permission to write", `contents: read`, "contents: write", "want contents: read"},
		{"no permissions", `permissions:\n  contents: read\n`, "", "want contents: read"},
		{"a job with permissions of its own", `(    timeout-minutes: 60\n)`, "$1    permissions: write-all\n", "test has permissions of its own"},
		{"no YAML", `(?s).*`, "jobs: [", "yaml: "},
	}
	raw, scenarios := read(t, "experiment.yml"), loadScenarios(t)
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			pattern := regexp.MustCompile(test.pattern)
			changed := pattern.ReplaceAll(raw, []byte(test.with))
			if bytes.Equal(changed, raw) {
				t.Fatalf("the workflow has no match of %s", test.pattern)
			}
			if got := strings.Join(faults(changed, scenarios), "\n"); !strings.Contains(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// exists says whether a file is there.
func exists(t *testing.T, file string) bool {
	t.Helper()
	_, err := os.Stat(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}
