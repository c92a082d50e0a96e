package calico

import (
	"fmt"
	"net/netip"
	"time"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// Affinity is one entry of the affinity map: a client that keeps its backend. The
// map is asked before the backends are, and does not ask whether its backend is
// still one; Felix deletes such entries when it next writes the NAT maps.
type Affinity struct {
	// Client is 0.0.0.0, in IPv6 ::, for all processes whose connect() is
	// translated on the node: they share one backend (felix/bpf-gpl/connect.h).
	Client   netip.Addr
	Protocol string
	// Frontend that was dialled, which for a NodePort of another node has no row
	// of its own.
	Frontend netip.AddrPort
	Backend  netip.AddrPort
	// SinceBoot is when the entry was made, for an unconnected UDP socket last used,
	// counted from the boot of the node.
	SinceBoot time.Duration
	Line      collect.Line
}

// DecodeAffinity reads the output of `calico-node -bpf nat aff --json` (Calico
// v3.31.7, felix/cmd/calico-bpf/commands/nat.go, affinityEntryJSON; versions before
// it print text there). No entries are an empty array. An error names the line.
func DecodeAffinity(raw []byte) ([]Affinity, error) {
	whole, err := parseJSON(AffinityFile, raw)
	if err != nil {
		return nil, err
	}
	elements, err := whole.ElementsOrNull()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", AffinityFile, err)
	}
	var entries []Affinity
	for _, element := range elements {
		entry, err := parseAffinity(element)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", AffinityFile, err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func parseAffinity(element jsonlines.Value) (Affinity, error) {
	var e struct {
		Client    string  `json:"client_ip"`
		Proto     uint8   `json:"proto"`
		Addr      string  `json:"addr"`
		Port      uint16  `json:"port"`
		Backend   backend `json:"backend"`
		Timestamp string  `json:"timestamp"`
	}
	if err := element.Decode(&e); err != nil {
		return Affinity{}, err
	}
	frontend, backend := joinHostPort(e.Addr, e.Port), joinHostPort(e.Backend.Addr, e.Backend.Port)
	entry := Affinity{
		Protocol: protocolName(e.Proto),
		Line: collect.Line{
			Number: element.LineOf("client_ip"),
			Text:   fmt.Sprintf("client %s svc proto %d %s -> %s ts %s", e.Client, e.Proto, frontend, backend, e.Timestamp),
		},
	}
	if entry.Protocol == "" {
		return Affinity{}, element.Errorf("protocol %d is none of a Service", e.Proto)
	}
	var err error
	if entry.Client, err = parseAddr(e.Client); err != nil {
		return Affinity{}, element.Errorf("client: %w", err)
	}
	if entry.Frontend, err = parseAddrPort(frontend); err != nil {
		return Affinity{}, element.Errorf("frontend: %w", err)
	}
	if entry.Backend, err = parseAddrPort(backend); err != nil {
		return Affinity{}, element.Errorf("backend: %w", err)
	}
	if entry.SinceBoot, err = time.ParseDuration(e.Timestamp); err != nil {
		return Affinity{}, element.Errorf("timestamp: %w", err)
	}
	return entry, nil
}

// proves says that the frontend has session affinity. Unconnected UDP sockets get
// entries without it, so that their datagrams stay with one backend.
func (a Affinity) proves() bool {
	return a.Protocol != "UDP" || !a.Client.IsUnspecified()
}

// compareAffinity reports the frontends whose affinity somebody has met, and the
// entries that lead elsewhere than their frontend. The dumps are taken one after the
// other, so a difference can also be a change in between.
func compareAffinity(rows []row, entries []Affinity, rest *unparsed) {
	met := map[uint32]bool{}
	for _, entry := range entries {
		// The table's numbers are lines of the other file.
		line := collect.Line{Text: fmt.Sprintf("%s: %s", AffinityFile, entry.Line)}
		frontends := entry.frontends(rows)
		if len(frontends) == 0 {
			rest.add(line, "no such frontend")
			continue
		}
		known := false
		for _, r := range frontends {
			met[r.id] = met[r.id] || entry.proves()
			for _, s := range r.slots {
				known = known || s.AddrPort == entry.Backend
			}
		}
		if !known {
			rest.add(line, "not a backend of its frontend: the client is sent there until the entry goes")
		}
	}
	for _, r := range rows {
		if met[r.id] {
			rest.add(r.line, "the time of session affinity is not known")
		}
	}
}

// frontends are the rows of the entry's frontend, or the wildcard's. A dump is of one
// address family.
func (a Affinity) frontends(rows []row) []row {
	var exact, wildcard []row
	for _, r := range rows {
		switch {
		case r.port != a.Frontend.Port() || r.protocol != a.Protocol:
		case r.addr == a.Frontend.Addr():
			exact = append(exact, r)
		case isWildcard(r.addr):
			wildcard = append(wildcard, r)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return wildcard
}
