package spec

import (
	"bytes"
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
	v := &validation{fileName: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
	v.decode(raw, target)
	if v.root != nil {
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
	fileName string // the file's name without its ending
	root     *yaml.Node
	faults   []Fault
}

// yamlLine is how yaml.v3 begins each message.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

func (v *validation) decode(raw []byte, target any) {
	strict := yaml.NewDecoder(bytes.NewReader(raw))
	strict.KnownFields(true)
	err := strict.Decode(target)
	if err == nil {
		if extra := strict.Decode(new(yaml.Node)); !errors.Is(extra, io.EOF) {
			v.faults = append(v.faults, Fault{1, "holds more than one document: one file, one subject"})
		}
	}
	messages := []string{}
	if typeError := (*yaml.TypeError)(nil); errors.As(err, &typeError) {
		messages = typeError.Errors
	} else if errors.Is(err, io.EOF) {
		messages = []string{"line 1: the file is empty"}
	} else if err != nil {
		messages = []string{err.Error()}
	}
	for _, message := range messages {
		fault := Fault{1, message}
		if match := yamlLine.FindStringSubmatch(message); match != nil {
			fault.Line, _ = strconv.Atoi(match[1])
			fault.Text = match[2]
		}
		fault.Text = goType.ReplaceAllString(fault.Text, "is not known here")
		v.faults = append(v.faults, fault)
	}
	var document yaml.Node
	if yaml.Unmarshal(raw, &document) == nil && len(document.Content) > 0 {
		v.root = document.Content[0]
	}
}

// goType is the end of an unknown field's message: names of our Go types mean
// nothing to whoever wrote the file.
var goType = regexp.MustCompile(`not found in type \S+$`)

// fault records a mistake at a path of keys and list indices. Where the path
// does not exist the line is that of its nearest parent. A place that already
// has a mistake gets no second one.
func (v *validation) fault(text, value string, path ...string) {
	node := v.root
	for _, key := range path {
		child := step(node, key)
		if child == nil {
			break
		}
		node = child
	}
	for _, f := range v.faults {
		if f.Line == node.Line && strings.Contains(f.Text, "is not known here") {
			return
		}
	}
	where := strings.Join(path, ".")
	if value != "" {
		where = fmt.Sprintf("%s: %q", where, value)
	}
	v.faults = append(v.faults, Fault{node.Line, where + " " + text})
}

func step(node *yaml.Node, key string) *yaml.Node {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				return node.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i < len(node.Content) {
			return node.Content[i]
		}
	}
	return nil
}

func (v *validation) header(apiVersion, kind, wantKind string, meta Metadata) {
	v.oneOf(apiVersion, []string{APIVersion}, "apiVersion")
	v.oneOf(kind, []string{wantKind}, "kind")
	v.name(meta.Name, "metadata", "name")
	v.required(meta.Title, "metadata", "title")
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
	default:
		v.fault("is not "+strings.Join(allowed, ", "), value, path...)
	}
}

func (v *validation) port(value, low, high int, path ...string) {
	if value < low || value > high {
		v.fault(fmt.Sprintf("is no port from %d to %d", low, high), fmt.Sprint(value), path...)
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
