package check

import (
	"path"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/ipvs"
)

func collectChecks() []Definition {
	return []Definition{
		{"collect.complete", "Every command the scenario needs was run on every node, and what it printed was understood.", complete},
	}
}

// complete is never a fail: what was not recorded says nothing about a Service.
func complete(in subject, j *judgement) {
	if len(in.Nodes) == 0 {
		j.undecided("", collect.Ref{}, "there is no evidence")
	}
	var unneeded []string
	explain := []string{ipvs.ConnectionsFile, ipvs.StatsFile, ipvs.IPSetFile, ipvs.DummyFile, ipvs.TimerListFile}
	for _, p := range in.Problems {
		// They only explain virtual services that are listed elsewhere.
		if in.expect.Encoding != "ipvs" && slices.Contains(explain, path.Base(p.File)) {
			unneeded = append(unneeded, p.File)
			continue
		}
		j.undecided(p.Node, collect.Ref{File: p.File}, "%s", p.Text)
	}
	if unneeded != nil {
		j.note = "failed, but not needed in this scenario: " + strings.Join(unneeded, ", ")
	}
}
