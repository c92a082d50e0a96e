package check

import (
	"fmt"
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

func trafficChecks() []Definition {
	return []Definition{
		{"traffic.complete", "Every connection through every entry point was made, once, and answered.", completeTraffic},
		{"traffic.backends", "Every answer came from a ready endpoint of the Service.", backends},
		{"traffic.selection", "Every entry point spreads its connections over the endpoints as the scenario's data plane selects them.", selection},
		{"traffic.translation", "Every connection was translated where the scenario expects it, at the socket or in the packet, and its client is told the address it dialled.", translation},
		{"traffic.source", "At every entry point the backends see the source address that the scenario expects.", source},
		{"traffic.traced", "Every connection went where the rules and rows of the node it entered lead, walked one by one, in the shares they give and with the source address they leave it.", traced},
	}
}

// through judges each entry point whose traffic is recorded.
func (in subject) through(j *judgement, judge func(collect.EntryPoint)) {
	for _, p := range in.experiment.EntryPoints {
		file := evidence.TrafficFile(p)
		i := slices.IndexFunc(in.Traffic, func(t collect.EntryPoint) bool { return t.Name == p.Name })
		switch {
		case !j.usable(in, file):
		case i < 0:
			j.undecided(p.From, collect.Ref{File: file}, "no connections are recorded")
		default:
			judge(in.Traffic[i])
		}
	}
}

// line points at a connection: each is a line of its file.
func line(p collect.EntryPoint, a traffic.Attempt) collect.Ref {
	return collect.Ref{File: p.File, Line: collect.Line{Number: a.Sequence, Text: fmt.Sprintf("%s answered by %s", a.Target, a.Backend.Pod)}}
}

func completeTraffic(in subject, j *judgement) {
	in.through(j, func(p collect.EntryPoint) {
		for i, a := range p.Attempts {
			switch {
			case a.Sequence != i+1:
				j.contradict(p.From, line(p, a), "sequence is %d, want %d", a.Sequence, i+1)
			case a.Entry != p.Name:
				j.contradict(p.From, line(p, a), "connection %d was made through %q, want %q", a.Sequence, a.Entry, p.Name)
			case a.Error != "" || !a.Backend.PodIP.IsValid():
				j.contradict(p.From, line(p, a), "connection %d: %s", a.Sequence, a.Error)
			}
		}
		if len(p.Attempts) != p.Sent {
			j.contradict(p.From, collect.Ref{File: p.File}, "%d connections are recorded, want %d", len(p.Attempts), p.Sent)
		}
		j.quote(p.From, collect.Ref{File: p.File}, "%d of %d", len(p.Attempts), p.Sent)
	})
}

// answered are the attempts that some server answered.
func answered(p collect.EntryPoint) []traffic.Attempt {
	return slices.DeleteFunc(slices.Clone(p.Attempts), func(a traffic.Attempt) bool { return !a.Backend.PodIP.IsValid() })
}

func backends(in subject, j *judgement) {
	if !j.usable(in, evidence.ServicesFile, evidence.EndpointSlicesFile) {
		return
	}
	in.through(j, func(p collect.EntryPoint) {
		answers := answered(p)
		if len(answers) == 0 {
			j.undecided(p.From, collect.Ref{File: p.File}, "nobody answered")
		}
		for _, a := range answers {
			known := slices.ContainsFunc(in.ready(), func(e collect.Endpoint) bool {
				return e.Address == a.Backend.PodIP && e.Pod == a.Backend.Pod
			})
			if !known {
				j.contradict(p.From, line(p, a), "connection %d was answered by %s at %s, which is no ready endpoint", a.Sequence, a.Backend.Pod, a.Backend.PodIP)
			}
		}
		j.quote(p.From, collect.Ref{File: p.File}, "%d answers", len(answers))
	})
}

func source(in subject, j *judgement) {
	files := []string{evidence.PodsFile, evidence.NodesFile}
	for _, role := range spec.Roles {
		files = append(files, role+"/"+evidence.AddressesFile)
	}
	if !j.usable(in, files...) {
		return
	}
	in.through(j, func(p collect.EntryPoint) {
		fit, whose := evidence.Sources(in.Evidence, p)
		if fit == nil {
			j.undecided(p.From, collect.Ref{File: p.File}, "%s", whose)
			return
		}
		answers := answered(p)
		for _, a := range answers {
			if !fit(a) {
				j.contradict(p.From, line(p, a), "connection %d was seen from %s, want %s", a.Sequence, a.SourceSeen, whose)
			}
		}
		if len(answers) == 0 {
			j.undecided(p.From, collect.Ref{File: p.File}, "nobody answered")
			return
		}
		j.quote(p.From, line(p, answers[0]), "seen from %s: %s", answers[0].SourceSeen.Addr(), whose)
	})
}
