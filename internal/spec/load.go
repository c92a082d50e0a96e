package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Error is every mistake of one file.
type Error struct {
	File   string
	Faults []Fault
}

// Fault is one mistake; Line counts from 1.
type Fault struct {
	Line int
	Text string
}

func (e *Error) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d: %s", e.File, f.Line, f.Text)
	}
	return b.String()
}

// load decodes file into target and then lets check add what the types cannot
// express. It returns an *Error for everything that is wrong with the content.
func load(file string, target any, check func(*validation)) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return parse(file, raw, target, check)
}

func parse(file string, raw []byte, target any, check func(*validation)) error {
	v := &validation{
		fileName:   strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)),
		mistyped:   map[int]bool{},
		incomplete: map[*yaml.Node]bool{},
	}
	if v.readTree(raw) {
		v.findLost(v.root, nil)
		v.decode(raw, target)
		check(v)
	}
	if len(v.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(v.faults, func(a, b Fault) int { return a.Line - b.Line })
	return &Error{File: file, Faults: v.faults}
}

// validation collects the mistakes of one file.
type validation struct {
	fileName string     // the file's name without its ending
	root     *yaml.Node // its fields
	faults   []Fault
	// mistyped lines have a value that could not be decoded.
	mistyped map[int]bool
	// incomplete mappings and lists have not been decoded as they stand.
	incomplete map[*yaml.Node]bool
}

// readTree parses the file and reports whether there are fields to check.
func (v *validation) readTree(raw []byte) bool {
	if line := notText(raw); line > 0 {
		v.faults = append(v.faults, Fault{line, "want UTF-8 text without control characters"})
		return false
	}
	documents := yaml.NewDecoder(bytes.NewReader(raw))
	var first, second yaml.Node
	if err := documents.Decode(&first); err != nil && !errors.Is(err, io.EOF) {
		v.yamlFault(err.Error())
		if match := unknownAnchor.FindStringSubmatch(err.Error()); match != nil {
			before, _, _ := bytes.Cut(raw, []byte("*"+match[1]))
			v.faults[0].Line = 1 + bytes.Count(before, []byte("\n"))
		}
		return false
	}
	if err := documents.Decode(&second); err == nil {
		v.faults = append(v.faults, Fault{second.Line, "a second document begins: one file, one subject"})
	} else if !errors.Is(err, io.EOF) {
		v.yamlFault(err.Error())
	}
	switch {
	case len(first.Content) == 0 || first.Content[0].ShortTag() == "!!null":
		v.faults = append(v.faults, Fault{1, "the file is empty"})
		return false
	case first.Content[0].Kind != yaml.MappingNode:
		v.faults = append(v.faults, Fault{first.Content[0].Line, "want fields such as apiVersion: " + APIVersion})
		return false
	}
	v.root = first.Content[0]
	return true
}

// notText returns the first line that YAML cannot hold, 0 if there is none.
func notText(raw []byte) int {
	number := 0
	for line := range strings.Lines(string(raw)) {
		number++
		if strings.ContainsFunc(line, func(r rune) bool {
			return r == utf8.RuneError || unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r)
		}) {
			return number
		}
	}
	return 0
}

// findLost finds what the decoder leaves out: mappings with a field that is
// there twice, and null elements of lists. It shifts the list's later ones.
func (v *validation) findLost(node *yaml.Node, path []string) {
	for i, child := range node.Content {
		key := strconv.Itoa(i)
		if node.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			name := node.Content[i-1]
			key = name.Value
			for j := 0; j < i-1; j += 2 {
				if first := node.Content[j]; first.Kind == name.Kind && first.Value == name.Value {
					v.incomplete[node] = true
					v.faults = append(v.faults, Fault{name.Line, fmt.Sprintf("%s is there twice, first on line %d",
						strings.Join(append(path, key), "."), first.Line)})
					break
				}
			}
		}
		v.findLost(child, append(path, key))
		if child.Kind == yaml.AliasNode {
			child = child.Alias
		}
		if node.Kind != yaml.SequenceNode {
			continue
		}
		if child.ShortTag() == "!!null" {
			v.incomplete[node] = true
			v.faults = append(v.faults, Fault{child.Line, strings.Join(append(path, key), ".") + " is empty"})
		}
		v.incomplete[node] = v.incomplete[node] || v.incomplete[child]
	}
}

func (v *validation) decode(raw []byte, target any) {
	strict := yaml.NewDecoder(bytes.NewReader(raw))
	strict.KnownFields(true)
	err := strict.Decode(target)
	if typeError := (*yaml.TypeError)(nil); errors.As(err, &typeError) {
		for _, message := range typeError.Errors {
			v.yamlFault(message)
		}
	} else if err != nil {
		v.yamlFault(err.Error())
		v.incomplete[v.root] = true
	}
}

