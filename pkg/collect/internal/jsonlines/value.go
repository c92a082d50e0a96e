package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Value is a JSON value and where it stands. The zero Value is none: its methods
// want one that Parse or another Value gave.
type Value struct {
	// Raw is valid JSON without white space around it.
	Raw []byte
	// Line counts from 1. A caller whose file has no lines worth a number, such as
	// JSON in one line, sets it to 0: the values inside get 0 then too, and no error
	// names a line.
	Line int
}

// Member is a member of an object.
type Member struct {
	Name string
	// NameLine is the line the name stands on, Value's Line that of what follows it.
	NameLine int
	Value
}

// Parse checks that the file is one JSON value. The error names the line where it
// breaks.
func Parse(raw []byte) (Value, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		end := len(raw)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			end = int(syntax.Offset)
		}
		return Value{}, fmt.Errorf("line %d: %w", 1+newlines(raw[:end]), err)
	}
	space := raw[:bytes.IndexByte(raw, whole[0])]
	return Value{whole, 1 + newlines(space)}, nil
}

// Members lists an object's members in the order of the file, those with the same
// name too. Anything else is an error, null as well.
func (v Value) Members() ([]Member, error) {
	var members []Member
	err := v.walk('{', func(m Member) { members = append(members, m) })
	return members, err
}

// Elements lists an array's elements. Anything else is an error, null as well.
func (v Value) Elements() ([]Value, error) {
	var elements []Value
	err := v.walk('[', func(m Member) { elements = append(elements, m.Value) })
	return elements, err
}

// ElementsOrNull is Elements of a list that is null where it is empty, as
// encoding/json writes a nil slice.
func (v Value) ElementsOrNull() ([]Value, error) {
	if v.Null() {
		return nil, nil
	}
	return v.Elements()
}

// Get is an object's last member of that name, the one encoding/json reads; false
// where there is none or it is null. null has no members; what is neither is an
// error.
func (v Value) Get(name string) (found Member, ok bool, err error) {
	if v.Null() {
		return Member{}, false, nil
	}
	err = v.walk('{', func(m Member) {
		if m.Name == name {
			found, ok = m, !m.Null()
		}
	})
	return found, ok, err
}

// LineOf is the line of what Get finds, which in a long object tells more than the
// object's own; the object's where it finds nothing.
func (v Value) LineOf(name string) int {
	if member, ok, err := v.Get(name); err == nil && ok {
		return member.Line
	}
	return v.Line
}

// walk visits the elements of an array, as members without a name, or the members
// of an object.
func (v Value) walk(open byte, visit func(Member)) error {
	if v.Raw[0] != open {
		return v.InsteadOf(string(open))
	}
	at, line := 0, v.Line
	lineAt := func(offset int) int {
		if v.Line != 0 {
			line += newlines(v.Raw[at:offset])
		}
		at = offset
		return line
	}
	decoder := json.NewDecoder(bytes.NewReader(v.Raw))
	if _, err := decoder.Token(); err != nil {
		return v.Errorf("%w", err)
	}
	for decoder.More() {
		var m Member
		if open == '{' {
			token, err := decoder.Token()
			if err != nil {
				return v.Errorf("%w", err)
			}
			m.Name, _ = token.(string)
			m.NameLine = lineAt(int(decoder.InputOffset()))
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return v.Errorf("%w", err)
		}
		m.Value = Value{raw, lineAt(int(decoder.InputOffset()) - len(raw))}
		visit(m)
	}
	return nil
}

// Decode reads the value as encoding/json does.
func (v Value) Decode(to any) error {
	if err := json.Unmarshal(v.Raw, to); err != nil {
		return v.Errorf("%w", err)
	}
	return nil
}

// DecodeKnown is Decode for a value all of whose members must be understood.
func (v Value) DecodeKnown(to any) error {
	decoder := json.NewDecoder(bytes.NewReader(v.Raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		return v.Errorf("%w", err)
	}
	return nil
}

// Text is what a string says. Anything else is an error, null as well.
func (v Value) Text() (string, error) {
	if v.Raw[0] != '"' {
		return "", v.InsteadOf("a string")
	}
	var text string
	err := v.Decode(&text)
	return text, err
}

// Null says that the value is null.
func (v Value) Null() bool { return string(v.Raw) == "null" }

// Compact is the value in one line.
func (v Value) Compact() string {
	var compact bytes.Buffer
	_ = json.Compact(&compact, v.Raw) // Raw is valid
	return compact.String()
}

// Short is the value in one line, with what is inside of it left out.
func (v Value) Short() string {
	text := string(v.Raw)
	if text[0] != '{' && text[0] != '[' {
		return text
	}
	open, inside, closing := text[:1], text[1:len(text)-1], text[len(text)-1:]
	if strings.TrimSpace(inside) == "" {
		return open + closing
	}
	return open + "…" + closing
}

// InsteadOf is the error of a value that stands where something else is due.
func (v Value) InsteadOf(due string) error {
	return v.Errorf("%s where %s is due", v.Short(), due)
}

// Errorf is fmt.Errorf with the value's line in front, if it has one.
func (v Value) Errorf(format string, a ...any) error {
	err := fmt.Errorf(format, a...)
	if v.Line == 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", v.Line, err)
}

func newlines(text []byte) int { return bytes.Count(text, []byte("\n")) }
