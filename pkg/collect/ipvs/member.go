package ipvs

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// setMember finds the element that a packet is in, for iptables' --match-set with
// fields such as "dst,dst,src": of what the set's type lists ("hash:ip,port,ip"),
// each is the packet's destination or source. known is false for a set that was
// not read, a type of another kind, and a source port, which a new connection
// may have any of.
func setMember(sets map[string]Set) func(string, string, walk.State) (*collect.Hop, bool, error) {
	return func(name, fields string, s walk.State) (*collect.Hop, bool, error) {
		set, made := sets[name]
		method, list, _ := strings.Cut(set.Type, ":")
		kinds, sides := strings.Split(list, ","), strings.Split(fields, ",")
		known := made && (method == "hash" || method == "bitmap") && len(kinds) == len(sides)
		for i, kind := range kinds {
			known = known && slices.Contains([]string{"ip", "net", "port"}, kind) &&
				(sides[i] == "dst" || sides[i] == "src" && kind != "port")
		}
		if !known {
			return nil, false, nil
		}
		for _, e := range set.Elements {
			hop := collect.Hop{Where: "set " + name, File: IPSetFile, Line: e.Line}
			in, ok := inElement(e, kinds, sides, s)
			switch {
			case !ok:
				return nil, true, walk.StopAt(hop, "this element of a set of type %s is not understood", set.Type)
			case in:
				return &hop, true, nil
			}
		}
		return nil, true, nil
	}
}

// inElement compares each part of an element; false where it is not understood,
// and for one with options of its own, such as "nomatch".
func inElement(e Element, kinds, sides []string, s walk.State) (in, ok bool) {
	parts := strings.Split(e.Text, ",")
	if len(parts) != len(kinds) || len(strings.Fields(e.Line.Text)) != 3 {
		return false, false
	}
	in = true
	for i, part := range parts {
		address := s.Destination.Addr()
		if sides[i] == "src" {
			address = s.Packet.Source
		}
		var fits bool
		switch kinds[i] {
		case "port":
			fits, ok = isPort(part, s)
		default:
			fits, ok = covers(part, address)
		}
		if !ok {
			return false, false
		}
		in = in && fits
	}
	return in, true
}

// isPort reads "tcp:80" and, of a bitmap, "80".
func isPort(text string, s walk.State) (fits, ok bool) {
	protocol, number, named := strings.Cut(text, ":")
	if !named {
		number = protocol
	}
	port, err := strconv.ParseUint(number, 10, 16)
	return uint16(port) == s.Destination.Port() && (!named || strings.ToUpper(protocol) == s.Packet.Protocol), err == nil
}

func covers(text string, address netip.Addr) (fits, ok bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a == address, true
	}
	p, err := netip.ParsePrefix(text)
	return err == nil && p.Contains(address), err == nil
}
