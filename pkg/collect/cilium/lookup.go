package cilium

import (
	"fmt"
	"net/netip"
	"slices"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// walker looks rows up by their key; unlike services it judges none that it does
// not meet.
type walker struct {
	rows map[key][]row
	// counters are the rows of the Frontends dump; nil without one.
	counters map[key][]row
	// strange is the first row whose key is not understood.
	strange   *collect.Hop
	status    Status
	reader    reader
	hostOnly  bool
	selection collect.Selection
}

func newWalker(raw Raw) (*walker, error) {
	w := &walker{reader: newReader(StatusFile, raw.Status)}
	var err error
	if w.status, err = DecodeStatus(raw.Status); err != nil {
		return nil, err
	}
	if w.hostOnly, _ = w.reader.flag("kube-proxy-replacement", "features", "bpfSocketLBHostnsOnly"); w.reader.err != nil {
		return nil, w.reader.err
	}
	if w.rows, err = w.byKey(LBFile, raw.LB); err != nil {
		return nil, err
	}
	if len(raw.Frontends) > 0 {
		w.counters, err = w.byKey(FrontendsFile, raw.Frontends)
	}
	return w, err
}

func (w *walker) byKey(file string, raw []byte) (map[key][]row, error) {
	rows, err := readRows(file, raw)
	if err != nil {
		return nil, err
	}
	found := map[key][]row{}
	for _, r := range rows {
		k, ok := parseKey(r.key)
		if !ok && w.strange == nil {
			w.strange = &collect.Hop{Where: "services map", File: file, Line: r.line}
		}
		if ok {
			found[k] = append(found[k], r)
		}
	}
	return found, nil
}

func (k key) String() string {
	scope := ""
	if k.internal {
		scope = "/i"
	}
	return fmt.Sprintf("%s/%s%s (%d)", netip.AddrPortFrom(k.addr, k.port), k.protocol, scope, k.slot)
}

// row is the one row of a key; false where there is none.
func (w *walker) row(file string, rows map[key][]row, k key) (row, collect.Hop, bool, error) {
	found := rows[k]
	if len(found) == 0 {
		return row{}, collect.Hop{}, false, nil
	}
	hop := collect.Hop{Where: "services map " + k.String(), File: file, Line: found[len(found)-1].line}
	if len(found) > 1 {
		return row{}, hop, false, walk.StopAt(hop, "a second row of one key")
	}
	return found[0], hop, true, nil
}

// frontend finds slot 0 of a connection's frontend (lb4_lookup_service, then
// sock4_wildcard_lookup_full or lb4_lookup_wildcard_service).
func (w *walker) frontend(p collect.Packet, how path) (m master, at key, hop collect.Hop, found bool, err error) {
	if w.strange != nil {
		return m, at, hop, false, walk.StopAt(*w.strange, "not a key of the services map, and may be the one that is looked for")
	}
	exact := address{p.Destination.Addr(), p.Destination.Port(), p.Protocol, false}
	if m, at, hop, found, err = w.scoped(exact, how.inside); found || err != nil {
		return m, at, hop, found, err
	}
	if !how.inside {
		anyPort := key{address: address{addr: exact.addr, protocol: "ANY"}}
		if _, hop, found, err = w.row(LBFile, w.rows, anyPort); found || err != nil {
			return m, anyPort, hop, found, err
		}
	}
	if !how.wildcard || !(p.IsNode(exact.addr) || p.Origin == collect.FromProcess && exact.addr.IsLoopback()) {
		return m, at, hop, false, nil
	}
	low, high := w.ports()
	exact.addr = zero(exact.addr)
	m, at, hop, found, err = w.scoped(exact, true)
	if found && (uint64(exact.port) < low || uint64(exact.port) > high) && m.flags[0] == "NodePort" {
		found = false
	}
	return m, at, hop, found, err
}

func zero(addr netip.Addr) netip.Addr {
	if addr.Is6() {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// scoped is slot 0 of a frontend, of the inner scope where there are two and the
// look-up is from inside.
func (w *walker) scoped(at address, inside bool) (master, key, collect.Hop, bool, error) {
	k := key{address: at}
	r, hop, ok, err := w.row(LBFile, w.rows, k)
	if !ok || err != nil {
		return master{}, k, hop, false, err
	}
	m, ok := parseMaster(r.entry)
	switch {
	case !ok:
		return m, k, hop, false, walk.StopAt(hop, "not the row of a frontend")
	case inside && !at.internal && slices.Contains(m.flags, "two-scopes"):
		at.internal = true
		return w.scoped(at, inside)
	}
	return m, k, hop, true, nil
}

// lookup sends a connection to the backends of its frontend.
func (w *walker) lookup(m *walk.Machine, s walk.State, how path) ([]walk.State, error) {
	frontend, k, hop, found, err := w.frontend(s.Packet, how)
	if err != nil || !found {
		return []walk.State{s}, err
	}
	hop.Probability, hop.Note = s.Share, "looked up at "+how.place
	if k.wildcard() {
		return nil, unknownPort(m, s, how, hop)
	}
	refusal, err := w.judge(k, frontend, how, s.Packet)
	if err != nil {
		return nil, walk.StopAt(hop, "%v", err)
	}
	if slices.Contains(frontend.flags, flagAffinity) {
		hop.Note += "; session affinity: a new client has no backend yet, one that has keeps it"
	}
	if refusal != "" {
		return nil, ended(m, s, collect.Dropped, hop, refusal)
	}
	n, counted, err := w.count(k, hop)
	switch {
	case err != nil:
		return nil, err
	case n.active == 0 && how.place == atConnect:
		return nil, ended(m, s, collect.Rejected, hop, "no backend, connect() fails with EHOSTUNREACH")
	case n.active == 0:
		return nil, ended(m, s, collect.NoBackend, hop, "service-no-backend-response decides what the client is told")
	}
	w.selection = collect.SelectRandom
	if !how.inside {
		var ok bool
		if w.selection, ok = selection(k.address, collect.FrontendKind(frontend.flags[0]), frontend.flags, w.status.Algorithm, n); !ok {
			return nil, walk.StopAt(hop, "algorithm %d is not known", n.algorithm())
		}
	}
	m.Hops = append(m.Hops, hop)
	if counted != nil {
		m.Hops = append(m.Hops, *counted)
	}
	return w.slots(m, s, k, frontend, n)
}

// unknownPort is what the row of a Service address for its unknown ports does.
func unknownPort(m *walk.Machine, s walk.State, how path, hop collect.Hop) error {
	fate := collect.NoBackend
	if how.place == atDevice {
		fate = collect.Dropped
	}
	return ended(m, s, fate, hop, "not a port of this Service")
}

func ended(m *walk.Machine, s walk.State, fate collect.Fate, hop collect.Hop, why string) error {
	hop.Note += ": " + why
	m.Hops = append(m.Hops, hop)
	m.Endings = append(m.Endings, collect.Ending{Probability: s.Share, Fate: fate, By: hop})
	return nil
}
