package cilium

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// Flow is one entry of Cilium's connection tracking. It has none for a
// connection that socket LB translated: the address dialled is in no packet.
type Flow struct {
	// Protocol as printed: "TCP", "UDP", "ICMP", "SCTP", …
	Protocol string
	// Direction is "SVC" for a connection to a frontend, before it is
	// translated; "OUT" and "IN" for one that leaves or enters an endpoint or the
	// node.
	Direction string
	// Source and Destination as the first packet has them; port 0 in a protocol
	// without ports. Destination of an SVC flow is the frontend.
	Source, Destination netip.AddrPort
	// RevNAT is the frontend's number, 0 where none is meant.
	RevNAT uint32
	// BackendID is the backend an SVC flow goes to, see BackendAddresses; 0 for
	// the other directions, whose entries hold another value in its place.
	BackendID uint32
	// Flags in the order of the line ("SeenNonSyn", "NodePort", …), and "related"
	// first for an ICMP error about another flow.
	Flags []string
	Line  collect.Line
}

// DecodeConntrack reads the output of `cilium-dbg bpf ct list global` (Cilium
// 1.20.2, pkg/maps/ctmap/types.go): a line a flow and a blank line a map. No
// output is no flows. An error names the line that is none.
func DecodeConntrack(raw []byte) ([]Flow, error) {
	var flows []Flow
	number := 0
	for text := range strings.Lines(string(raw)) {
		number++
		text = strings.TrimRight(text, " \r\n")
		if text == "" {
			continue
		}
		flow, err := parseFlow(strings.Fields(text))
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %q: %w", ConntrackFile, number, text, err)
		}
		flow.Line = collect.Line{Number: number, Text: text}
		flows = append(flows, flow)
	}
	return flows, nil
}

func parseFlow(words []string) (Flow, error) {
	if len(words) < 5 || words[3] != "->" {
		return Flow{}, errors.New("want protocol, direction, source, -> and destination")
	}
	flow := Flow{Protocol: words[0], Direction: words[1]}
	if !slices.Contains([]string{"SVC", "OUT", "IN"}, flow.Direction) {
		return Flow{}, fmt.Errorf("%s is not a direction", flow.Direction)
	}
	var ok [2]bool
	flow.Source, ok[0] = parseBarePort(words[2])
	flow.Destination, ok[1] = parseBarePort(words[4])
	if !ok[0] || !ok[1] {
		return Flow{}, errors.New("not an address and port on both sides")
	}
	words = words[5:]
	if len(words) > 0 && words[0] == "related" {
		flow.Flags = append(flow.Flags, words[0])
		words = words[1:]
	}
	values := map[string]string{}
	for len(words) > 0 {
		name, value, found := strings.Cut(words[0], "=")
		if _, again := values[name]; !found || again {
			return Flow{}, fmt.Errorf("%s: not a new name=value", words[0])
		}
		values[name] = value
		words = words[1:]
		if name == "Flags" {
			closing := slices.Index(words, "]")
			if closing < 1 || words[0] != "[" {
				return Flow{}, errors.New("no [ flags ]")
			}
			flow.Flags = append(flow.Flags, words[1:closing]...)
			words = words[closing+1:]
		}
	}
	return flow, flow.number(values)
}

func (f *Flow) number(values map[string]string) error {
	if _, ok := values["Flags"]; !ok {
		return errors.New("no Flags")
	}
	revNAT, err := strconv.ParseUint(values["RevNAT"], 10, 16)
	if err != nil {
		return fmt.Errorf("RevNAT: %w", err)
	}
	backend, err := strconv.ParseUint(values["BackendID"], 10, 64)
	if err != nil {
		return fmt.Errorf("BackendID: %w", err)
	}
	f.RevNAT = uint32(revNAT)
	if f.Direction != "SVC" {
		// struct ct_entry keeps the lower half of a translated source there.
		return nil
	}
	if backend > math.MaxUint32 {
		return fmt.Errorf("BackendID: %d is above 32 bits", backend)
	}
	f.BackendID = uint32(backend)
	return nil
}

// parseBarePort reads ADDRESS:PORT, where IPv6 has no brackets.
func parseBarePort(text string) (netip.AddrPort, bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return netip.AddrPort{}, false
	}
	return parseAddrPort(text[:colon], text[colon+1:])
}
