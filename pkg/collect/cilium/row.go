package cilium

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// address names a frontend in the services map.
type address struct {
	addr     netip.Addr
	port     uint16
	protocol string
	// internal is the lookup scope of connections from inside the node ("/i").
	internal bool
}

// key is a key of the services map: slot 0 is the frontend itself, the slots
// above it hold a backend each.
type key struct {
	address
	slot uint16
}

// master is slot 0 as `bpf lb list` prints it.
type master struct {
	revNAT uint16
	flags  []string
}

// backend is another slot as `bpf lb list` prints it.
type backend struct {
	netip.AddrPort
	protocol string
	revNAT   uint16
	slot     uint16
}

// counters is a slot as `bpf lb list --frontends` prints it. id is the backend's
// ID; in slot 0 it holds the seconds of session affinity in the lower 24 bits and
// the algorithm a Service asks for by annotation above them. active and others
// are 0 but in slot 0: backends for new connections, and the rest.
type counters struct {
	id             uint32
	active, others uint16
	revNAT         uint16
}

// row is one entry of a dump of the services map.
type row struct {
	key   string
	entry string
	line  collect.Line
}

// The forms of Cilium 1.20.2: pkg/loadbalancer/maps/types.go (String of
// Service4Key, Service6Key, Service4Value) and cilium-dbg/cmd/bpf_lb_list.go.
var (
	keyForm      = regexp.MustCompile(`^(\S+):(\d+)/([A-Za-z0-9]+)(/i)? \((\d+)\)$`)
	masterForm   = regexp.MustCompile(`^(?:0\.0\.0\.0|\[::\]):0 \((\d+)\) \(0\) \[([^\]]*)\] ?(?:\(L7LB Proxy Port: \d+\))?$`)
	backendForm  = regexp.MustCompile(`^(\S+):(\d+)/([A-Za-z0-9]+) \((\d+)\) \((\d+)\)$`)
	countersForm = regexp.MustCompile(`^(\d+) (\d+)\[(\d+)\] \((\d+)\) \[0x[0-9a-f]+ 0x[0-9a-f]+\]$`)
)

// readRows reads a dump: an object of arrays of strings. The error names the
// file and the line that is something else.
func readRows(file string, raw []byte) ([]row, error) {
	rows, err := parseRows(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rows, nil
}

func parseRows(raw []byte) ([]row, error) {
	root, err := jsonlines.Parse(raw)
	if err != nil {
		return nil, err
	}
	members, err := root.Members()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, m := range members {
		entries, err := m.Elements()
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			rows = append(rows, row{key: m.Name, line: collect.Line{Number: m.NameLine, Text: m.Name + ": []"}})
		}
		for _, e := range entries {
			entry, err := e.Text()
			if err != nil {
				return nil, err
			}
			line := collect.Line{Number: m.NameLine, Text: m.Name + ": " + strings.TrimSpace(entry)}
			rows = append(rows, row{m.Name, entry, line})
		}
	}
	return rows, nil
}

func parseKey(text string) (key, bool) {
	f := keyForm.FindStringSubmatch(text)
	if f == nil {
		return key{}, false
	}
	at, ok := parseAddrPort(f[1], f[2])
	slot, slotOK := parseUint16(f[5])
	return key{address{at.Addr(), at.Port(), f[3], f[4] != ""}, slot}, ok && slotOK
}

// wildcard tells the row of a Service address for all that is no port of it: a
// packet from outside that meets it is dropped.
func (k key) wildcard() bool { return k.port == 0 && k.protocol == "ANY" && k.slot == 0 }

func parseMaster(text string) (master, bool) {
	f := masterForm.FindStringSubmatch(text)
	if f == nil {
		return master{}, false
	}
	revNAT, ok := parseUint16(f[1])
	return master{revNAT, strings.Split(f[2], ", ")}, ok
}

func parseBackend(text string) (backend, bool) {
	f := backendForm.FindStringSubmatch(text)
	if f == nil {
		return backend{}, false
	}
	at, ok := parseAddrPort(f[1], f[2])
	revNAT, revNATOK := parseUint16(f[4])
	slot, slotOK := parseUint16(f[5])
	return backend{at, f[3], revNAT, slot}, ok && revNATOK && slotOK
}

func parseCounters(text string) (counters, bool) {
	f := countersForm.FindStringSubmatch(text)
	if f == nil {
		return counters{}, false
	}
	id, err := strconv.ParseUint(f[1], 10, 32)
	active, activeOK := parseUint16(f[2])
	others, othersOK := parseUint16(f[3])
	revNAT, revNATOK := parseUint16(f[4])
	return counters{uint32(id), active, others, revNAT}, err == nil && activeOK && othersOK && revNATOK
}

// parseAddrPort takes IPv6 with brackets and without: a backend of the other
// family than its frontend has them wrong.
func parseAddrPort(host, port string) (netip.AddrPort, bool) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return netip.AddrPort{}, false
		}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Zone() != "" {
		return netip.AddrPort{}, false
	}
	number, ok := parseUint16(port)
	return netip.AddrPortFrom(addr, number), ok
}

func parseUint16(text string) (uint16, bool) {
	number, err := strconv.ParseUint(text, 10, 16)
	return uint16(number), err == nil
}

func isProtocol(name string) bool { return name == "TCP" || name == "UDP" || name == "SCTP" }
