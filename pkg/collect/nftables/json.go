package nftables

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// readJSON reads the JSON form, libnftables-json(5), one element of its
// "nftables" array at a time: the ruleset of 45,000 Services is 100 MB.
func readJSON(raw []byte) (ruleset, error) {
	var out ruleset
	dec := json.NewDecoder(bytes.NewReader(raw))
	fail := func(err error) (ruleset, error) {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the listing is cut short, take it again")
		}
		return out, fmt.Errorf("nft ruleset, after byte %d: %w", dec.InputOffset(), err)
	}
	expect := func(wanted ...json.Token) error {
		for _, want := range wanted {
			if got, err := dec.Token(); err != nil {
				return err
			} else if got != want {
				return fmt.Errorf("%v where %v is expected", got, want)
			}
		}
		return nil
	}
	if err := expect(json.Delim('{'), "nftables", json.Delim('[')); err != nil {
		return fail(err)
	}
	dec.UseNumber()
	dec.DisallowUnknownFields()
	for dec.More() {
		from := dec.InputOffset()
		rule, err := ruleElement{}, error(nil)
		isRule := bytes.HasPrefix(trimLeft(raw[from:]), []byte(`{"rule":`))
		if isRule {
			err = dec.Decode(&rule)
		} else {
			err = dec.Decode(&unread{})
		}
		element := trimLeft(raw[from:dec.InputOffset()])
		switch {
		case len(element) == 0: // it is no JSON
			return fail(err)
		case isRule && err == nil:
			err = out.addRule(rule.Rule, element)
		default:
			err = out.addJSON(element)
		}
		if err != nil {
			return fail(err)
		}
	}
	if err := expect(json.Delim(']'), json.Delim('}')); err != nil {
		return fail(err)
	}
	if got, err := dec.Token(); err != io.EOF {
		return fail(fmt.Errorf("%v after the end", got))
	}
	return out, nil
}

// trimLeft takes away what stands between two elements.
func trimLeft(raw []byte) []byte { return bytes.TrimLeft(raw, ", \t\r\n") }

// unread is a value that is skipped.
type unread struct{}

// UnmarshalJSON reads nothing.
func (*unread) UnmarshalJSON([]byte) error { return nil }

// ruleElement is a rule as kube-proxy's are. Most of a listing is rules, so these
// are read at once; any other is for addJSON.
type ruleElement struct{ Rule ruleBody }

type ruleBody struct {
	Family, Table, Chain string
	Handle, Comment      any
	Expr                 []any
}

func (r *ruleset) addRule(body ruleBody, raw []byte) error {
	t := r.find(body.Family, body.Table)
	if t == nil {
		return notListed("rule", body.Family, body.Table)
	}
	if src := (source{json: raw}); t.isKubeProxy() && !t.addJSONRule(body, true, src) {
		t.skip(src)
	}
	return nil
}

func notListed(kind, family, table string) error {
	return fmt.Errorf("a %s of table %s %s, which is not listed", kind, family, table)
}

// addJSON adds one element: {"chain": {"family": "ip", …}}.
func (r *ruleset) addJSON(raw json.RawMessage) error {
	var element map[string]json.RawMessage
	if err := json.Unmarshal(raw, &element); err != nil || len(element) != 1 {
		return errors.New("an element that is not an object of one kind")
	}
	for kind, body := range element {
		var head struct {
			Family, Table, Name string
			Type, Hook, Policy  any
			Priority            any  `json:"prio"`
			Schema              *int `json:"json_schema_version"`
		}
		if err := json.Unmarshal(body, &head); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if kind == "metainfo" {
			if head.Schema != nil && *head.Schema != 1 {
				return fmt.Errorf("JSON schema version %d is not known; take the text form", *head.Schema)
			}
			return nil
		}
		src := source{json: raw}
		if kind == "table" {
			t := newTable(head.Family, head.Name, src)
			if !fields(body, &struct{ Family, Name, Handle, Comment any }{}) {
				t.skipAttribute(src) // for one, "flags": "dormant"
			}
			return r.add(t)
		}
		t := r.find(head.Family, head.Table)
		switch {
		case t == nil:
			return notListed(kind, head.Family, head.Table)
		case kind == "chain":
			c := &chain{name: head.Name, src: src}
			if head.Hook != nil {
				c.base = fmt.Sprintf("%v %v %v", head.Type, head.Hook, head.Policy)
				number, ok := head.Priority.(float64)
				c.priority, c.unknown = int(number), !ok
			}
			return t.addChain(c)
		case !t.isKubeProxy():
		case kind == "set" || kind == "map":
			return t.addJSONSet(head.Name, body, src)
		case kind == "rule":
			var b ruleBody
			known := fields(body, &b)
			if !t.addJSONRule(b, known, src) {
				t.skip(src)
			}
		default:
			t.skip(src)
		}
	}
	return nil
}

func (t *table) addJSONSet(name string, body json.RawMessage, src source) error {
	s := &set{name: name, src: src}
	var b struct {
		Family, Name, Table, Type, Map, Handle, Comment, Flags, Size any

		Timeout int
		Elem    []json.RawMessage
	}
	if !fields(body, &b) {
		t.skipIn(s, src)
	}
	s.seconds = b.Timeout
	for _, raw := range b.Elem {
		e, ok := jsonElement(raw)
		if !ok {
			t.skipIn(s, e.src)
			continue
		}
		s.elems = append(s.elems, e)
	}
	return t.addSet(s)
}

// jsonElement reads a key, [key, verdict], and a key that has a comment or
// lives for a time: {"elem": {"val": key, "comment": …}}.
func jsonElement(raw json.RawMessage) (element, bool) {
	e := element{src: source{json: raw}}
	var key any
	ok := fields(raw, &key)
	if pair, isPair := key.([]any); isPair && len(pair) == 2 {
		key = pair[0]
		e.verdict, ok = render(pair[1])
	}
	if kind, body, _ := only(key); kind == "elem" {
		b, _ := body.(object)
		e.comment, _ = b["comment"].(string)
		key = b["val"]
	}
	text, rendered := render(key)
	e.key = text
	return e, ok && rendered
}

// addJSONRule is false for a rule that kube-proxy does not write; known says that
// it has no other fields.
func (t *table) addJSONRule(b ruleBody, known bool, src source) bool {
	c := t.chainNamed[b.Chain]
	if c == nil {
		t.unknown = append(t.unknown, src)
		return false
	}
	text, ok := renderAll(b.Expr, " ", known)
	if !ok {
		text = ""
	}
	c.rules = append(c.rules, rule{text, src})
	return ok
}

// fields decodes raw and is false where it has a field that into has not.
func fields(raw json.RawMessage, into any) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	return dec.Decode(into) == nil
}
