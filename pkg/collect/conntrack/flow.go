package conntrack

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// Flow is one tracked connection.
type Flow struct {
	// Protocol as printed: "tcp", "udp", "icmp", …
	Protocol string
	// TimeoutSeconds until the entry expires; 0 where the line has none, as of
	// an offloaded flow.
	TimeoutSeconds uint32
	// State is the protocol's own ("ESTABLISHED"); "" for one without states.
	State string
	// Original is what the first packet carried, Reply what an answer carries
	// before it is translated back.
	Original, Reply Tuple
	// Unreplied: no answer was seen. Assured: the entry survives a full table.
	Unreplied, Assured bool
	Mark               uint32
	// Other holds the words of the line not read above, as they came: counters,
	// zones, ids, ICMP types, offload.
	Other []string
	Line  collect.Line
}

// Tuple is one direction of a flow; the port is 0 in a protocol without ports.
type Tuple struct {
	Source, Destination netip.AddrPort
}

// DNAT says where the destination was translated to; false if it was not.
func (f Flow) DNAT() (backend netip.AddrPort, translated bool) {
	if f.Reply.Source == f.Original.Destination {
		return netip.AddrPort{}, false
	}
	return f.Reply.Source, true
}

// SNAT says what the source was translated to; false if it was not. A changed
// port alone is a translation.
func (f Flow) SNAT() (source netip.AddrPort, translated bool) {
	if f.Reply.Destination == f.Original.Source {
		return netip.AddrPort{}, false
	}
	return f.Reply.Destination, true
}

// Decode reads the output of `conntrack -L`, with or without `-o extended`, as
// libnetfilter_conntrack 1.0.9 prints it (src/conntrack/snprintf_default.c). No
// output is no flows. An error names the line that is none.
func Decode(raw []byte) ([]Flow, error) {
	var flows []Flow
	number := 0
	for text := range strings.Lines(string(raw)) {
		number++
		line := collect.Line{Number: number, Text: strings.TrimSuffix(text, "\n")}
		flow, err := parseFlow(strings.Fields(line.Text))
		if err != nil {
			return nil, fmt.Errorf("conntrack line %d: %q: %w", number, line.Text, err)
		}
		flow.Line = line
		flows = append(flows, flow)
	}
	return flows, nil
}

func parseFlow(words []string) (Flow, error) {
	if len(words) > 0 && (words[0] == "ipv4" || words[0] == "ipv6") {
		words = words[min(len(words), 2):] // the addresses tell the family
	}
	if len(words) < 3 {
		return Flow{}, errors.New("not a flow")
	}
	flow := Flow{Protocol: words[0]}
	if _, err := strconv.ParseUint(words[1], 10, 8); err != nil {
		return Flow{}, fmt.Errorf("protocol number: %w", err)
	}
	words = words[2:]
	if timeout, err := strconv.ParseUint(words[0], 10, 32); err == nil {
		flow.TimeoutSeconds = uint32(timeout)
		words = words[1:]
	}
	if len(words) > 0 && !strings.ContainsAny(words[0], "=[") {
		flow.State = words[0]
		words = words[1:]
	}
	var tuples tuples
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "src", "dst", "sport", "dport":
			err = tuples.add(key, value)
		case "mark":
			var mark uint64
			mark, err = strconv.ParseUint(value, 10, 32)
			flow.Mark = uint32(mark)
		case "[ASSURED]":
			flow.Assured = true
		case "[UNREPLIED]":
			flow.Unreplied = true
		default:
			flow.Other = append(flow.Other, word)
		}
		if err != nil {
			return Flow{}, fmt.Errorf("%s: %w", word, err)
		}
	}
	var err error
	flow.Original, flow.Reply, err = tuples.both()
	return flow, err
}

// tuples gathers the two directions of a line. Each is src, dst and the ports,
// and a second src begins the reply.
type tuples struct {
	source, destination [2]netip.Addr
	sport, dport        [2]uint16
	begun               int
}

func (t *tuples) add(key, value string) error {
	if key == "src" {
		t.begun++
	}
	if t.begun < 1 || t.begun > 2 {
		return errors.New("outside of the two directions")
	}
	i := t.begun - 1
	var err error
	switch key {
	case "src":
		t.source[i], err = netip.ParseAddr(value)
	case "dst":
		t.destination[i], err = netip.ParseAddr(value)
	case "sport":
		t.sport[i], err = parsePort(value)
	case "dport":
		t.dport[i], err = parsePort(value)
	}
	return err
}

func (t *tuples) both() (original, reply Tuple, err error) {
	for i, tuple := range []*Tuple{&original, &reply} {
		if !t.source[i].IsValid() || !t.destination[i].IsValid() {
			return Tuple{}, Tuple{}, errors.New("want two directions, each with src and dst")
		}
		tuple.Source = netip.AddrPortFrom(t.source[i], t.sport[i])
		tuple.Destination = netip.AddrPortFrom(t.destination[i], t.dport[i])
	}
	return original, reply, nil
}

func parsePort(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	return uint16(port), err
}
