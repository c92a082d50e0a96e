package nftables

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// textReader reads the text form, a line at a time:
//
//	table ip kube-proxy {
//		map service-ips {
//			elements = { 10.96.0.1 . tcp . 443 : goto service-…,
//				     10.96.0.10 . udp . 53 : goto service-… }
//		}
//		chain services {
//			ip daddr . meta l4proto . th dport vmap @service-ips
//		}
//	}
type textReader struct {
	rest   string
	line   string // where next stopped, trimmed
	number int
	out    ruleset
}

func readText(raw []byte) (ruleset, error) {
	r := textReader{rest: string(raw)}
	for r.next() {
		f := words(r.line)
		if len(f) != 4 || f[0] != "table" || f[3] != "{" {
			return r.out, r.errorf("%q is not the head of a table", r.line)
		}
		t := newTable(f[1], f[2], r.at())
		if err := r.out.add(t); err != nil {
			return r.out, r.errorf("%w", err)
		}
		if err := r.table(t); err != nil {
			return r.out, err
		}
	}
	return r.out, nil
}

func (r *textReader) table(t *table) error {
	for r.next() {
		switch {
		case r.line == "}":
			return nil
		case strings.HasSuffix(r.line, "{"):
			if err := r.block(t, words(r.line)); err != nil {
				return err
			}
		case openBraces(r.line) != 0:
			return r.errorf("%q closes nothing", r.line)
		case !strings.HasPrefix(r.line, "comment "):
			// For one, "flags dormant": a table that is not in force.
			t.skipAttribute(r.at())
		}
	}
	return r.truncated(t.String())
}

// block reads what a table holds: a chain, a set, a map, or an object of
// another kind, of which kube-proxy writes none.
func (r *textReader) block(t *table, head []string) error {
	var (
		err  error
		do   = func(string, source) {}
		kind = head[0]
		src  = r.at()
	)
	switch {
	case kind == "chain" && len(head) == 3:
		c := &chain{name: head[1], src: src}
		err = t.addChain(c)
		do = func(text string, src source) { c.statement(text, src, t.isKubeProxy()) }
	case !t.isKubeProxy():
	case (kind == "set" || kind == "map") && len(head) == 3:
		s := &set{name: head[1], src: src}
		err = t.addSet(s)
		do = func(text string, src source) {
			if !s.statement(text, src) {
				t.skipIn(s, src)
			}
		}
	default:
		t.skip(src)
	}
	if err != nil {
		return r.errorf("%w", err)
	}
	for r.next() {
		if r.line == "}" {
			return nil
		}
		if err := r.statement(do); err != nil {
			return err
		}
	}
	return r.truncated(strings.TrimSuffix(src.text.Text, " {") + " of " + t.String())
}

// statement hands a statement to do, with the line it begins on. The elements
// of a set or map take one line or more; every such line is handed over as a
// statement of its own, so that an element is found where it stands.
func (r *textReader) statement(do func(string, source)) error {
	const head = "elements = {"
	text, src, elements := r.line, r.at(), strings.HasPrefix(r.line, head)
	for open := openBraces(r.line); open != 0; open += openBraces(r.line) {
		if open < 0 {
			return r.errorf("%q closes nothing", r.line)
		}
		if elements {
			do(strings.TrimSuffix(text, ",")+" }", src)
			text = head
		}
		if !r.next() {
			return r.truncated("braces")
		}
		text += " " + r.line
		if elements {
			src = r.at()
		}
	}
	do(text, src)
	return nil
}

// next moves on to the next line that says something.
func (r *textReader) next() bool {
	for r.rest != "" {
		r.line, r.rest, _ = strings.Cut(r.rest, "\n")
		r.line = strings.TrimSpace(r.line)
		r.number++
		if r.line != "" && r.line[0] != '#' {
			return true
		}
	}
	return false
}

func (r *textReader) at() source { return source{text: collect.Line{Number: r.number, Text: r.line}} }

func (r *textReader) errorf(format string, args ...any) error {
	return fmt.Errorf("nft ruleset, line %d: %w", r.number, fmt.Errorf(format, args...))
}

func (r *textReader) truncated(inside string) error {
	return r.errorf("the listing ends inside %s: it is cut short, take it again", inside)
}

// statement reads a line of a chain: "type nat hook …" of a base chain, the
// chain's own comment, or a rule.
func (c *chain) statement(text string, src source, keepRules bool) {
	f := words(text)
	n := len(f)
	switch {
	case f[0] == "type" && n > 3 && f[2] == "hook":
		c.base = f[1] + " " + f[3] + " accept"
		if f[n-3] == "policy" { // policy drop ;
			c.base = f[1] + " " + f[3] + " " + f[n-2]
		}
		var ok bool
		c.priority, ok = priority(f)
		c.unknown = !ok
	case f[0] == "comment" || !keepRules:
	case n > 2 && f[n-2] == "comment" && f[n-1][0] == '"':
		c.rules = append(c.rules, rule{strings.Join(f[:n-2], " "), src})
	default:
		c.rules = append(c.rules, rule{text, src})
	}
}

// priority reads "priority dstnat - 10 ;" of the line of a base chain, in which
// nft writes some numbers by name (std_prios in its src/rule.c).
func priority(f []string) (int, bool) {
	i := slices.Index(f, "priority")
	if i < 0 || i+1 >= len(f) {
		return 0, false
	}
	named := map[string]int{"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
	base, known := named[f[i+1]]
	if !known {
		n, err := strconv.Atoi(f[i+1])
		return n, err == nil
	}
	if i+3 < len(f) && (f[i+2] == "+" || f[i+2] == "-") {
		n, err := strconv.Atoi(f[i+2] + f[i+3])
		return base + n, err == nil
	}
	return base, true
}

// statement reads a line of a set or map. It is false for an attribute that
// kube-proxy does not use.
func (s *set) statement(text string, src source) bool {
	f := words(text)
	switch f[0] {
	case "type", "comment", "flags", "size":
		return true
	case "timeout":
		n, ok := seconds(strings.Join(f[1:], " "))
		s.seconds = n
		return ok
	case "elements":
		list, ok := items(strings.TrimPrefix(text, "elements = "))
		for _, item := range list {
			e, understood := parseElement(item)
			ok = ok && understood
			e.src = src
			s.elems = append(s.elems, e)
		}
		return ok
	}
	return false
}
