package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/traffic"
)

// translation compares what the client dialled, what getpeername() tells it and
// what the kernel's own table of sockets has, on a connection that is open.
// Connection tracking then has to agree: with a translation of the packets, or
// with there being none.
func translation(in subject, j *judgement) {
	if !j.usable(in, evidence.ServicesFile, evidence.EndpointSlicesFile) {
		return
	}
	var seen found
	in.through(j, func(p collect.EntryPoint) {
		want := evidence.ExpectedTranslation(p.From, p.To, in.expect.Translation)
		switch {
		case want != spec.TranslatedAtSocket && want != spec.TranslatedInPacket:
			j.undecided(p.From, collect.Ref{File: p.File}, "the scenario does not say where it has to be translated")
			return
		case len(p.Attempts) == 0:
			j.undecided(p.From, collect.Ref{File: p.File}, "no connections are recorded")
			return
		}
		fine := true
		for _, a := range p.Attempts {
			fine = in.socket(p, a, want, j) && fine
		}
		if !fine {
			return
		}
		a := p.Attempts[0]
		j.quote(p.From, sockets(p, a), "dialled %s, getpeername() says %s, the socket's remote address is %s", a.DialedAddress, a.Peername, a.KernelRemote)
		if want == spec.TranslatedAtSocket {
			in.noPackets(p, j)
			seen.add(p.Name, "rewritten at connect(), no packet carries the address dialled")
		} else {
			seen.add(p.Name, in.packets(p, j))
		}
	})
	j.note = strings.TrimPrefix(seen.String()+j.note, " ")
}

// found gathers entry points by what was found of them.
type found struct {
	what  []string
	names map[string][]string
}

func (f *found) add(name, what string) {
	if f.names == nil {
		f.names = map[string][]string{}
	}
	if f.names[what] == nil {
		f.what = append(f.what, what)
	}
	f.names[what] = append(f.names[what], name)
}

func (f found) String() string {
	text := ""
	for _, what := range f.what {
		names := strings.Join(f.names[what], ", ")
		if len(f.what) == 1 {
			names = "Every entry point"
		}
		text += fmt.Sprintf(" %s: %s.", names, what)
	}
	return text
}

// sockets quotes the three addresses of a connection.
func sockets(p collect.EntryPoint, a traffic.Attempt) collect.Ref {
	return collect.Ref{File: p.File, Line: collect.Line{
		Number: a.Sequence,
		Text:   fmt.Sprintf(`"dialedAddress":%q … "peername":%q,"kernelRemote":%q`, a.DialedAddress, a.Peername, a.KernelRemote),
	}}
}

// socket judges one connection by its addresses, and says whether it was
// translated where it had to be.
func (in subject) socket(p collect.EntryPoint, a traffic.Attempt, want string, j *judgement) bool {
	place, known := evidence.Translated(in.Evidence, a)
	if !known {
		j.undecided(p.From, sockets(p, a), "connection %d: the addresses of its socket are not known", a.Sequence)
		return false
	}
	peer := a.DialedAddress
	if place == spec.TranslatedAtSocket && in.expect.Translation.Peername == spec.PeernameBackend {
		peer = a.KernelRemote
	}
	if a.Peername != peer {
		j.contradict(p.From, sockets(p, a), "connection %d: dialled %s, getpeername() says %s, want %s", a.Sequence, a.DialedAddress, a.Peername, peer)
	}
	switch place {
	case want:
	case "":
		j.contradict(p.From, sockets(p, a), "connection %d: dialled %s, but the socket's remote address is %s, which is no ready endpoint", a.Sequence, a.DialedAddress, a.KernelRemote)
	default:
		j.contradict(p.From, sockets(p, a), "connection %d: dialled %s, the socket's remote address is %s: translated %s, want %s", a.Sequence, a.DialedAddress, a.KernelRemote, where(place), where(want))
	}
	return place == want && a.Peername == peer
}

func where(place string) string {
	if place == spec.TranslatedAtSocket {
		return "at the socket"
	}
	return "in the packet"
}

func dialled(p collect.EntryPoint) []netip.AddrPort {
	var all []netip.AddrPort
	for _, a := range p.Attempts {
		if !slices.Contains(all, a.DialedAddress) {
			all = append(all, a.DialedAddress)
		}
	}
	return all
}

// noPackets: what was rewritten at the socket must not be in a packet of the
// client pod that any node tracked.
func (in subject) noPackets(p collect.EntryPoint, j *judgement) {
	for _, role := range spec.Roles {
		if !in.readable(role, j) {
			continue
		}
		for _, t := range in.state(role).Translations {
			if slices.Contains(dialled(p), t.Destination) && slices.Contains(t.Sources, in.Objects.ClientIP) {
				j.contradict(role, t.Ref, "packets from the client pod carried %s", t.Destination)
			}
		}
	}
}

// packets: what was not rewritten at the socket the entry node must have
// tracked and translated. It says who did.
func (in subject) packets(p collect.EntryPoint, j *judgement) string {
	const how = "packets carry the address dialled until "
	if p.EntryNode == "" || !in.readable(p.EntryNode, j) {
		return how + "they are translated"
	}
	var trackers []string
	for _, address := range dialled(p) {
		known := false
		for _, t := range in.state(p.EntryNode).Translations {
			if t.Destination != address || !in.isEndpoint(t.Backend) {
				continue
			}
			known = true
			who := by(t.Tracker)
			j.quote(p.EntryNode, t.Ref, "tracked by %s: %s becomes %s", who, address, t.Backend)
			if !slices.Contains(trackers, who) {
				trackers = append(trackers, who)
			}
		}
		if !known {
			j.contradict(p.EntryNode, collect.Ref{File: in.trackedIn(p)}, "no connection to %s that was translated to a ready endpoint is tracked", address)
		}
	}
	return how + strings.Join(trackers, " or ") + " translates them"
}

// trackedIn is the file in which the entry node's translations are looked for
// first.
func (in subject) trackedIn(p collect.EntryPoint) string {
	files := evidence.ConntrackFiles(p.EntryNode)
	switch {
	case in.expect.Mode == cilium.Encoding:
		return evidence.CiliumConntrackFiles(p.EntryNode)[0]
	case in.expect.Mode == calico.Encoding:
		return evidence.CalicoConntrackFiles(p.EntryNode)[0]
	case p.To == spec.ToNodePort:
		return files[1]
	}
	return files[0]
}

// readable says whether connection tracking of a node could be read. Without
// it the sockets alone have to do, which the note says.
func (in subject) readable(role string, j *judgement) bool {
	var files judgement
	if files.usable(in, in.trackerFiles(role)...) {
		return true
	}
	if note := " Connection tracking of " + role + " could not be read and was not compared."; !strings.Contains(j.note, note) {
		j.note += note
	}
	return false
}
