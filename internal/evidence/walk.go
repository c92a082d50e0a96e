package evidence

import (
	"errors"
	"net/netip"

	"service-dataplane/internal/spec"
	"service-dataplane/internal/trace"
	"service-dataplane/pkg/collect"
)

// walk follows what was dialled through an entry point on the node that the
// connections enter.
func (s *source) walk(e collect.Evidence, p *collect.EntryPoint) {
	type way struct {
		from netip.Addr
		to   netip.AddrPort
	}
	known := map[way]bool{}
	for _, a := range p.Attempts {
		w := way{a.LocalAddress.Addr(), a.DialedAddress}
		if !w.from.IsValid() && p.From == spec.FromClient {
			w.from = e.Objects.ClientIP
		}
		if p.EntryNode == "" || !w.from.IsValid() || !w.to.IsValid() || known[w] {
			continue
		}
		known[w] = true
		walked, err := trace.Walk(Outputs{s}, e, trace.Request{Node: p.EntryNode, From: w.from.String(), To: w.to.String()})
		if err == nil {
			p.Walks = append(p.Walks, walked)
			continue
		}
		reason := collect.Finding{Node: p.EntryNode, Text: err.Error()}
		if stopped := (*trace.Stopped)(nil); errors.As(err, &stopped) {
			p.Walks = append(p.Walks, walked)
			reason.Text, reason.Ref = "the walk stops: "+stopped.Hop.Note, collect.Ref{File: stopped.Hop.File, Line: stopped.Hop.Line}
		}
		p.NotWalked = append(p.NotWalked, reason)
	}
}
