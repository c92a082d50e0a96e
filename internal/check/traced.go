package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// traced compares what was observed with what a walk through the rules and rows of
// the entry node gives. It reads no service table: what the tables leave out, such
// as a rule of somebody else in front of kube-proxy's, it follows.
func traced(in subject, j *judgement) {
	if !j.usable(in, evidence.PodsFile, evidence.NodesFile) {
		return
	}
	var all splits
	var notes []string
	in.through(j, func(p collect.EntryPoint) {
		entry := p.EntryNode
		if entry == "" {
			j.undecided(p.From, collect.Ref{File: p.File}, "the experiment does not say which node the connections enter")
			return
		}
		files := append(decodedFrom(in, entry, in.expect.Encoding), entry+"/"+evidence.AddressesFile)
		if !j.usable(in, files...) {
			return
		}
		for _, reason := range p.NotWalked {
			j.undecided(reason.Node, reason.Ref, "%s", reason.Text)
		}
		if len(p.Walks)+len(p.NotWalked) == 0 {
			j.undecided(p.From, collect.Ref{File: p.File}, "the addresses of its connections are not known")
		}
		for _, w := range p.Walks {
			if w.Trace.Stopped != nil {
				continue
			}
			f := in.followed(p, w, j)
			if f.shares != nil {
				all.add(p, f.counts, f.shares)
			}
			if f.note != "" && !slices.Contains(notes, f.note) {
				notes = append(notes, f.note)
			}
		}
	})
	all.judge(j, "which the walk through the entry node gives")
	j.note = strings.Join(notes, " ")
	if n := all.tests(); n > 0 {
		j.note = strings.TrimSpace(fmt.Sprintf("%d tests of splits at %g in all (Holm); how little %d connections show is said at traffic.selection. ", n, alpha, in.experiment.Connections) + j.note)
	}
}

// following is what became of the connections of a walk.
type following struct {
	// counts of the backends, and their shares; nil where a walk has none of them.
	counts []int
	shares []float64
	note   string // what the walk leaves open
}

// followed says of each connection whether it went where the walk leads, with the
// source address of the walk.
func (in subject) followed(p collect.EntryPoint, w collect.Walk, j *judgement) (f following) {
	ways := waysOf(w.Trace)
	counts := make([]int, len(ways))
	open, unanswered := "", 0
	var stray strays
	for _, a := range p.Attempts {
		if from := a.LocalAddress.Addr(); a.DialedAddress != w.Trace.Packet.Destination || from.IsValid() && from != w.Trace.Packet.Source {
			continue // of another walk
		}
		if !a.Backend.PodIP.IsValid() {
			unanswered++
			continue
		}
		i := slices.IndexFunc(ways, func(way way) bool { return way.to == a.Backend.PodIP })
		if i < 0 {
			stray.add(p, a, fmt.Sprintf("answered by %s, where the walk through %s does not lead", a.Backend.PodIP, w.Node))
			continue
		}
		counts[i]++
		seen := a.SourceSeen.Addr()
		kept, changed := seen == w.Trace.Packet.Source, slices.Contains(in.node(w.Node).Addresses, seen)
		if !(kept && ways[i].kept || changed && ways[i].changed) {
			stray.add(p, a, fmt.Sprintf("seen from %s, where the walk through %s gives %s", seen, w.Node, ways[i].source(w)))
		}
		if ways[i].kept && ways[i].changed {
			open = ways[i].answer.Reason
		}
	}
	for _, s := range stray {
		j.contradict(p.From, s.first, "%d of %d connections, the first of them number %d, were %s", s.n, len(p.Attempts), s.first.Line.Number, s.how)
	}
	if open != "" {
		f.note = fmt.Sprintf("The walk does not decide the source where %s: it was the client's address or one of the entry node.", open)
	}
	at, text := choice(w.Trace), make([]string, len(ways))
	for i, way := range ways {
		text[i] = fmt.Sprintf("%d by %s (%s)", counts[i], way.name, way.share)
	}
	switch s := w.Trace.Selection; {
	case s == collect.SelectSourceHash || s == collect.SelectMaglev:
		f.note = strings.TrimSpace("The shares are those of many clients, and one client's connections are not compared with them. " + f.note)
	case len(ways)+len(w.Trace.Endings) > 1:
		f.counts = counts
		for _, way := range ways {
			f.shares = append(f.shares, way.share.Float())
		}
		if len(w.Trace.Endings) > 0 {
			f.counts = append(f.counts, unanswered)
			f.shares = append(f.shares, ended(w.Trace).Float())
			text = append(text, fmt.Sprintf("%d without an answer (%s)", unanswered, ended(w.Trace)))
		}
	}
	j.quote(w.Node, at, "%s: %s", w.Trace.Packet, strings.Join(text, ", "))
	return f
}

// stray are connections that went another way than a walk, all in the same manner.
type stray struct {
	how   string
	n     int
	first collect.Ref
}

type strays []stray

func (s *strays) add(p collect.EntryPoint, a traffic.Attempt, how string) {
	i := slices.IndexFunc(*s, func(known stray) bool { return known.how == how })
	if i < 0 {
		i = len(*s)
		*s = append(*s, stray{how: how, first: line(p, a)})
	}
	(*s)[i].n++
}

// ended is the part of the connections that get no backend.
func ended(t collect.Trace) (all collect.Share) {
	for _, e := range t.Endings {
		all = all.Plus(e.Probability)
	}
	return all
}

// way is one end of a walk, and what source addresses may arrive there.
type way struct {
	to            netip.Addr
	name          string
	share         collect.Share
	kept, changed bool
	answer        collect.Answer
}

// waysOf are those of a trace: a backend that some connections reach with their
// own source and others with another one is one way.
func waysOf(t collect.Trace) (ways []way) {
	for _, b := range t.Backends {
		i := slices.IndexFunc(ways, func(w way) bool { return w.to == b.Backend.Addr() })
		if i < 0 {
			i = len(ways)
			ways = append(ways, way{to: b.Backend.Addr(), name: b.Name, answer: b.Masqueraded})
			if b.Name == "" {
				ways[i].name = b.Backend.String()
			}
		}
		ways[i].share = ways[i].share.Plus(b.Probability)
		ways[i].kept = ways[i].kept || b.Masqueraded.Decision != collect.Yes
		ways[i].changed = ways[i].changed || b.Masqueraded.Decision != collect.No
	}
	return ways
}

// source says in words what address arrives.
func (w way) source(of collect.Walk) string {
	var words []string
	if w.kept {
		words = append(words, "the client's")
	}
	if w.changed {
		words = append(words, "an address of "+of.Node)
	}
	text := strings.Join(words, " or ")
	if w.answer.By != nil {
		text += ", by " + w.answer.By.At()
	}
	return text
}

// choice is where a walk parts, or else where it ends.
func choice(t collect.Trace) collect.Ref {
	for _, h := range t.Hops {
		if h.Probability.Compare(collect.Whole()) < 0 {
			return collect.Ref{File: h.File, Line: h.Line}
		}
	}
	if len(t.Hops) == 0 {
		return collect.Ref{}
	}
	last := t.Hops[len(t.Hops)-1]
	return collect.Ref{File: last.File, Line: last.Line}
}