// The messages of yaml.v3. Names of our Go types mean nothing to whoever
// wrote the file.
var (
	yamlLine      = regexp.MustCompile(`(?s)^(?:yaml: )?(?:line (\d+): )?(.*)$`)
	unknownField  = regexp.MustCompile(`(?s)^field (.*) not found in type \S+$`)
	duplicateKey  = regexp.MustCompile(`(?s)^mapping key .* already defined at line \d+$`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
	wrongType     = regexp.MustCompile("(?s)^cannot unmarshal (\\S+)(?: (`.*`))? into (\\S+(?: {})?)$")
	yamlTypeNames = map[string]string{"!!str": "text", "!!int": "number", "!!float": "number", "!!bool": "truth value", "!!seq": "a list", "!!map": "fields"}
)

func (v *validation) yamlFault(message string) {
	parts := yamlLine.FindStringSubmatch(message)
	fault := Fault{1, parts[2]}
	if line, err := strconv.Atoi(parts[1]); err == nil && line > 0 {
		fault.Line = line
	}
	if match := unknownField.FindStringSubmatch(fault.Text); match != nil {
		fault.Text = fmt.Sprintf("field %s is not known here", match[1])
	} else if match := wrongType.FindStringSubmatch(fault.Text); match != nil {
		v.mistyped[fault.Line] = true
		want := "fields"
		switch {
		case strings.HasPrefix(match[3], "[]"):
			want = "a list"
		case match[3] == "int":
			want = "a whole number"
		case match[3] == "string":
			want = "text"
		case match[3] == "bool":
			want = "true or false"
		}
		found := cmp.Or(yamlTypeNames[match[1]], match[1])
		fault.Text = strings.TrimSpace(fmt.Sprintf("want %s, found %s %s", want, found, match[2]))
	} else if duplicateKey.MatchString(fault.Text) {
		return
	}
	v.faults = append(v.faults, fault)
}

// at returns the node at a path of keys and list indices, or its nearest
// parent and false. It is nil where the path leads through what has not been
// decoded as it stands.
func (v *validation) at(path ...string) (node *yaml.Node, exact bool) {
	node = v.root
	for _, key := range path {
		if v.lost(node) {
			return nil, false
		}
		child := step(node, key)
		if child == nil {
			return node, false
		}
		node = child
	}
	if v.lost(node) {
		return nil, false
	}
	return node, true
}

// lost says that a node's parts are not what has been decoded of it.
func (v *validation) lost(node *yaml.Node) bool {
	return v.incomplete[node] || node.Kind == yaml.SequenceNode &&
		slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return v.mistyped[n.Line] })
}

// fault records a mistake at a path. Where the path does not exist the line is
// that of its nearest parent. What could not be decoded gets no second mistake.
func (v *validation) fault(text, value string, path ...string) {
	node, exact := v.at(path...)
	if node == nil || v.mistyped[node.Line] && (exact || node.Kind != yaml.MappingNode) {
		return
	}
	where := strings.Join(path, ".")
	if value != "" {
		where = fmt.Sprintf("%s: %q", where, value)
	}
	v.faults = append(v.faults, Fault{node.Line, where + " " + text})
}

func step(node *yaml.Node, key string) *yaml.Node {
	var child *yaml.Node
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				child = node.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i < len(node.Content) {
			child = node.Content[i]
		}
	}
	if child != nil && child.Kind == yaml.AliasNode {
		return child.Alias
	}
	return child
}

func (v *validation) header(apiVersion, kind, wantKind string, meta Metadata) {
	v.oneOf(apiVersion, []string{APIVersion}, "apiVersion")
	v.oneOf(kind, []string{wantKind}, "kind")
	v.name(meta.Name, "metadata", "name")
	v.required(meta.Title, "metadata", "title")
	if strings.ContainsAny(meta.Title, "\r\n") {
		v.fault("is more than one line", meta.Title, "metadata", "title")
	}
	if meta.Name != "" && meta.Name != v.fileName {
		v.fault("does not match the file's name "+v.fileName, meta.Name, "metadata", "name")
	}
}

func (v *validation) required(value string, path ...string) {
	if value == "" {
		v.fault("is missing", "", path...)
	}
}

var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$`)

func (v *validation) name(value string, path ...string) {
	if value == "" {
		v.fault("is missing", "", path...)
	} else if !nameForm.MatchString(value) {
		v.fault("is no name: want lower-case letters, digits and dashes", value, path...)
	}
}

func (v *validation) oneOf(value string, allowed []string, path ...string) {
	switch {
	case slices.Contains(allowed, value):
	case value == "":
		v.fault("is missing; want "+strings.Join(allowed, ", "), "", path...)
	case len(allowed) == 1:
		v.fault("is not "+allowed[0], value, path...)
	default:
		v.fault("is none of "+strings.Join(allowed, ", "), value, path...)
	}
}

// set checks a list whose elements are of a kind and there once.
func (v *validation) set(values, allowed []string, path ...string) {
	for i, value := range values {
		at := append(slices.Clone(path), strconv.Itoa(i))
		if slices.Index(values, value) < i {
			v.fault("is there twice", value, at...)
		} else {
			v.oneOf(value, allowed, at...)
		}
	}
}

// number looks at the text as well: the decoder makes 12 of 12.7.
func (v *validation) number(value, low, high int, path ...string) {
	node, exact := v.at(path...)
	switch {
	case exact && node.ShortTag() == "!!float":
		v.fault("is no whole number", node.Value, path...)
	case node != nil && !exact && value == 0:
		v.fault(fmt.Sprintf("is missing; want %d to %d", low, high), "", path...)
	case value < low || value > high:
		v.fault(fmt.Sprintf("is not from %d to %d", low, high), strconv.Itoa(value), path...)
	}
}

func (v *validation) subnet(value string, path ...string) {
	prefix, err := netip.ParsePrefix(value)
	switch {
	case value == "":
		v.fault("is missing", "", path...)
	case err != nil:
		v.fault("is no subnet such as 10.244.0.0/16", value, path...)
	case prefix != prefix.Masked():
		v.fault("has bits set behind its prefix; want "+prefix.Masked().String(), value, path...)
	}
}

func (v *validation) disjoint(a, b string, path ...string) {
	first, errA := netip.ParsePrefix(a)
	second, errB := netip.ParsePrefix(b)
	if errA == nil && errB == nil && first.Overlaps(second) {
		v.fault("overlaps "+a, b, path...)
	}
}
