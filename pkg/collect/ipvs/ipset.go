package ipvs

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// Set is an ip set as `ipset save` prints it.
type Set struct {
	Name string
	// Type is "hash:ip,port", "bitmap:port", …
	Type string
	// Elements in the order of the file, which the hash decides.
	Elements []Element
	Line     collect.Line
}

// Element is one entry of a set.
type Element struct {
	// Text is the entry without its options: "10.96.0.1,tcp:443".
	Text string
	Line collect.Line
}

// Sets parses the output of `ipset save` (ipset 7), by name. It reads no set's
// elements: their form depends on the type.
func Sets(raw []byte) (map[string]Set, error) {
	sets := map[string]Set{}
	for line := range lines(raw) {
		fields := strings.Fields(line.Text)
		if len(fields) < 3 {
			return nil, lineError(IPSetFile, line, errors.New(`neither "create" nor "add"`))
		}
		set, made := sets[fields[1]]
		switch {
		case fields[0] == "create" && !made:
			set = Set{Name: fields[1], Type: fields[2], Line: line}
		case fields[0] == "create":
			return nil, lineError(IPSetFile, line, errors.New("the set was created above"))
		case fields[0] == "add" && made:
			set.Elements = append(set.Elements, Element{Text: fields[2], Line: line})
		case fields[0] == "add":
			return nil, lineError(IPSetFile, line, errors.New("the set was not created above"))
		default:
			return nil, lineError(IPSetFile, line, errors.New(`neither "create" nor "add"`))
		}
		sets[set.Name] = set
	}
	return sets, nil
}

// member is what a set of frontends holds: an address, port and protocol, or
// the port alone.
type member struct {
	address  netip.Addr
	port     uint16
	protocol string
}

// members reads the elements of a set of type hash:ip,port or bitmap:port.
func (s Set) members() (map[member]bool, error) {
	all := make(map[member]bool, len(s.Elements))
	for _, element := range s.Elements {
		m, err := parseMember(s.Type, element.Text)
		if err != nil {
			return nil, lineError(IPSetFile, element.Line, err)
		}
		all[m] = true
	}
	return all, nil
}

func parseMember(setType, text string) (member, error) {
	var m member
	portText := text
	switch setType {
	case "bitmap:port":
	case "hash:ip,port":
		address, rest, _ := strings.Cut(text, ",")
		protocol, port, ok := strings.Cut(rest, ":")
		if !ok {
			return member{}, errors.New("want an element like 10.96.0.1,tcp:443")
		}
		var err error
		if m.address, err = netip.ParseAddr(address); err != nil {
			return member{}, err
		}
		m.protocol, portText = strings.ToUpper(protocol), port
	default:
		return member{}, fmt.Errorf("kube-proxy's set has the type %q", setType)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return member{}, fmt.Errorf("port: %w", err)
	}
	m.port = uint16(port)
	return m, nil
}
