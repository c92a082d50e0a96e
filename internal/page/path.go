package page

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/report"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// way is one drawing: what goes the same way, whatever node it enters.
type way struct {
	Title, Entries string
	// Place is where the destination is translated, as its sockets say.
	Place   string
	Drawing drawing
	Notes   []string
	// Walks are all that are drawn by it; the first is the one that was drawn.
	Walks []walked
}

// walked is a walk with the lines of its hops.
type walked struct {
	Title string
	Hops  []hop
	walk  collect.Walk
	entry collect.EntryPoint
	shape string
	names []string
}

// hop is one on the way, with its line.
type hop struct {
	// ID is the line's, for a link to it.
	ID                 string
	Depth              int
	Share, Where, Note string
	Line               line
	// Stopped is where the walk ends because it was not understood.
	Stopped bool
	// Encoding that starts with this hop; "" within one.
	Encoding string
	whole    bool
}

// paths are the drawings of a run, and what could not be walked.
func (s source) paths() (ways []way, not []finding) {
	var walks []*walked
	for i, p := range s.Evidence.Traffic {
		for _, n := range p.NotWalked {
			not = append(not, finding{p.Name, n.Text, s.line(n.Ref)})
		}
		for k, w := range p.Walks {
			same := slices.IndexFunc(walks, func(known *walked) bool {
				return known.entry.From == p.From && nodePort(known.entry) == nodePort(p) && reflect.DeepEqual(known.walk, w)
			})
			if same >= 0 {
				walks[same].names = append(walks[same].names, p.Name)
				continue
			}
			walks = append(walks, &walked{
				walk: w, entry: p, names: []string{p.Name}, shape: s.shape(p, w),
				Hops: s.hops(fmt.Sprintf("%s-e%d-%d", s.id, i+1, k+1), w),
			})
		}
	}
	var shapes []string
	of := map[string]int{}
	for _, w := range walks {
		w.Title = fmt.Sprintf("The lines of %s on %s", plural(len(w.Hops), "hop"), w.walk.Node)
		at, known := of[w.shape]
		if !known {
			at = len(shapes)
			of[w.shape] = at
			shapes = append(shapes, w.shape)
			ways = append(ways, way{Title: titleOf(w.entry), Place: s.place(w.entry), Drawing: s.draw(*w)})
		}
		ways[at].Walks = append(ways[at].Walks, *w)
		for _, note := range notes(w.walk) {
			if !slices.Contains(ways[at].Notes, note) {
				ways[at].Notes = append(ways[at].Notes, note)
			}
		}
	}
	for i := range ways {
		var names []string
		for k := range ways[i].Walks {
			w := &ways[i].Walks[k]
			names = append(names, w.names...)
			if len(ways[i].Walks) > 1 {
				w.Title += ", " + strings.Join(w.names, ", ")
			}
		}
		ways[i].Entries = strings.Join(names, ", ")
	}
	return ways, not
}

func nodePort(p collect.EntryPoint) bool { return p.To == spec.ToNodePort }

func titleOf(p collect.EntryPoint) string {
	what, who := "ClusterIP", "a pod"
	if nodePort(p) {
		what = "NodePort"
	}
	if p.From == spec.FromHost {
		who = "outside"
	}
	return fmt.Sprintf("%s, from %s", what, who)
}

