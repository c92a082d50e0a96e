package check

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/host"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// wrongPool is the run of the experiment of that name, whose scenario is calico-ebpf.
// All other runs are of service-path and go by their scenario.
const wrongPool = "calico-wrong-pool"

// madeOn says which experiment was made on which scenario.
func madeOn(run string) (experiment, scenario string) {
	if run == wrongPool {
		return run, "calico-ebpf"
	}
	return "service-path", run
}

// recorded is a run whose raw files can be changed before it is judged.
type recorded struct {
	*testing.T
	raw        fstest.MapFS
	scenario   spec.Scenario
	experiment spec.Experiment
}

func record(t *testing.T, run string) *recorded {
	t.Helper()
	r := &recorded{T: t, raw: fstest.MapFS{}}
	r.load(run)
	r.read(os.DirFS(rawDir(run)))
	return r
}

// read takes over every file of a raw directory.
func (r *recorded) read(raw fs.FS) {
	r.Helper()
	err := fs.WalkDir(raw, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(raw, file)
		r.raw[file] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
}

// rawDir is where a whole run is recorded.
func rawDir(run string) string {
	experiment, scenario := madeOn(run)
	if scenario == "iptables" || scenario == "nftables" {
		return "../evidence/testdata/" + scenario + "/raw"
	}
	return "../../results/" + experiment + "/" + scenario + "/raw"
}

// load reads the project's own scenario and experiment.
func (r *recorded) load(run string) {
	r.Helper()
	experiment, scenario := madeOn(run)
	lock, err := spec.LoadLock("../../charts/lock.yaml")
	if err != nil {
		r.Fatal(err)
	}
	known := spec.Known{Features: host.Known(), Charts: lock}
	file := strings.TrimSuffix(strings.TrimSuffix(scenario, "-lc"), "-sh") // those are variants
	all, err := spec.LoadScenarios("../../scenarios/"+file+".yaml", known)
	if err != nil {
		r.Fatal(err)
	}
	r.scenario = all[slices.IndexFunc(all, func(s spec.Scenario) bool { return s.Metadata.Name == scenario })]
	if r.experiment, err = spec.LoadExperiment("../../experiments/"+experiment+".yaml", IDs()); err != nil {
		r.Fatal(err)
	}
}

func (r *recorded) decode() collect.Evidence {
	r.Helper()
	e, err := evidence.Decode(r.raw, r.scenario, r.experiment)
	if err != nil {
		r.Fatal(err)
	}
	return e
}

func (r *recorded) judge() map[string]collect.Check {
	r.Helper()
	e := r.decode()
	checks := map[string]collect.Check{}
	for _, c := range Run(e, r.scenario, r.experiment) {
		checks[c.ID] = c
	}
	return checks
}

// replace changes the first match of a pattern in a file.
func (r *recorded) replace(file, pattern, with string) {
	r.Helper()
	old := r.raw[file].Data
	re := regexp.MustCompile("(?m)" + pattern)
	match := re.FindSubmatchIndex(old)
	if match == nil {
		r.Fatalf("%s has no match of %s", file, pattern)
	}
	changed := bytes.Clone(old[:match[0]])
	changed = re.Expand(changed, []byte(with), old, match)
	r.raw[file].Data = append(changed, old[match[1]:]...)
}

// edit changes a file that is one JSON value.
func edit[T any](r *recorded, file string, change func(T) T) {
	r.Helper()
	var value T
	if err := json.Unmarshal(r.raw[file].Data, &value); err != nil {
		r.Fatalf("%s: %v", file, err)
	}
	data, err := json.MarshalIndent(change(value), "", "  ")
	if err != nil {
		r.Fatal(err)
	}
	r.raw[file].Data = append(data, '\n')
}

// find returns the first group of a pattern's first match in a file.
func (r *recorded) find(file, pattern string) string {
	r.Helper()
	match := regexp.MustCompile("(?m)" + pattern).FindSubmatch(r.raw[file].Data)
	if match == nil {
		r.Fatalf("%s has no match of %s", file, pattern)
	}
	return string(match[1])
}

// outcome changes what the index says became of a command.
func (r *recorded) outcome(file string, outcome collect.Outcome, stderr string) {
	r.Helper()
	var records []collect.Record
	if err := json.Unmarshal(r.raw[evidence.IndexFile].Data, &records); err != nil {
		r.Fatal(err)
	}
	for i := range records {
		if records[i].File == file {
			records[i].Outcome, records[i].Stderr, records[i].ExitCode = outcome, stderr, 1
			r.raw[evidence.IndexFile].Data, _ = json.Marshal(records)
			return
		}
	}
	r.Fatalf("%s is not in the index", file)
}

// forget takes a command out of the index, as if it had never been run.
func (r *recorded) forget(file string) {
	r.Helper()
	var records []collect.Record
	if err := json.Unmarshal(r.raw[evidence.IndexFile].Data, &records); err != nil {
		r.Fatal(err)
	}
	records = slices.DeleteFunc(records, func(record collect.Record) bool { return record.File == file })
	r.raw[evidence.IndexFile].Data, _ = json.Marshal(records)
	delete(r.raw, file)
}

// send makes up n connections through every entry point: backend says which
// of the two endpoints answers each, which is then as one of its recorded
// answers was.
func (r *recorded) send(n int, backend func(entry string, i int) int) {
	r.Helper()
	r.experiment.Spec.Connections = n
	var pods []string
	templates := map[string]traffic.Attempt{}
	for _, p := range r.experiment.Spec.EntryPoints {
		attempts, err := traffic.Parse(r.raw[evidence.TrafficFile(p)].Data)
		if err != nil {
			r.Fatal(err)
		}
		for _, a := range attempts {
			if _, known := templates[p.Name+a.Backend.Pod]; !known && len(pods) < 2 && (len(pods) == 0 || pods[0] != a.Backend.Pod) {
				pods = append(pods, a.Backend.Pod)
			}
			templates[p.Name+a.Backend.Pod] = a
		}
	}
	for _, p := range r.experiment.Spec.EntryPoints {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		for i := range n {
			a, ok := templates[p.Name+pods[backend(p.Name, i)]]
			if !ok {
				r.Fatalf("%s has no answer of %s to copy", p.Name, pods[backend(p.Name, i)])
			}
			a.Sequence = i + 1
			if err := encoder.Encode(a); err != nil {
				r.Fatal(err)
			}
		}
		r.raw[evidence.TrafficFile(p)].Data = out.Bytes()
	}
}

// copyFrom takes a file of another recorded run.
func (r *recorded) copyFrom(other *recorded, file string) {
	r.raw[file].Data = other.raw[file].Data
}

// turn is a check whose verdict a change must change, and where the finding
// that says so must point.
type turn struct {
	id      string
	verdict collect.Verdict
	node    string
	file    string // its directory is the node where node is ""
}

func (w turn) found(c collect.Check) bool {
	node := w.node
	if node == "" {
		node = path.Dir(w.file)
	}
	for _, f := range c.Findings {
		if f.Node == node && f.Ref.File == w.file {
			return true
		}
	}
	return c.Verdict == collect.Skip
}

// backend is the address of the endpoint on a node.
func (r *recorded) backend(role string) string {
	r.Helper()
	for _, p := range r.decode().Objects.Endpoints {
		if p.Node == role {
			return regexp.QuoteMeta(p.Address.String())
		}
	}
	r.Fatalf("no endpoint on %s", role)
	return ""
}
