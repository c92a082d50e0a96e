package report

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
)

// calicoPath is the way of a connection under Calico's eBPF: through connect(2)
// of a process on the node, through the programs on its devices for all others,
// and in both cases through the NAT maps. What enters at one node and has its
// backend on another is passed on as it came, and looked up again there
// (felix/bpf-gpl/tc.c and nat_lookup.h of Calico v3.31.7).
func calicoPath(raw fs.FS, e collect.Evidence, state collect.NodeState, file string, frontends []collect.Frontend) ([]stage, error) {
	programs, err := connectPrograms(raw, state.Node)
	if err != nil {
		return nil, err
	}
	entered, passed, err := trackedByCalico(raw, e, state)
	if err != nil {
		return nil, err
	}
	tracked := path.Join(state.Node, calico.ConntrackFile)
	stages := []stage{
		{what: atConnect(e, state.Node), file: path.Join(state.Node, calico.CgroupFile), lines: programs},
		{
			what: fmt.Sprintf("Match, choose and translate: the row of the address that was dialled counts its backends (`count`), and those of them on this node (`local`), which stand first; one of the rows behind it, %s, holds the backend.", picked(frontends)),
			file: file, lines: natRows(frontends),
		},
		{
			what: "Packet: a connection that no connect(2) on this node has translated, as every one from outside, carries the address that was dialled. Programs at the node's devices look it up in the same maps, and note both addresses in an entry of the type `nat`." + forwarded(entered),
			file: tracked, lines: entered, passing: true,
		},
		{
			what: "Passed on to here: connections that entered at another node come through the tunnel with the address that was dialled there. It has no row here, so that the one without an address serves them, with a backend that is on this node.",
			file: tracked, lines: passed, passing: true,
		},
	}
	return slices.DeleteFunc(stages, func(s stage) bool { return len(s.lines) == 0 }), nil
}

// connectPrograms are Calico's programs at a node's cgroup, or none where there
// are none.
func connectPrograms(raw fs.FS, node string) ([]quoted, error) {
	return attached(raw, path.Join(node, calico.CgroupFile), calico.DecodeAttached, func(p calico.Program) (quoted, bool) {
		return quoted{Line: p.Line, key: p.AttachType + p.Name}, p.OfCalico()
	})
}

// atConnect tells what connect(2) does, with a connection that was made here.
func atConnect(e collect.Evidence, node string) string {
	text := "Socket: connect(2) of a process on the node, in a pod or not, runs a program at the node's cgroup. `calico_connect_v4` puts a backend's address in the place of the one that was dialled, so that no packet carries the Service's."
	p, a, ok := translatedInSocket(e, node)
	if !ok {
		return text
	}
	return text + fmt.Sprintf(" Connection %d of %s dialled %s and went to %s; getpeername(2) told the application %s (%s).",
		a.Sequence, code(p.Name), code(a.DialedAddress.String()), code(a.KernelRemote.String()), code(a.Peername.String()), link(connectionRef(p, a)))
}

// forwarded explains the rows of connections that are passed on.
func forwarded(rows []quoted) string {
	if !slices.ContainsFunc(rows, func(q quoted) bool { return q.note != "" }) {
		return ""
	}
	return " Where the backend is on another node, the packets are passed on to that one through the tunnel as they came, with the client's address as their source."
}

// numbersForm is what a row of the maps has of its node's own: the number of the
// Service's port, and how many backends run there.
var numbersForm = regexp.MustCompile(` (?:id|local) \d+`)

// natRows are the rows of frontends in the NAT maps, each before its backends.
func natRows(frontends []collect.Frontend) []quoted {
	var rows [][]quoted
	for _, f := range frontends {
		own := []quoted{{Line: f.Line, key: numbersForm.ReplaceAllString(f.Line.Text, "")}}
		for _, b := range f.Backends {
			own = append(own, quoted{Line: b.Line, key: fmt.Sprintf("%s %s:%d", f.Endpoint(), b.Address, b.Port)})
		}
		inFile(own)
		for i := range own[1:] {
			own[i].height = own[i+1].Number - own[i].Number
		}
		rows = append(rows, own)
	}
	slices.SortStableFunc(rows, func(a, b []quoted) int { return cmp.Compare(a[0].Number, b[0].Number) })
	return slices.Concat(rows...)
}

// trackedByCalico quotes a connection of each kind: those that entered at this
// node, with the node that those are passed on to whose backend is there, and
// those that entered at another one. A pod's connection to a port of another node
// enters here.
func trackedByCalico(raw fs.FS, e collect.Evidence, state collect.NodeState) (entered, passed []quoted, err error) {
	data, err := optional(raw, path.Join(state.Node, calico.ConntrackFile))
	if err != nil {
		return nil, nil, err
	}
	flows, _ := calico.DecodeConntrack(data) // the decoder has said so
	for _, t := range state.Translations {
		if t.Tracker != collect.TrackedByCalico {
			continue
		}
		row := quote(t.Ref.Line)[0]
		i := slices.IndexFunc(flows, func(f calico.Flow) bool { return f.Line == t.Ref.Line })
		elsewhere, tunnelled := enteredElsewhere(e, state.Node, t.Destination), i < 0 || flows[i].Tunnel.IsValid()
		switch {
		case elsewhere && tunnelled:
			passed = append(passed, row)
			continue
		case tunnelled && i >= 0:
			row.note = "passed on to " + cmp.Or(nodeAt(e, flows[i].Tunnel), "another node")
		}
		entered = append(entered, row)
	}
	inFile(entered)
	inFile(passed)
	return entered, passed, nil
}
