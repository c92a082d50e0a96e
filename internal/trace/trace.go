package trace

import (
	"fmt"
	"path"
	"slices"

	"service-dataplane/pkg/collect"
)

// Stopped is the error of a walk that met what it does not understand.
type Stopped struct{ Hop collect.Hop }

func (s *Stopped) Error() string {
	return fmt.Sprintf("stopped at %s: %s\n%s", s.Hop.At(), s.Hop.Note, s.Hop.Line.Text)
}

// UsageError is about the request, not about the evidence.
type UsageError struct{ error }

// Files are the raw files of a run: what a command printed, nothing where it found
// nothing or never ran, an error where it failed.
type Files interface {
	Of(file string) ([]byte, error)
}

// Walk walks a connection. A walk that stops gives what it walked, and a *Stopped;
// another error is about the request or about files that cannot be read. Of the
// evidence it needs the nodes and the pods.
func Walk(files Files, e collect.Evidence, r Request) (collect.Walk, error) {
	p, client, err := r.packet(e)
	if err != nil {
		return collect.Walk{}, &UsageError{err}
	}
	n := &node{files: files, role: r.Node}
	ways, err := met(n, p, r.Encoding)
	if err != nil {
		return collect.Walk{}, err
	}
	result := collect.Walk{Node: r.Node, Client: client}
	for i, way := range ways {
		t, err := way.trace(n, p)
		if err != nil {
			return result, err
		}
		locate(&t, r.Node, e)
		result.Trace = t
		if !untouched(t) || i == len(ways)-1 {
			break
		}
		result.Passed = append(result.Passed, t)
	}
	result.Notes = notes(result, e)
	if stop := result.Trace.Stopped; stop != nil {
		return result, &Stopped{*stop}
	}
	return result, nil
}

// untouched says that an encoding has done nothing with a connection.
func untouched(t collect.Trace) bool {
	return t.Stopped == nil && len(t.Backends) == 0 && len(t.Endings) == 1 && t.Endings[0].Fate == collect.Untranslated
}

// locate gives files their node and backends their names.
func locate(t *collect.Trace, role string, e collect.Evidence) {
	at := func(h *collect.Hop) {
		if h != nil && h.File != "" {
			h.File = path.Join(role, h.File)
		}
	}
	answer := func(a *collect.Answer) {
		if a.By != nil {
			by := *a.By
			at(&by)
			a.By = &by
		}
	}
	for i := range t.Hops {
		at(&t.Hops[i])
	}
	for i := range t.Endings {
		at(&t.Endings[i].By)
	}
	for i := range t.Backends {
		b := &t.Backends[i]
		b.Name = nameOf(b.Backend.Addr(), e)
		answer(&b.Marked)
		answer(&b.Masqueraded)
	}
	answer(&t.Marked)
	answer(&t.Masqueraded)
	if t.Stopped != nil {
		stopped := *t.Stopped
		at(&stopped)
		t.Stopped = &stopped
	}
}

// notes say where the way goes on.
func notes(r collect.Walk, e collect.Evidence) []string {
	var notes []string
	p := r.Trace.Packet
	for _, pod := range e.Objects.Pods {
		if pod.Address == p.Source && pod.Node != r.Node {
			notes = append(notes, fmt.Sprintf("The pod runs on %s, which its packet leaves first: trace --node %s. Here it has the pod's address still.", pod.Node, pod.Node))
		}
	}
	if untouched(r.Trace) {
		for _, n := range e.Nodes {
			if n.Role != r.Node && n.InternalIP == p.Destination.Addr() {
				notes = append(notes, fmt.Sprintf("%s is node %s, where the way goes on: trace --node %s.", n.InternalIP, n.Role, n.Role))
			}
		}
	}
	if slices.ContainsFunc(r.Trace.Backends, func(b collect.TracedBackend) bool { return b.Name == "" }) {
		notes = append(notes, "A backend without a name is neither a pod nor a node of the evidence.")
	}
	return notes
}
