package iptables

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// answer of a clause about a packet.
type answer int

const (
	fails answer = iota
	holds
	untold // by the evidence
)

func truth(b bool) answer {
	if b {
		return holds
	}
	return fails
}

// matched is what the clauses of a rule say together.
type matched struct {
	answer
	part    collect.Share // of the packets, where it does not fail
	unknown []string
	notes   []string
	quotes  []collect.Hop
	// stranger is a client that a list of the match recent does not have.
	stranger string
}

// match asks every clause: one that is certain not to match decides, whatever the
// others ask for.
func (w *walker) match(s walk.State, clauses []clause) (matched, error) {
	m := matched{answer: holds, part: collect.Whole()}
	for _, c := range clauses {
		v, err := w.clause(s, c, &m)
		if err != nil {
			return m, err
		}
		if c.not && v != untold {
			v = truth(v == fails)
		}
		switch v {
		case fails:
			return matched{answer: fails}, nil
		case untold:
			m.answer = untold
			m.unknown = append(m.unknown, c.String())
		}
	}
	return m, nil
}

func (c clause) String() string {
	text := strings.Join(append([]string{c.option}, c.values...), " ")
	if c.not {
		text = "! " + text
	}
	return text
}

// clause asks one condition about the first packet of a connection. What is not
// known at all is unknown: a match can only hold or not.
func (w *walker) clause(s walk.State, c clause, m *matched) (answer, error) {
	value := ""
	if len(c.values) > 0 {
		value = c.values[0]
	}
	switch c.option {
	case "-s":
		return within(value, s.Packet.Source)
	case "-d":
		return within(value, s.Destination.Addr())
	case "-p":
		return isProtocol(value, s.Packet.Protocol), nil
	case "--dport":
		return inPorts(value, s.Destination.Port())
	case "--src-type":
		return w.addressType(value, s, s.Packet.Source)
	case "--dst-type":
		return w.addressType(value, s, s.Destination.Addr())
	case "--mark":
		return marked(value, s.Mark)
	case "--ctstate":
		return inState(value, s)
	case "--match-set":
		return w.inSet(s, c, m)
	case "--mode", "--probability":
		return statistic(c, m)
	case "--rcheck", "--update":
		if c.not {
			return fails, nil
		}
		m.stranger = "session affinity: a new client is not on the list; one that is goes this way"
		return holds, nil
	case "--set":
		m.notes = append(m.notes, "session affinity: the client is put on the list")
		return holds, nil
	case "-c", "--comment", "--nfacct-name", "--seconds", "--reap", "--name", "--mask", "--rsource":
		return holds, nil
	}
	return untold, nil
}

func within(prefix string, address netip.Addr) (answer, error) {
	p, err := netip.ParsePrefix(prefix)
	if err != nil {
		return fails, walk.Stopf("%q is not an address with the length of its prefix", prefix)
	}
	return truth(p.Contains(address)), nil
}

func isProtocol(name, protocol string) answer {
	numbers := map[string]string{"6": "TCP", "17": "UDP", "132": "SCTP"}
	return truth(name == "all" || name == "0" || strings.ToUpper(name) == protocol || numbers[name] == protocol)
}

// inPorts reads "80" and "1024:65535".
func inPorts(text string, port uint16) (answer, error) {
	low, high, ranged := strings.Cut(text, ":")
	if !ranged {
		high = low
	}
	from, err := strconv.ParseUint(low, 10, 16)
	to, highErr := strconv.ParseUint(high, 10, 16)
	if err != nil || highErr != nil {
		return fails, walk.Stopf("%q is not a port", text)
	}
	return truth(uint64(port) >= from && uint64(port) <= to), nil
}

func (w *walker) addressType(kind string, s walk.State, address netip.Addr) (answer, error) {
	if kind != "LOCAL" {
		return untold, nil
	}
	return truth(s.Packet.IsLocal(address)), nil
}

// marked reads "0x4000/0x4000"; without a mask all bits count.
func marked(text string, mark uint32) (answer, error) {
	value, mask, err := masked(text)
	return truth(mark&mask == value), err
}

func masked(text string) (value, mask uint32, err error) {
	first, second, both := strings.Cut(text, "/")
	if !both {
		second = "0xffffffff"
	}
	v, err := strconv.ParseUint(first, 0, 32)
	m, maskErr := strconv.ParseUint(second, 0, 32)
	if err != nil || maskErr != nil {
		return 0, 0, walk.Stopf("%q is not a mark with its mask", text)
	}
	return uint32(v), uint32(m), nil
}

// inState reads "RELATED,ESTABLISHED,DNAT". A first packet is NEW, and DNAT as well
// once it is translated (xt_conntrack.c).
func inState(list string, s walk.State) (answer, error) {
	known := []string{"NEW", "INVALID", "ESTABLISHED", "RELATED", "UNTRACKED", "SNAT", "DNAT"}
	in := false
	for _, state := range strings.Split(list, ",") {
		if !slices.Contains(known, state) {
			return fails, walk.Stopf("%q is not a state of a connection", state)
		}
		in = in || state == "NEW" || state == "DNAT" && s.Translated
	}
	return truth(in), nil
}

// statistic takes a part of the packets.
func statistic(c clause, m *matched) (answer, error) {
	if c.option == "--mode" {
		if c.values[0] != "random" || c.not {
			return untold, nil
		}
		return holds, nil
	}
	p, err := strconv.ParseFloat(c.values[0], 64)
	part, ok := collect.StatisticShare(p)
	if err != nil || !ok || c.not {
		return fails, walk.Stopf("%s is not a probability", c)
	}
	m.part = m.part.Times(part)
	return holds, nil
}

// inSet asks a set of ipset, where they were read.
func (w *walker) inSet(s walk.State, c clause, m *matched) (answer, error) {
	if w.sets == nil {
		return untold, nil
	}
	element, known, err := w.sets(c.values[0], c.values[1], s)
	switch {
	case err != nil:
		return fails, err
	case !known:
		return untold, nil
	case element != nil && !c.not:
		m.quotes = append(m.quotes, *element)
	}
	return truth(element != nil), nil
}

// note joins what there is to say of a rule.
func (m matched) note() string { return strings.Join(m.notes, "; ") }

func (m matched) asks() string { return fmt.Sprintf("%q", strings.Join(m.unknown, " ")) }
