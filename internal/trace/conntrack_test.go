package trace_test

import (
	"path/filepath"
	"slices"
	"testing"

	"service-dataplane/internal/results"
	"service-dataplane/internal/trace"
	"service-dataplane/pkg/collect"
)

// TestTrackedConnections walks every connection to the Service that a node's kernel
// tracked in a run, and wants it to have gone one of the ways of the trace, with
// the source address that the trace says.
func TestTrackedConnections(t *testing.T) {
	runs, err := filepath.Glob("../../results/service-path/*/" + results.RunFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range runs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			raw, e := decode(t, dir)
			walked := 0
			for i, state := range e.Kernel {
				for _, tracked := range state.Translations {
					for _, source := range tracked.Sources {
						r := trace.Request{Node: e.Nodes[i].Role, From: source.String(), To: tracked.Destination.String()}
						got, err := trace.Walk(raw, e, r)
						if err != nil {
							t.Errorf("%+v: %v", r, err)
							continue
						}
						walked++
						if !goes(got.Trace, tracked) {
							t.Errorf("%+v: tracked by %s to %s, masqueraded: %v; traced to %v, %v", r, tracked.Tracker, tracked.Backend, tracked.Masqueraded, got.Trace.Backends, got.Trace.Endings)
						}
					}
				}
			}
			t.Log(walked, "connections")
			if walked == 0 {
				t.Error("no connection was tracked")
			}
		})
	}
}

// goes says whether a connection that was tracked went one of the ways of a trace.
// Cilium's record of it does not say what became of the source.
func goes(t collect.Trace, tracked collect.Translation) bool {
	if !tracked.Backend.IsValid() {
		return len(t.Backends) == 0
	}
	return slices.ContainsFunc(t.Backends, func(b collect.TracedBackend) bool {
		masqueraded := map[bool]collect.Decision{true: collect.Yes, false: collect.No}[tracked.Masqueraded]
		return b.Backend == tracked.Backend && (tracked.Tracker == collect.TrackedByCilium || b.Masqueraded.Decision == masqueraded || b.Masqueraded.Decision == collect.Depends)
	})
}
