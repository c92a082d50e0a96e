package report

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// Where a destination is translated.
const (
	onPackets = spec.TranslatedInPacket
	inSocket  = spec.TranslatedAtSocket
)

// translatedAt says where the destination of an attempt was translated; ""
// where the socket table was not read, or holds neither the address dialled nor
// an endpoint's.
func translatedAt(e collect.Evidence, a traffic.Attempt) string {
	place, _ := evidence.Translated(e, a)
	return place
}

// translation is where the connections are translated that some prober made,
// or all where none is named.
func translation(e collect.Evidence, from ...string) string {
	service, node := translatedVia(e, false, from...), translatedVia(e, true, from...)
	switch {
	case service == node || node == "":
		return service
	case service == "":
		return node
	case service == severalPlaces || node == severalPlaces:
		return severalPlaces
	}
	return fmt.Sprintf("%s via ClusterIP, %s via NodePort", service, node)
}

// severalPlaces is that connections of one kind are not all translated alike.
const severalPlaces = onPackets + " and " + inSocket

// translatedVia is the same of those by one way to dial the Service.
func translatedVia(e collect.Evidence, nodePort bool, from ...string) string {
	var places []string
	for _, p := range e.Traffic {
		if (p.To == spec.ToNodePort) != nodePort || len(from) > 0 && !slices.Contains(from, p.From) {
			continue
		}
		for _, a := range p.Attempts {
			if at := translatedAt(e, a); at != "" {
				places = append(places, at)
			}
		}
	}
	return strings.Join(distinct(places), " and ")
}

// writeSockets tells where the socket says the address is translated.
func writeSockets(d *document, e collect.Evidence, expect spec.Translation) {
	d.heading(3, "Where the destination is translated")
	pods, outside := translation(e, spec.FromClient), translation(e, spec.FromHost)
	service, node := translatedVia(e, false, spec.FromClient), translatedVia(e, true)
	switch at := translation(e); {
	case at == inSocket:
		d.paragraph("The kernel's socket table does not hold the address that was dialled: connect(2) itself was translated, before there was a packet.%s", peers(e))
	case at == onPackets:
		d.paragraph("The kernel's socket table holds the address that was dialled: the destination is translated on the packets, below the socket, and the application cannot see it.")
	case pods == inSocket && outside == onPackets:
		d.paragraph("Where the client pod connected, the kernel's socket table does not hold the address that was dialled: connect(2) itself was translated, before there was a packet.%s The host's sockets hold the address that was dialled: no program on a node saw its connect(2), and the destination is translated on the packets.", peers(e))
	case service == inSocket && node == onPackets:
		d.paragraph("Where the client pod dialled the ClusterIP, the kernel's socket table does not hold that address: connect(2) itself was translated, before there was a packet.%s Sockets of connections to a node port hold the address that was dialled, the pod's as well: that destination is translated on the packets.", peers(e))
	case strings.Contains(at, inSocket):
		d.paragraph("Some sockets keep the address that was dialled, others have another one: the entry points are not translated in one place.")
	default:
		d.paragraph("No socket was read.")
	}
	head := []string{"Entry point", "Dialled", "getpeername(2)", "Kernel's remote address", "Connections"}
	asked := expect != spec.Translation{}
	if asked {
		head = append(head, "Translated at", "Expected")
	}
	letters := LettersOf(e.Objects)
	var rows [][]string
	for _, p := range e.Traffic {
		for _, v := range views(e, p) {
			remote := strings.TrimSpace(letters[v.kernel.Addr()] + " " + code(v.kernel.String()))
			row := []string{code(p.Name), code(v.dialled.String()), code(v.peername.String()), remote, strconv.Itoa(v.count)}
			if asked {
				row = append(row, cmp.Or(v.place, "neither")+recordedBy(e, p, v), dash(evidence.ExpectedTranslation(p.From, p.To, expect)))
			}
			rows = append(rows, row)
		}
	}
	d.table(head, rows)
}

// recordedBy says whose record the translation of packets is in, where a node has
// two trackers.
func recordedBy(e collect.Evidence, p collect.EntryPoint, v view) string {
	if v.place != onPackets || !hasPlane(e) {
		return ""
	}
	var by []string
	for _, s := range e.Kernel {
		for _, t := range s.Translations {
			if s.Node == p.EntryNode && t.Destination == v.dialled && t.Backend.IsValid() {
				by = append(by, escape(tracker(t.Tracker)))
			}
		}
	}
	if len(by) == 0 {
		return ""
	}
	return ", tracked by " + strings.Join(distinct(by), " and ")
}

// view is the three addresses of a connection and where they say that it was
// translated.
type view struct {
	dialled, peername, kernel netip.AddrPort
	place                     string
	count                     int
}

// views are those of an entry point, each with how many connections had it.
func views(e collect.Evidence, p collect.EntryPoint) []view {
	var all []view
	for _, a := range p.Attempts {
		if !a.KernelRemote.IsValid() {
			continue
		}
		v := view{a.DialedAddress, a.Peername, a.KernelRemote, translatedAt(e, a), 0}
		i := slices.IndexFunc(all, func(known view) bool {
			return known.dialled == v.dialled && known.peername == v.peername && known.kernel == v.kernel
		})
		if i < 0 {
			i = len(all)
			all = append(all, v)
		}
		all[i].count++
	}
	slices.SortFunc(all, func(a, b view) int {
		return cmp.Or(a.dialled.Compare(b.dialled), a.kernel.Compare(b.kernel), a.peername.Compare(b.peername))
	})
	return all
}

