package check

import (
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/ipvs"
)

func kernelChecks() []Definition {
	return []Definition{
		{"kernel.table", "On every node the kernel's service table, and where Cilium fills it the agent's own list, is what the API asks for, no more and no less.", table},
		{"kernel.unparsed", "No line of the kernel's service tables was left that is not understood.", unparsed},
		{"kernel.conntrack", "On every node the tracked connections to the Service were translated to its ready endpoints and nothing else; where Cilium or Calico implements Services, by it.", tracked},
	}
}

// decodedFrom are the files that must be usable for the encoding to be judged.
func decodedFrom(in subject, role, encoding string) []string {
	files := evidence.TableFiles(role, encoding)
	switch t := in.state(role).Table(encoding); {
	case encoding == "nftables" && t != nil:
		return []string{t.File} // one form is enough
	case encoding == "ipvs" && encoding != in.expect.Encoding:
		return []string{role + "/" + ipvs.ServicesFile} // lists every virtual service
	case encoding == calico.Encoding && t != nil:
		return []string{t.File, role + "/" + calico.AffinityFile} // one form is enough
	}
	return files
}

func unparsed(in subject, j *judgement) {
	encodings := append([]string{in.expect.Encoding}, in.expect.Forbidden...)
	if in.expect.Encoding == "ipvs" {
		// That mode has iptables rules of its own, which match ip sets.
		encodings = slices.DeleteFunc(encodings, func(e string) bool { return e == "iptables" })
	}
	if in.expect.Encoding == cilium.Encoding {
		encodings = append(encodings, cilium.AgentEncoding)
	}
	for _, role := range spec.Roles {
		state := in.state(role)
		for _, encoding := range encodings {
			if j.usable(in, decodedFrom(in, role, encoding)...) && state.Table(encoding) == nil {
				j.undecided(role, collect.Ref{}, "%s was not read", encoding)
			}
			for _, t := range state.Tables {
				for _, line := range t.Unparsed {
					// kernel.table judges those that contradict each other.
					if t.Encoding == encoding && !contradictory(encoding, line) {
						j.contradict(role, collect.Ref{File: t.File, Line: line}, "not understood: %s", line.Text)
					}
				}
			}
		}
	}
}
