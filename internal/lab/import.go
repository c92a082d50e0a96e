package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"service-dataplane/internal/capture"
	"service-dataplane/internal/evidence"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/conntrack"
)

// ImportOptions say what to import and where.
type ImportOptions struct {
	// File is the map's, Map its content. Recorded is the directory it is of.
	File     string
	Map      spec.Import
	Recorded fs.FS
	// Scenario and Experiment that the map names.
	Scenario   spec.Scenario
	Experiment spec.Experiment
	// ResultsDir gets the result, in the place of an experiment's run on a
	// scenario of the map's name.
	ResultsDir string
}

// Import makes a result directory of evidence that was recorded elsewhere. From
// its raw files on it is like one of Run.
func Import(o ImportOptions, show *progress.Reporter) (outcome Outcome, err error) {
	start := time.Now()
	file, err := os.ReadFile(o.File)
	if err != nil {
		return Outcome{}, err
	}
	sum := sha256.Sum256(file)
	record := results.Run{
		Imported: &results.Imported{
			Map: o.Map.Metadata.Name, SHA256: hex.EncodeToString(sum[:]),
			Recorded: o.Map.Spec.Time(), On: o.Map.Spec.On,
		},
		Scenario:   o.Scenario,
		Experiment: o.Experiment,
	}
	draft, err := results.NewDraft(o.ResultsDir, o.Experiment.Metadata.Name, o.Map.Metadata.Name)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, draft.Discard()) }()
	recorder, err := capture.NewRecorder(draft.Raw())
	if err != nil {
		return Outcome{}, err
	}
	for _, entry := range o.Map.Spec.Files {
		for _, f := range entry.EachNode() {
			if !slices.Contains(runFiles(o.Experiment), f.To) {
				show.Note("%s: no run records a file of this name, and nothing reads it", f.To)
			}
			if err := take(recorder, o.Recorded, f); err != nil {
				return Outcome{}, err
			}
		}
	}
	if err := recorder.WriteIndex(); err != nil {
		return Outcome{}, err
	}
	derived, err := finish(draft, record)
	if err != nil {
		return Outcome{}, err
	}
	outcome = Outcome{
		Scenario: o.Scenario.Metadata.Name, Experiment: o.Experiment.Metadata.Name,
		Verdict: collect.Overall(derived.Checks), Seconds: since(start), Checks: derived.Checks, Dir: draft.Target(),
	}
	if !slices.ContainsFunc(derived.Checks, func(c collect.Check) bool { return c.Verdict != collect.Skip }) {
		outcome.Verdict, outcome.Reason = collect.Skip, "nothing of what was recorded decides a check"
	}
	return outcome, writeIndex(o.ResultsDir)
}

// take records one file as if its command had been run. What was recorded
// elsewhere has no exit code: it is 0, and 1 where the command has answered
// that something does not exist.
func take(recorder *capture.Recorder, recorded fs.FS, f spec.ImportedFile) error {
	record := collect.Record{
		Node: path.Dir(f.To), File: f.To, Argv: f.Argv,
		Outcome: collect.Captured, Stderr: f.Stderr,
	}
	if f.Absent {
		record.Outcome, record.ExitCode = collect.NotThere, 1
	}
	var stdout []byte
	if f.From != "" {
		var err error
		if stdout, err = fs.ReadFile(recorded, path.Clean(f.From)); err != nil {
			return err
		}
	}
	return recorder.Add(record, stdout)
}

// runFiles are all files that some run of the experiment records.
func runFiles(x spec.Experiment) []string {
	var files []string
	for _, c := range objects(spec.Scenario{Spec: spec.ScenarioSpec{DataPlane: spec.DataPlane{Cilium: &spec.Cilium{}, Calico: &spec.Calico{}}}}) {
		files = append(files, path.Join("cluster", c.File))
	}
	if x.Spec.Refusal != nil {
		files = append(files, path.Join("cluster", operatorLog(1)))
	}
	for _, p := range x.Spec.EntryPoints {
		files = append(files, evidence.TrafficFile(p))
	}
	ofNode := []string{evidence.LogFile}
	for _, c := range slices.Concat(conntrack.Commands(netip.IPv4Unspecified(), 1, 1), nodeCommands(), cilium.Commands("", ""), calico.Commands("")) {
		ofNode = append(ofNode, c.File)
	}
	for _, role := range spec.Roles {
		for _, file := range ofNode {
			files = append(files, path.Join(role, file))
		}
	}
	return files
}

// finish makes a draft with raw files and their index whole, from what follows
// of them, and puts it in its place.
func finish(draft *results.Draft, record results.Run) (Derived, error) {
	derived, err := Derive(draft.Raw(), record)
	if err != nil {
		return Derived{}, err
	}
	if derived.Files[results.RunFile], err = results.MarshalRun(record); err != nil {
		return Derived{}, err
	}
	if err := draft.Write(derived.Files); err != nil {
		return Derived{}, err
	}
	return derived, draft.Commit()
}

// writeIndex renders what tells of all result directories there are.
func writeIndex(resultsDir string) error {
	index, err := Index(resultsDir)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for name, content := range index {
		files[filepath.Join(resultsDir, name)] = content
	}
	_, err = replaceFiles(files)
	return err
}
