package cilium

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"service-dataplane/pkg/collect"
)

// element is a value of a JSON file together with the line it begins at, which
// encoding/json does not tell. raw has no white space around it.
type element struct {
	raw  []byte
	line int
}

// member is a member of an object; keyLine is where its name stands.
type member struct {
	key     string
	keyLine int
	element
}

// parseJSON checks that the file is one JSON value. The error names the line
// where it breaks.
func parseJSON(raw []byte) (element, error) {
	var value json.RawMessage
	if err := json.Unmarshal(raw, &value); err != nil {
		line := 1 + bytes.Count(raw, []byte("\n"))
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			line = 1 + bytes.Count(raw[:syntax.Offset], []byte("\n"))
		}
		return element{}, fmt.Errorf("line %d: %w", line, err)
	}
	space := raw[:bytes.IndexByte(raw, value[0])]
	return element{value, 1 + bytes.Count(space, []byte("\n"))}, nil
}

// members lists an object's members in the order of the file, those with the
// same name too.
func (e element) members() ([]member, error) {
	var members []member
	err := e.walk('{', func(key string, keyLine int, value element) {
		members = append(members, member{key, keyLine, value})
	})
	return members, err
}

// elements lists an array's elements.
func (e element) elements() ([]element, error) {
	var elements []element
	err := e.walk('[', func(_ string, _ int, value element) {
		elements = append(elements, value)
	})
	return elements, err
}

func (e element) walk(open byte, visit func(key string, keyLine int, value element)) error {
	if e.raw[0] != open {
		return fmt.Errorf("line %d: %s where %c is due", e.line, e.short(), open)
	}
	decoder := json.NewDecoder(bytes.NewReader(e.raw))
	at, line := 0, e.line
	lineAt := func(offset int) int {
		line += bytes.Count(e.raw[at:offset], []byte("\n"))
		at = offset
		return line
	}
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		key, keyLine := "", 0
		if open == '{' {
			token, err := decoder.Token()
			if err != nil {
				return err
			}
			key, _ = token.(string)
			keyLine = lineAt(int(decoder.InputOffset()))
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		visit(key, keyLine, element{value, lineAt(int(decoder.InputOffset()) - len(value))})
	}
	return nil
}

// get is an object's last member of that name, as encoding/json reads it; false
// where there is none or it is null.
func (e element) get(key string) (member, bool) {
	members, err := e.members()
	if err != nil {
		return member{}, false
	}
	for i := len(members) - 1; i >= 0; i-- {
		switch {
		case members[i].key != key:
		case members[i].null():
			return member{}, false
		default:
			return members[i], true
		}
	}
	return member{}, false
}

// decode reads the value as encoding/json does.
func (e element) decode(to any) error {
	if err := json.Unmarshal(e.raw, to); err != nil {
		return fmt.Errorf("line %d: %w", e.line, err)
	}
	return nil
}

// text is the value of a string.
func (e element) text() (string, error) {
	if e.raw[0] != '"' {
		return "", fmt.Errorf("line %d: %s where a string is due", e.line, e.short())
	}
	var text string
	err := e.decode(&text)
	return text, err
}

func (e element) null() bool { return string(e.raw) == "null" }

// short is the value as one line quotes it.
func (e element) short() string {
	text := string(e.raw)
	if text[0] != '{' && text[0] != '[' {
		return text
	}
	open, inside, closing := text[:1], text[1:len(text)-1], text[len(text)-1:]
	if strings.TrimSpace(inside) == "" {
		return open + closing
	}
	return open + "…" + closing
}

// quote is the line of a member, told by its path from the top of the file.
func (m member) quote(path ...string) collect.Line {
	return collect.Line{Number: m.keyLine, Text: strings.Join(path, ".") + ": " + m.short()}
}
