package check

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// sourceHash: IPVS looks the backend up by the source address alone, so that all
// connections from one address to one virtual service have one backend, whatever
// the entry point. Who else uses it changes nothing.
func (in subject) sourceHash(j *judgement) {
	type key struct {
		virtual
		source netip.Addr
	}
	first := map[key]connection{}
	several := ""
	in.through(j, func(p collect.EntryPoint) {
		answers := answered(p)
		if len(answers) < 2 {
			j.undecided(p.From, collect.Ref{File: p.File}, "%d of %d connections were answered: that one backend serves a source cannot be seen", len(answers), len(p.Attempts))
			return
		}
		sources := map[string]bool{}
		for _, a := range answers {
			source := a.LocalAddress.Addr()
			if !source.IsValid() {
				j.undecided(p.From, line(p, a), "connection %d: the address it came from is not known", a.Sequence)
				continue
			}
			k := key{virtual{p.EntryNode, a.DialedAddress}, source}
			before, known := first[k]
			if !known {
				before = connection{p, a}
				first[k] = before
			}
			if a.Backend.PodIP != before.Backend.PodIP {
				j.contradict(p.From, line(p, a), "connection %d from %s to %s was answered by %s, connection %d of %s by %s, want one backend for one source",
					a.Sequence, source, k.virtual, a.Backend.Pod, before.Sequence, before.Name, before.Backend.Pod)
				return
			}
			sources[source.String()] = true
		}
		from := strings.Join(slices.Sorted(maps.Keys(sources)), ", ")
		if len(sources) > 1 {
			several += fmt.Sprintf(" Connections through %s came from %s and are judged by each.", p.Name, from)
		}
		j.quote(p.From, collect.Ref{File: p.File}, "%d connections from %s, one backend for one source", len(answers), from)
	})
	j.note = "All connections through an entry point came from one source address, which one backend answers; another source may get another."
	if several != "" {
		j.note = strings.TrimSpace(several)
	}
}
