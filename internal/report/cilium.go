package report

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/traffic"
)

// ciliumPath is the way of a connection under Cilium: through connect(2) of a
// process on the node, through the programs on its devices for all others, and
// in both cases through the same maps.
func ciliumPath(raw fs.FS, e collect.Evidence, state collect.NodeState, frontends []collect.Frontend) ([]stage, error) {
	hooks, err := socketHooks(raw, state.Node)
	if err != nil {
		return nil, err
	}
	connections, err := trackedByCilium(raw, state)
	if err != nil {
		return nil, err
	}
	stages := []stage{
		{what: atSocket(e, state.Node), file: path.Join(state.Node, cilium.CgroupFile), lines: hooks},
		inPacket(e, state.Node, frontends),
		{
			what: fmt.Sprintf("Match, choose and translate: the row of the address that was dialled, slot 0, counts its backends (%s shows the count); one of the slots above it, %s, holds the backend.", link(collect.Ref{File: path.Join(state.Node, cilium.FrontendsFile)}), picked(frontends)),
			file: path.Join(state.Node, cilium.LBFile), lines: mapRows(frontends),
		},
		{
			what: "Remember: a translated packet leaves an entry of the direction SVC with the address that was dialled and the number of the backend, and one of the direction OUT with the backend's address. Answers are translated back by the number of the frontend (`RevNAT`).",
			file: path.Join(state.Node, cilium.ConntrackFile), lines: connections, passing: true,
		},
	}
	return slices.DeleteFunc(stages, func(s stage) bool { return len(s.lines) == 0 }), nil
}

// picked says how a slot is chosen, where all frontends have one way.
func picked(frontends []collect.Frontend) string {
	var ways []string
	for _, f := range frontends {
		ways = append(ways, string(f.Selection))
	}
	switch ways = distinct(ways); {
	case slices.Equal(ways, []string{string(collect.SelectRandom)}):
		return "picked at random"
	case len(ways) == 1 && ways[0] != "":
		return "picked by " + escape(ways[0])
	}
	return "picked as the service table below says"
}

// socketHooks are the programs of socket LB at the root of a node's cgroups, or
// none where it is off.
func socketHooks(raw fs.FS, node string) ([]quoted, error) {
	return attached(raw, path.Join(node, cilium.CgroupFile), cilium.DecodeAttached, func(p cilium.Program) (quoted, bool) {
		return quoted{Line: p.Line, key: p.Cgroup + p.AttachType + p.Name}, strings.HasPrefix(p.Name, "cil_sock")
	})
}

// atSocket tells what connect(2) does, with a connection that was made here.
func atSocket(e collect.Evidence, node string) string {
	text := "Socket: connect(2) of a process on the node, in a pod or not, runs a program at the root of the node's cgroups. `cil_sock4_connect` puts a backend's address in the place of the one that was dialled, so that no packet carries the Service's; `cil_sock4_getpeername` gives the application the dialled one back."
	p, a, ok := translatedInSocket(e, node)
	if !ok {
		return text
	}
	return text + fmt.Sprintf(" Connection %d of %s dialled %s and went to %s (%s).", a.Sequence, code(p.Name), code(a.DialedAddress.String()), code(a.KernelRemote.String()), link(connectionRef(p, a)))
}

// translatedInSocket is a connection that connect(2) translated on a node.
func translatedInSocket(e collect.Evidence, node string) (collect.EntryPoint, traffic.Attempt, bool) {
	for _, p := range e.Traffic {
		if p.From != spec.FromClient || p.EntryNode != node {
			continue
		}
		for _, a := range p.Attempts {
			if translatedAt(e, a) == inSocket {
				return p, a, true
			}
		}
	}
	return collect.EntryPoint{}, traffic.Attempt{}, false
}

func connectionRef(p collect.EntryPoint, a traffic.Attempt) collect.Ref {
	return collect.Ref{File: p.File, Line: collect.Line{Number: a.Sequence}}
}

// inPacket tells which packets are translated, and quotes how the programs that
// do it are attached.
func inPacket(e collect.Evidence, node string, frontends []collect.Frontend) stage {
	agent := modeOn(e, node).Agent
	if agent == nil || agent.AttachMode.Value == "" {
		return stage{}
	}
	what := ""
	switch attached := code(agent.AttachMode.Value); {
	case agent.SocketLB.Value == collect.Disabled:
		what = fmt.Sprintf("Packet: Cilium has no program at connect(2). The one at a pod's interface, attached by %s, looks up the destination of each packet that the pod sends, before any rule of the node sees it. Processes of the node itself do not pass there.", attached)
	case slices.ContainsFunc(frontends, func(f collect.Frontend) bool { return f.Kind != collect.ClusterIP }):
		what = fmt.Sprintf("Packet: the connect(2) of a connection from outside met no program of this node's cgroups. The program at the node's network device, attached by %s, looks the destination of its packets up in the same map.", attached)
	default:
		return stage{}
	}
	return stage{what: what, file: agent.AttachMode.Ref.File, lines: quote(agent.AttachMode.Ref.Line)}
}

// mapRows are the rows of frontends in the services map, slot 0 first.
func mapRows(frontends []collect.Frontend) []quoted {
	var rows []quoted
	for _, f := range frontends {
		rows = append(rows, mapRow(f, f.Line))
		for _, b := range f.Backends {
			rows = append(rows, mapRow(f, b.Line))
		}
	}
	inFile(rows)
	return rows
}

// mapRow leaves the frontend's number out of what nodes have in common: each
// agent gives its own.
func mapRow(f collect.Frontend, line collect.Line) quoted {
	// "KEY": [ and "VALUE" and ]
	const height = 3
	key, value := entry(line)
	if line == f.Line {
		_, flags, _ := strings.Cut(value, "[")
		return quoted{Line: line, key: key + flags, height: height}
	}
	backend, _, _ := strings.Cut(value, " (")
	return quoted{Line: line, key: key + backend, height: height}
}

// entry is a row of the services map, "KEY (SLOT): VALUE".
func entry(line collect.Line) (key, value string) {
	key, value, ok := strings.Cut(line.Text, "): ")
	if !ok {
		return line.Text, ""
	}
	return key + ")", value
}

// trackedByCilium quotes an SVC entry of each kind, and the OUT entry of the
// same connection behind it.
func trackedByCilium(raw fs.FS, state collect.NodeState) ([]quoted, error) {
	data, err := optional(raw, path.Join(state.Node, cilium.ConntrackFile))
	if err != nil {
		return nil, err
	}
	flows, _ := cilium.DecodeConntrack(data) // the decoder has said so
	var rows []quoted
	for _, t := range state.Translations {
		if t.Tracker != collect.TrackedByCilium {
			continue
		}
		rows = append(rows, quote(t.Ref.Line)...)
		i := slices.IndexFunc(flows, func(f cilium.Flow) bool { return f.Line.Number == t.Ref.Line.Number })
		if i < 0 {
			continue
		}
		for _, f := range flows {
			if f.Direction == "OUT" && f.Source == flows[i].Source && f.Destination == t.Backend {
				rows = append(rows, quote(f.Line)...)
			}
		}
	}
	inFile(rows)
	return rows, nil
}
