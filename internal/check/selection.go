package check

import (
	"fmt"
	"math"
	"net/netip"
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

func selection(in subject, j *judgement) {
	if !j.usable(in, evidence.ServicesFile, evidence.EndpointSlicesFile) {
		return
	}
	ready := in.ready()
	switch want := collect.Selection(in.expect.Selection); {
	case len(ready) < 2:
		j.skip = fmt.Sprintf("%d ready endpoints: there is nothing to select", len(ready))
	case want == collect.SelectRoundRobin:
		in.through(j, func(p collect.EntryPoint) { in.rotates(p, len(ready), j) })
		in.noteOthers(j)
	case want == collect.SelectLeastConn:
		in.leastConnections(ready, j)
		in.noteOthers(j)
	case want == collect.SelectSourceHash:
		in.sourceHash(j)
	case want == collect.SelectRandom:
		random(in, ready, j)
	default:
		j.undecided("", collect.Ref{}, "there is no test for %s", want)
	}
}

// random tests each entry point by itself, and all of them together: an
// imbalance too small to show at one may be the same at each.
func random(in subject, ready []collect.Endpoint, j *judgement) {
	var all splits
	in.through(j, func(p collect.EntryPoint) {
		shares, ok := in.shares(p, ready, j)
		if !ok {
			return
		}
		counts := make([]int, len(shares))
		for i, s := range shares {
			for _, a := range p.Attempts {
				if a.Backend.PodIP == s.backend {
					counts[i]++
				}
			}
		}
		all.add(p, counts, probabilities(shares))
	})
	if len(all) == 0 {
		return
	}
	for _, s := range all.judge(j, "which the entry node's own table gives") {
		j.quote(s.From, collect.Ref{File: s.File}, "split %s", s)
	}
	j.note = canShow(in.experiment.Connections, len(ready), all.tests())
}

// canShow says how little a number of connections shows.
func canShow(n, backends, tests int) string {
	one := 1 / float64(backends)
	text := fmt.Sprintf("%d connections an entry point, %d tests at %g in all (Holm). All to one backend has probability %d·%.3g^%d = %.2g",
		n, tests, alpha, backends, one, n, float64(backends)*math.Pow(one, float64(n)))
	share, ok := detectable(n, one, alpha/float64(tests))
	switch {
	case !ok:
		text += ", too much to fail one entry point by itself: only all of them together would show an imbalance"
	case backends == 2:
		text += fmt.Sprintf(". A backend with %.0f%% instead of 50%% would be found at one entry point with power 0.8, a smaller imbalance may not", 100*share)
	}
	return text + "."
}

// share is the probability that a new connection is sent to a backend.
type share struct {
	backend     netip.Addr
	probability float64
}

func probabilities(all []share) []float64 {
	var p []float64
	for _, s := range all {
		p = append(p, s.probability)
	}
	return p
}

// shares are those in the service table of the node that an entry point
// enters, every ready endpoint included; equal ones where the table has none.
func (in subject) shares(p collect.EntryPoint, ready []collect.Endpoint, j *judgement) ([]share, bool) {
	var shares []share
	if entry := p.EntryNode; entry != "" {
		if !j.usable(in, decodedFrom(in, entry, in.expect.Encoding)...) {
			return nil, false
		}
		if f := in.frontend(p, entry); f != nil {
			for _, b := range f.Backends {
				if b.Probability > 0 {
					shares = append(shares, share{b.Address, b.Probability})
				}
			}
		}
	}
	said := len(shares) > 0
	for _, e := range ready {
		switch {
		case !said:
			shares = append(shares, share{e.Address, 1 / float64(len(ready))})
		case !slices.ContainsFunc(shares, func(s share) bool { return s.backend == e.Address }):
			shares = append(shares, share{e.Address, 0})
		}
	}
	return shares, true
}

// frontend is the one an entry point's connections meet on the node they enter.
func (in subject) frontend(p collect.EntryPoint, entry string) *collect.Frontend {
	t := in.state(entry).Table(in.expect.Encoding)
	if t == nil {
		return nil
	}
	service, node := in.Objects.Service, in.node(entry)
	for i, f := range t.Frontends {
		nodePort := f.Kind == collect.NodePort && f.Port == service.NodePort && (!f.Address.IsValid() || f.Address == node.InternalIP)
		clusterIP := f.Address == service.ClusterIP && f.Port == service.Port
		if p.To == spec.ToNodePort && nodePort || p.To != spec.ToNodePort && clusterIP {
			return &t.Frontends[i]
		}
	}
	return nil
}