// shape is what a drawing shows, without the names of nodes and addresses. Two
// walks of one shape have one drawing.
func (s source) shape(p collect.EntryPoint, w collect.Walk) string {
	var b strings.Builder
	fmt.Fprint(&b, p.From, nodePort(p), s.place(p))
	trace := func(t collect.Trace) {
		fmt.Fprintf(&b, "\n%s %s", t.Encoding, t.Selection)
		for _, h := range t.Hops {
			where := strings.ReplaceAll(h.Where, w.Trace.Packet.Destination.String(), "dialled")
			fmt.Fprintf(&b, "\n%d %s %s %s %s", h.Depth, h.Probability, where, path.Base(h.File), h.Note)
		}
	}
	for _, t := range w.Passed {
		trace(t)
	}
	trace(w.Trace)
	// Where backends differ in what they see, it matters which of them is near.
	differ := slices.ContainsFunc(w.Trace.Backends, func(e collect.TracedBackend) bool {
		return e.Masqueraded.Decision != w.Trace.Backends[0].Masqueraded.Decision
	})
	var ends []string
	for _, e := range w.Trace.Backends {
		ends = append(ends, fmt.Sprintf("%s %s %t", e.Probability, e.Masqueraded.Decision, differ && s.nodeOf(e) == w.Node))
	}
	slices.Sort(ends)
	fmt.Fprint(&b, ends)
	for _, e := range w.Trace.Endings {
		fmt.Fprint(&b, e.Probability, e.Fate, e.By.At())
	}
	if stopped := w.Trace.Stopped; stopped != nil {
		fmt.Fprint(&b, stopped.Where, stopped.Note)
	}
	return b.String()
}

// hops are all of a walk, in its order.
func (s source) hops(id string, w collect.Walk) []hop {
	var all []hop
	add := func(encoding string, h collect.Hop, stopped bool) {
		all = append(all, hop{
			ID: fmt.Sprintf("%s-h%d", id, len(all)+1), Depth: min(h.Depth, deepest), Share: h.Probability.String(), Where: h.Where, Note: h.Note,
			Line: s.line(collect.Ref{File: h.File, Line: h.Line}), Stopped: stopped, Encoding: encoding,
			whole: h.Probability.Compare(collect.Whole()) == 0,
		})
	}
	for _, t := range append(slices.Clone(w.Passed), w.Trace) {
		encoding := t.Encoding
		for _, h := range t.Hops {
			add(encoding, h, false)
			encoding = ""
		}
	}
	if w.Trace.Stopped != nil {
		add("", *w.Trace.Stopped, true)
	}
	return all
}

// deepest is how far hops are indented at most.
const deepest = 6

// notes are what a drawing leaves open.
func notes(w collect.Walk) []string {
	var all []string
	for _, b := range w.Trace.Backends {
		if a := b.Masqueraded; a.Reason != "" && a.Decision != collect.No || a.Decision == collect.No && a.By != nil {
			all = append(all, "Source: "+a.Reason+".")
		}
	}
	all = append(all, w.Notes...)
	slices.Sort(all)
	return slices.Compact(all)
}

// place is where the connections of an entry point are translated, by what their
// sockets hold.
func (s source) place(p collect.EntryPoint) string {
	var places []string
	for _, a := range p.Attempts {
		if place, ok := evidence.Translated(s.Evidence, a); ok {
			places = append(places, cmp.Or(place, "neither"))
		}
	}
	switch places = sorted(places); {
	case len(places) == 0:
		return "where it is translated is not known"
	case len(places) > 1:
		return "translated in more than one place"
	case places[0] == spec.TranslatedAtSocket:
		return "translated at connect(), in the socket"
	case places[0] == spec.TranslatedInPacket:
		return "translated in the packet"
	}
	return "translated to no ready endpoint"
}

// nodeOf is the role of the node a backend runs on, "" where that is not known.
func (s source) nodeOf(b collect.TracedBackend) string {
	for _, e := range s.Evidence.Objects.Endpoints {
		if e.Address == b.Backend.Addr() {
			return e.Node
		}
	}
	return ""
}

// prober is who dials, and from which address.
func (s source) prober(p collect.EntryPoint) string {
	return strings.TrimPrefix(report.Prober(s.Evidence, p), "the ")
}

// answered are the attempts of which everything became known.
func answered(p collect.EntryPoint) []traffic.Attempt {
	return slices.DeleteFunc(slices.Clone(p.Attempts), func(a traffic.Attempt) bool { return a.Error != "" })
}
