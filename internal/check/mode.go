package check

import (
	"cmp"
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/iptables"
)

func modeChecks() []Definition {
	return []Definition{
		{"mode.declared", "The kube-proxy ConfigMap declares the mode of the scenario.", declared},
		{"mode.actual", "On every node kube-proxy runs in the mode of the scenario, by its own endpoint and by its log.", actual},
		{"mode.sole", "No node's kernel holds Services in an encoding the scenario forbids, or twice in one.", sole},
	}
}

func declared(in subject, j *judgement) {
	if !j.usable(in, evidence.ConfigMapFile) {
		return
	}
	got := in.Mode.Declared
	if got.Ref.Line.Text == "" {
		j.undecided("cluster", got.Ref, "was not read")
		return
	}
	// kube-proxy's default on Linux.
	if mode := cmp.Or(got.Value, "iptables"); mode != in.expect.Mode {
		j.contradict("cluster", got.Ref, "mode is %q, which means %s, want %s", got.Value, mode, in.expect.Mode)
		return
	}
	j.quote("cluster", got.Ref, "mode is %q", got.Value)
}

func actual(in subject, j *judgement) {
	for _, role := range spec.Roles {
		i := slices.IndexFunc(in.Mode.Nodes, func(m collect.NodeMode) bool { return m.Node == role })
		if i < 0 {
			j.undecided(role, collect.Ref{}, "kube-proxy was not asked")
			continue
		}
		for _, got := range []collect.Observation{in.Mode.Nodes[i].ProxyMode, in.Mode.Nodes[i].Log} {
			switch {
			case !j.usable(in, got.Ref.File):
			case got.Value == "":
				j.undecided(role, got.Ref, "does not say the mode")
			case got.Value != in.expect.Mode:
				j.contradict(role, got.Ref, "mode is %s, want %s", got.Value, in.expect.Mode)
			default:
				j.quote(role, got.Ref, "mode is %s", got.Value)
			}
		}
	}
}

func sole(in subject, j *judgement) {
	for _, role := range spec.Roles {
		state := in.state(role)
		for _, encoding := range in.expect.Forbidden {
			if !j.usable(in, decodedFrom(in, role, encoding)...) {
				continue
			}
			if encoding == "iptables" {
				for _, rules := range state.IptablesRules {
					j.contradict(role, rules.Ref, "%s in iptables", rules.Value)
				}
			} else {
				programmed(state, encoding, j)
			}
			if t := state.Table(encoding); t == nil {
				j.undecided(role, collect.Ref{}, "%s was not read", encoding)
			} else {
				j.quote(role, collect.Ref{File: t.File}, "no Service in %s", encoding)
			}
		}
		if in.expect.Encoding == "iptables" && j.usable(in, decodedFrom(in, role, "iptables")...) && state.LiveIptables == iptables.LiveBoth {
			for _, rules := range state.IptablesRules {
				j.contradict(role, rules.Ref, "%s, and the other iptables back end holds some too", rules.Value)
			}
		}
	}
}

// programmed finds Services in tables that must hold none. That a table is
// there is no Service: it can be empty, or another program's.
func programmed(state collect.NodeState, encoding string, j *judgement) {
	for _, t := range state.Tables {
		switch {
		case t.Encoding != encoding:
		case len(t.Frontends) > 0:
			f := t.Frontends[0]
			j.contradict(state.Node, collect.Ref{File: t.File, Line: f.Line}, "%d frontends in %s, the first %s", len(t.Frontends), encoding, f.Endpoint())
		case len(t.Unparsed) > 0 && encoding == "ipvs":
			// A virtual service that nothing explains is one all the same.
			j.contradict(state.Node, collect.Ref{File: t.File, Line: t.Unparsed[0]}, "%d rows in ip_vs", len(t.Unparsed))
		case len(t.Unparsed) > 0:
			j.undecided(state.Node, collect.Ref{File: t.File, Line: t.Unparsed[0]}, "%d lines in %s are not understood", len(t.Unparsed), encoding)
		}
	}
}
