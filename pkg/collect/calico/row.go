package calico

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// row is a row of the frontend map, followed by the backends of its number. Rows
// of one number are the frontends of one Service port.
type row struct {
	address
	// source is who may use the row; invalid for everybody.
	source netip.Prefix
	id     uint32
	// count of backends; blackhole for a row that drops.
	count int64
	// local is how many of them, in front of the others, run on this node.
	local uint32
	flags []string
	slots []slot
	line  collect.Line
}

// blackhole is the count of a row that drops: nat dump prints BlackHoleCount
// (felix/bpf/nat/maps.go) so.
const blackhole = -1

// address names a frontend.
type address struct {
	addr     netip.Addr
	port     uint16
	protocol string
}

// slot is one backend of a row; the zero AddrPort where the backend map has none
// for the ordinal.
type slot struct {
	netip.AddrPort
	line collect.Line
}

// fields are a row's as both forms print them (Calico v3.31.7,
// felix/cmd/calico-bpf/commands/nat.go).
type fields struct {
	Addr   string `json:"addr"`
	Port   uint16 `json:"port"`
	Proto  uint8  `json:"proto"`
	Source string `json:"src_cidr"`
	ID     uint32 `json:"id"`
	Count  int64  `json:"count"`
	Local  uint32 `json:"local"`
	Flags  string `json:"flags"`
}

// String is the row of the text form.
func (f fields) String() string {
	text := fmt.Sprintf("%s port %d proto %d id %d count %d local %d", f.Addr, f.Port, f.Proto, f.ID, f.Count, f.Local)
	if f.Flags != "" {
		text += " flags " + f.Flags
	}
	if f.Source != "" {
		text += " src " + f.Source
	}
	return text
}

// row makes the row; line gets the text of the text form.
func (f fields) row(number int) (row, error) {
	r := row{
		address: address{port: f.Port, protocol: protocolName(f.Proto)},
		id:      f.ID,
		count:   f.Count,
		local:   f.Local,
		line:    collect.Line{Number: number, Text: f.String()},
	}
	var err error
	if r.addr, err = parseAddr(f.Addr); err != nil {
		return row{}, err
	}
	if f.Source != "" {
		if r.source, err = netip.ParsePrefix(f.Source); err != nil {
			return row{}, err
		}
	}
	if f.Count < blackhole {
		return row{}, fmt.Errorf("count %d", f.Count)
	}
	if f.Flags != "" {
		r.flags = strings.Split(f.Flags, ", ")
	}
	return r, nil
}

// slotText is the row of a backend in the text form, with one space for its tabs.
func slotText(id uint32, ordinal int, what string) string {
	return fmt.Sprintf("%d:%d %s", id, ordinal, what)
}

// missing is what the text form says of an ordinal that the backend map lacks.
const missing = "is missing"

func (r row) has(flag string) bool { return slices.Contains(r.flags, flag) }

// lines are the row's and its backends'.
func (r row) lines() []collect.Line {
	lines := []collect.Line{r.line}
	for _, s := range r.slots {
		lines = append(lines, s.line)
	}
	return lines
}

// protocolName is "" for a protocol no Service has.
func protocolName(number uint8) string {
	switch number {
	case 6:
		return "TCP"
	case 17:
		return "UDP"
	case 132:
		return "SCTP"
	}
	return ""
}

func parseAddr(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err == nil && addr.Zone() != "" {
		err = fmt.Errorf("address %q has a zone", text)
	}
	return addr, err
}

// parseAddrPort takes IPv6 in brackets.
func parseAddrPort(text string) (netip.AddrPort, error) {
	at, err := netip.ParseAddrPort(text)
	if err == nil && at.Addr().Zone() != "" {
		err = fmt.Errorf("address %q has a zone", text)
	}
	return at, err
}

func joinHostPort(addr string, port uint16) string {
	return net.JoinHostPort(addr, strconv.FormatUint(uint64(port), 10))
}

// unparsed gathers lines with the reason they are not in the table.
type unparsed []collect.Line

func (u *unparsed) add(line collect.Line, reason string) {
	line.Text += " # " + reason
	*u = append(*u, line)
}

func (u unparsed) sorted() []collect.Line {
	slices.SortStableFunc(u, func(a, b collect.Line) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Text, b.Text))
	})
	return u
}
