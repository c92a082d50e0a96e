package cilium

import (
	"fmt"
	"maps"
	"slices"

	"service-dataplane/pkg/collect"
)

// services is the services map with its backends, by frontend.
type services struct {
	byAddress map[address]*service
	// seen are the keys that have a row, understood or not.
	seen     map[key]bool
	unparsed unparsed
}

// service is one frontend: its own row and its slots by number.
type service struct {
	master
	line  collect.Line
	slots map[uint16]slot
}

type slot struct {
	backend
	line collect.Line
}

// count is slot 0 of the Frontends dump; not known where there is none.
type count struct {
	counters
	known bool
}

// readServices gathers the rows of the plain dump.
func readServices(raw []byte) (*services, error) {
	rows, err := readRows(LBFile, raw)
	if err != nil {
		return nil, err
	}
	s := &services{byAddress: map[address]*service{}, seen: map[key]bool{}}
	slots := map[key]row{}
	for _, r := range rows {
		k, ok := parseKey(r.key)
		switch {
		case !ok:
			s.unparsed.add(r.line, "not a key of the services map")
		case s.seen[k]:
			s.unparsed.add(r.line, "listed before")
		default:
			s.seen[k] = true
			if k.slot > 0 {
				slots[k] = r
			} else {
				s.addMaster(k, r)
			}
		}
	}
	for k, r := range slots {
		s.addSlot(k, r)
	}
	return s, nil
}

func (s *services) addMaster(k key, r row) {
	m, ok := parseMaster(r.entry)
	switch {
	case !ok:
		s.unparsed.add(r.line, "not the row of a frontend")
	case k.wildcard() && m.revNAT != 0:
		s.unparsed.add(r.line, "a row for unknown ports with a number of its own")
	case !k.wildcard():
		s.byAddress[k.address] = &service{master: m, line: r.line, slots: map[uint16]slot{}}
	}
}

func (s *services) addSlot(k key, r row) {
	of, ok := s.byAddress[k.address]
	if !ok {
		s.unparsed.add(r.line, "a slot without a frontend")
		return
	}
	b, ok := parseBackend(r.entry)
	switch {
	case !ok:
		s.unparsed.add(r.line, "not a backend")
	case b.slot != k.slot:
		s.unparsed.add(r.line, fmt.Sprintf("slot %d of key and slot %d of value differ", k.slot, b.slot))
	case b.revNAT != of.revNAT:
		s.unparsed.add(r.line, fmt.Sprintf("the frontend has the number %d", of.revNAT))
	case b.protocol != k.protocol:
		s.unparsed.add(r.line, "another protocol than the frontend's")
	case b.Port() == 0:
		s.unparsed.add(r.line, "no port")
	default:
		of.slots[k.slot] = slot{b, r.line}
	}
}

// lines are the service's rows, slot 0 first.
func (s *service) lines() []collect.Line {
	lines := []collect.Line{s.line}
	for _, number := range slices.Sorted(maps.Keys(s.slots)) {
		lines = append(lines, s.slots[number].line)
	}
	return lines
}

// compare reads the Frontends dump, reports where it and the plain one differ,
// and gives the counts by frontend. The dumps are taken one after the other, so a
// difference can also be a change in between.
func (s *services) compare(raw []byte) (map[address]count, error) {
	rows, err := readRows(FrontendsFile, raw)
	if err != nil {
		return nil, err
	}
	counts := map[address]count{}
	seen := map[key]bool{}
	for _, r := range rows {
		// The table's numbers are lines of the plain dump.
		line := collect.Line{Text: fmt.Sprintf("%s:%d: %s", FrontendsFile, r.line.Number, r.line.Text)}
		k, keyOK := parseKey(r.key)
		c, ok := parseCounters(r.entry)
		switch {
		case !keyOK || !ok:
			s.unparsed.add(line, "not a row of the services map")
		case seen[k]:
			s.unparsed.add(line, "listed before")
		case !s.seen[k]:
			s.unparsed.add(line, "not in "+LBFile)
		case k.slot == 0:
			counts[k.address] = count{c, true}
		}
		seen[k] = true
	}
	slots := map[address]int{}
	for k := range s.seen {
		if k.slot > 0 {
			slots[k.address]++
		}
	}
	for at, service := range s.byAddress {
		if reason := s.difference(at, service, counts[at], slots[at]); reason != "" {
			s.unparsed.add(service.line, reason)
		}
	}
	return counts, nil
}

// difference says what is wrong with the count of a service that has rows for so
// many slots.
func (s *services) difference(at address, of *service, n count, slots int) string {
	if !n.known {
		return "not in " + FrontendsFile
	}
	if n.revNAT != of.revNAT {
		return fmt.Sprintf("%s has the number %d", FrontendsFile, n.revNAT)
	}
	total := int(n.active) + int(n.others)
	if total == slots {
		for number := range total {
			if !s.seen[key{at, uint16(number + 1)}] {
				return fmt.Sprintf("slot %d is missing", number+1)
			}
		}
		return ""
	}
	return fmt.Sprintf("%s counts %d active and %d other slots, here are %d", FrontendsFile, n.active, n.others, slots)
}
