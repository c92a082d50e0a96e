package calico

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"service-dataplane/pkg/collect"
)

// value is a value of a JSON file together with the line it begins at, which
// encoding/json does not tell: 0 in a file of one line. raw has no white space
// around it.
type value struct {
	raw  []byte
	line int
}

// parseJSON checks that the file is one JSON value. The error names the file and
// the line where it breaks.
func parseJSON(file string, raw []byte) (value, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		line := 1 + bytes.Count(raw, []byte("\n"))
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			line = 1 + bytes.Count(raw[:syntax.Offset], []byte("\n"))
		}
		return value{}, fmt.Errorf("%s: line %d: %w", file, line, err)
	}
	if bytes.Count(whole, []byte("\n")) == 0 {
		return value{raw: whole}, nil
	}
	space := raw[:bytes.IndexByte(raw, whole[0])]
	return value{whole, 1 + bytes.Count(space, []byte("\n"))}, nil
}

// items lists an array's elements; null has none.
func (v value) items() ([]value, error) {
	var items []value
	err := v.walk('[', func(_ string, item value) { items = append(items, item) })
	return items, err
}

// member is an object's last member of that name, as encoding/json reads it;
// false where there is none or it is null.
func (v value) member(name string) (found value, ok bool, err error) {
	err = v.walk('{', func(key string, member value) {
		if key == name {
			found, ok = member, !member.null()
		}
	})
	return found, ok, err
}

func (v value) walk(open byte, visit func(key string, member value)) error {
	if v.null() {
		return nil
	}
	if v.raw[0] != open {
		return v.errorf("%s where %c is due", v.short(), open)
	}
	decoder := json.NewDecoder(bytes.NewReader(v.raw))
	if _, err := decoder.Token(); err != nil {
		return v.errorf("%w", err)
	}
	at, line := 0, v.line
	for decoder.More() {
		key := ""
		if open == '{' {
			token, err := decoder.Token()
			if err != nil {
				return v.errorf("%w", err)
			}
			key, _ = token.(string)
		}
		var member json.RawMessage
		if err := decoder.Decode(&member); err != nil {
			return v.errorf("%w", err)
		}
		begin := int(decoder.InputOffset()) - len(member)
		line += bytes.Count(v.raw[at:begin], []byte("\n"))
		at = begin
		visit(key, value{member, line})
	}
	return nil
}

// decode reads the value as encoding/json does.
func (v value) decode(to any) error {
	if err := json.Unmarshal(v.raw, to); err != nil {
		return v.errorf("%w", err)
	}
	return nil
}

// decodeKnown is decode for a value all of whose members must be understood.
func (v value) decodeKnown(to any) error {
	decoder := json.NewDecoder(bytes.NewReader(v.raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		return v.errorf("%w", err)
	}
	return nil
}

// lineOf is the line of an object's member, which in a long object tells more
// than its own; its own where there is no such member.
func (v value) lineOf(name string) int {
	if member, ok, err := v.member(name); err == nil && ok {
		return member.line
	}
	return v.line
}

// whole is the value in one line, as a Line quotes it.
func (v value) whole() collect.Line {
	var compact bytes.Buffer
	if err := json.Compact(&compact, v.raw); err != nil {
		return collect.Line{Number: v.line, Text: string(v.raw)}
	}
	return collect.Line{Number: v.line, Text: compact.String()}
}

// short is the value with what is inside of it left out.
func (v value) short() string {
	text := string(v.raw)
	if text[0] != '{' && text[0] != '[' {
		return text
	}
	open, inside, closing := text[:1], text[1:len(text)-1], text[len(text)-1:]
	if strings.TrimSpace(inside) == "" {
		return open + closing
	}
	return open + "…" + closing
}

func (v value) null() bool { return string(v.raw) == "null" }

func (v value) errorf(format string, a ...any) error {
	err := fmt.Errorf(format, a...)
	if v.line == 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", v.line, err)
}
