package lab

import (
	"os"
	"path/filepath"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/results"
	"service-dataplane/internal/trace"
	"service-dataplane/pkg/collect"
)

// Trace walks a connection through what the directory of a run has of a node. A walk
// that stops gives what it walked, and a *trace.Stopped.
func Trace(dir string, run results.Run, r trace.Request) (collect.Walk, error) {
	raw := os.DirFS(filepath.Join(dir, results.RawDir))
	e, err := evidence.Decode(raw, run.Scenario, run.Experiment)
	if err != nil {
		return collect.Walk{}, err
	}
	files, err := evidence.OpenOutputs(raw)
	if err != nil {
		return collect.Walk{}, err
	}
	return trace.Walk(files, e, r)
}