// peers says whether getpeername(2) hides the translation from applications.
func peers(e collect.Evidence) string {
	hidden, seen := true, true
	for _, p := range e.Traffic {
		for _, a := range p.Attempts {
			hidden = hidden && (!a.Peername.IsValid() || a.Peername == a.DialedAddress)
			seen = seen && (translatedAt(e, a) != inSocket || a.Peername == a.KernelRemote)
		}
	}
	switch {
	case hidden:
		return " The application cannot see it: getpeername(2) gives it the address it dialled."
	case seen:
		return " The application can see it: getpeername(2) gives it the backend's address."
	}
	return ""
}

// writeTranslations sums up connection tracking.
func writeTranslations(d *document, e collect.Evidence) {
	d.heading(3, "Connection tracking")
	several, byKernel := hasPlane(e), knows(e, collect.TrackedByKernel)
	text := "Tracked connections to the Service when the nodes were read, by what they were translated to."
	if byKernel || !several {
		text += " Each node tracks what passes it: a connection to a node port of another node stands on both, translated on the one that was dialled."
	}
	d.paragraph("%s Entries of finished connections expire.", text)
	head := []string{"Node", "Dialled", "Translated to", "Source", "Connections", "First of them"}
	if several {
		head = slices.Insert(head, 1, "Tracked by")
	}
	if hasAgents(e) {
		d.paragraph("Cilium tracks in a BPF map of its own. An entry of the direction SVC there is a connection as it was dialled; a connection that connect(2) has translated has none, since no packet carries the address dialled. How a source is masqueraded stands in another map.")
	}
	if hasCalico(e) && (felixTranslates(e.Mode) != collect.Disabled || knows(e, collect.TrackedByCalico)) {
		passed := ""
		if passedOn(e) {
			passed = " One whose backend is on another node than the one it entered stands on both: the first passes its packets on as they came, the second translates them."
		}
		d.paragraph("Calico tracks in a BPF map of its own. An entry of the type `nat` there is a connection as it was dialled; a connection that connect(2) has translated has none, since its packets carry the backend's address from the first.%s", passed)
	}
	if several && !byKernel && !unread(e) {
		d.paragraph("The kernel's own tracking, nf\\_conntrack, knows no connection to the Service on any node (%s).", link(collect.Ref{File: evidence.ConntrackFiles(e.Kernel[0].Node)[0]}))
	}
	letters := LettersOf(e.Objects)
	var rows [][]string
	for _, s := range e.Kernel {
		for _, t := range s.Translations {
			to, source := "not translated", "kept"
			if t.Backend.IsValid() {
				to = strings.TrimSpace(letters[t.Backend.Addr()] + " " + code(t.Backend.String()))
			}
			switch {
			case t.Masqueraded:
				source = "masqueraded"
			case t.Tracker == collect.TrackedByCilium:
				source = "not said"
			}
			row := []string{escape(s.Node), code(t.Destination.String()), to, source, strconv.Itoa(t.Count), link(t.Ref)}
			if several {
				row = slices.Insert(row, 1, escape(tracker(t.Tracker)))
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		d.paragraph("None on any node.")
	}
	d.table(head, rows)
}

// passedOn says whether Calico tracks some connection on two nodes.
func passedOn(e collect.Evidence) bool {
	type kind struct{ destination, backend netip.AddrPort }
	on := map[kind]string{}
	for _, s := range e.Kernel {
		for _, t := range s.Translations {
			k := kind{t.Destination, t.Backend}
			if t.Tracker != collect.TrackedByCalico {
				continue
			}
			if on[k] != "" && on[k] != s.Node {
				return true
			}
			on[k] = s.Node
		}
	}
	return false
}

// knows says whether a tracker knows any connection to the Service.
func knows(e collect.Evidence, tracker string) bool {
	return slices.ContainsFunc(e.Kernel, func(s collect.NodeState) bool {
		return slices.ContainsFunc(s.Translations, func(t collect.Translation) bool { return t.Tracker == tracker })
	})
}

// unread says whether a file of some node's own connection tracking could not
// be used.
func unread(e collect.Evidence) bool {
	return slices.ContainsFunc(e.Problems, func(p collect.Problem) bool {
		return slices.Contains(evidence.ConntrackFiles(p.Node), p.File)
	})
}

func tracker(name string) string {
	switch name {
	case collect.TrackedByKernel:
		return "nf_conntrack"
	case collect.TrackedByCilium:
		return "Cilium"
	case collect.TrackedByCalico:
		return "Calico"
	}
	return cmp.Or(name, "–")
}

// enteredElsewhere says whether an address that was dialled is another node's.
func enteredElsewhere(e collect.Evidence, node string, dialled netip.AddrPort) bool {
	at := nodeAt(e, dialled.Addr())
	return at != "" && at != node
}

// nodeAt is the role of the node that has an address; "" where none has it.
func nodeAt(e collect.Evidence, address netip.Addr) string {
	for _, n := range e.Nodes {
		if n.InternalIP == address || slices.Contains(n.Addresses, address) {
			return n.Role
		}
	}
	return ""
}

func isClusterIP(s collect.Service, address netip.AddrPort) bool {
	return s.ClusterIP.IsValid() && address == netip.AddrPortFrom(s.ClusterIP, s.Port)
}
