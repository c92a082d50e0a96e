package calico

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// The forms of nat dump's text, with one space where it prints tabs (Calico
// v3.31.7, felix/cmd/calico-bpf/commands/nat.go, dumpNice). Versions before
// v3.31.5 print no source.
var (
	rowForm  = regexp.MustCompile(`^(\S+) port (\d+) proto (\d+) id (\d+) count (-?\d+) local (\d+)(?: flags (.*?))?(?: src (\S+))?$`)
	slotForm = regexp.MustCompile(`^(\d+):(\d+) (\S+|is missing)$`)
)

// readText reads the text form. It is an error where no line is a row.
func readText(raw []byte) ([]row, unparsed, error) {
	var rows []row
	var rest unparsed
	number := 0
	// open says that the line above belongs to the last row.
	open := false
	for text := range strings.Lines(string(raw)) {
		number++
		line := collect.Line{Number: number, Text: strings.Join(strings.Fields(text), " ")}
		if line.Text == "" {
			continue
		}
		if slot := slotForm.FindStringSubmatch(line.Text); slot != nil {
			if !open {
				rest.add(line, "a backend without a frontend")
			} else if err := rows[len(rows)-1].addSlot(slot, line); err != nil {
				rest.add(line, err.Error())
			}
			continue
		}
		r, err := parseRow(line)
		if open = err == nil; !open {
			rest.add(line, "not a row of nat dump: "+err.Error())
			continue
		}
		rows = append(rows, r)
	}
	switch {
	case number == 0:
		return nil, nil, fmt.Errorf("%s: nothing was printed: the maps could not be read, see the command's standard error", NATTextFile)
	case len(rows) == 0:
		return nil, nil, fmt.Errorf("%s: no line is a row of nat dump; the first is %q", NATTextFile, firstLine(raw))
	}
	return rows, rest, nil
}

func parseRow(line collect.Line) (row, error) {
	words := rowForm.FindStringSubmatch(line.Text)
	if words == nil {
		return row{}, errors.New("want ADDRESS port N proto N id N count N local N")
	}
	f := fields{Addr: words[1], Flags: words[7], Source: words[8]}
	var err error
	number := func(text string, bits int) uint64 {
		n, parseErr := strconv.ParseUint(text, 10, bits)
		err = cmp.Or(err, parseErr)
		return n
	}
	f.Port = uint16(number(words[2], 16))
	f.Proto = uint8(number(words[3], 8))
	f.ID = uint32(number(words[4], 32))
	f.Local = uint32(number(words[6], 32))
	var countErr error
	f.Count, countErr = strconv.ParseInt(words[5], 10, 64)
	if err = cmp.Or(err, countErr); err != nil {
		return row{}, err
	}
	return f.row(line.Number)
}

func (r *row) addSlot(words []string, line collect.Line) error {
	if want := fmt.Sprintf("%d:%d", r.id, len(r.slots)); words[1]+":"+words[2] != want {
		return fmt.Errorf("%s is due here", want)
	}
	s := slot{line: line}
	if words[3] != missing {
		var err error
		if s.AddrPort, err = parseAddrPort(words[3]); err != nil {
			return err
		}
	}
	r.slots = append(r.slots, s)
	return nil
}

func firstLine(raw []byte) string {
	text, _, _ := strings.Cut(strings.TrimLeft(string(raw), " \r\n\t"), "\n")
	return strings.TrimSpace(text)
}
