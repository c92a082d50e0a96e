package calico

import (
	"errors"
	"fmt"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// backend is a slot of the JSON form; an ordinal that the backend map lacks has
// the address "missing".
type backend struct {
	Addr string `json:"addr"`
	Port uint16 `json:"port"`
}

// readJSON reads the JSON form; null is what no rows look like. An element with a
// member it does not know may mean something else than it seems and is not read.
func readJSON(raw []byte) ([]row, unparsed, error) {
	if len(raw) == 0 {
		return nil, nil, fmt.Errorf("%s: nothing was printed: the maps could not be read, see the command's standard error", NATFile)
	}
	whole, err := parseJSON(NATFile, raw)
	if err != nil {
		return nil, nil, err
	}
	elements, err := whole.ElementsOrNull()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", NATFile, err)
	}
	var rows []row
	var rest unparsed
	for _, element := range elements {
		r, err := parseElement(element)
		if err != nil {
			rest.add(quote(element), "not a row of nat dump: "+err.Error())
			continue
		}
		rows = append(rows, r)
	}
	return rows, rest, nil
}

// parseElement reads {"frontend": {…}, "backends": […]}.
func parseElement(element jsonlines.Value) (row, error) {
	var members []jsonlines.Member
	if !element.Null() {
		var err error
		if members, err = element.Members(); err != nil {
			return row{}, err
		}
	}
	var frontend, backends jsonlines.Value
	other := ""
	for _, m := range members {
		switch m.Name {
		case "frontend":
			frontend = m.Value
		case "backends":
			backends = m.Value
		default:
			other = m.Name
		}
	}
	switch {
	case other != "":
		return row{}, fmt.Errorf("unknown member %q", other)
	case frontend.Raw == nil || backends.Raw == nil:
		return row{}, errors.New("want a frontend and its backends")
	}
	var f fields
	if err := frontend.DecodeKnown(&f); err != nil {
		return row{}, err
	}
	r, err := f.row(frontend.LineOf("addr"))
	if err != nil {
		return row{}, err
	}
	list, err := backends.ElementsOrNull()
	if err != nil {
		return row{}, err
	}
	for ordinal, item := range list {
		s, err := parseBackend(item, r.id, ordinal)
		if err != nil {
			return row{}, err
		}
		r.slots = append(r.slots, s)
	}
	return r, nil
}

func parseBackend(item jsonlines.Value, id uint32, ordinal int) (slot, error) {
	var b backend
	if err := item.DecodeKnown(&b); err != nil {
		return slot{}, err
	}
	what := missing
	var s slot
	if b.Addr != "missing" {
		what = joinHostPort(b.Addr, b.Port)
		var err error
		if s.AddrPort, err = parseAddrPort(what); err != nil {
			return slot{}, err
		}
	}
	s.line = collect.Line{Number: item.LineOf("addr"), Text: slotText(id, ordinal, what)}
	return s, nil
}
