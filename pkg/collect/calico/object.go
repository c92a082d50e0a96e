package calico

import (
	"fmt"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// object reads values of an API object by their path and keeps the first error.
type object struct {
	kind string
	root jsonlines.Value
	err  error
}

// readObject checks that the output of `kubectl get -o json` is an object of that
// kind, or of another one that is the same to `kubectl get --raw`.
func readObject(kind string, raw []byte, also ...string) object {
	o := object{kind: kind}
	o.root, o.err = parseJSON(kind, raw)
	if got, _ := o.text("kind"); o.err == nil && got != kind && !slices.Contains(also, got) {
		o.keep(o.root.Errorf("the object's kind is %q", got))
	}
	return o
}

// text is a string; "" where there is none.
func (o *object) text(path ...string) (string, collect.Line) {
	var text string
	line := o.read(&text, path)
	return text, line
}

// flag is true or false; otherwise where there is none.
func (o *object) flag(otherwise bool, path ...string) (bool, collect.Line) {
	line := o.read(&otherwise, path)
	return otherwise, line
}

// read decodes what stands at the path and quotes it. What the file leaves out
// stays as it is and is quoted by the object that would hold it.
func (o *object) read(to any, path []string) collect.Line {
	found, line, ok := o.find(path)
	if ok {
		o.keep(found.Decode(to))
	}
	return line
}

// find follows the path as far as the file has it.
func (o *object) find(path []string) (found jsonlines.Value, line collect.Line, ok bool) {
	if o.err != nil {
		return jsonlines.Value{}, line, false
	}
	found = o.root
	for i, name := range path {
		member, ok, err := found.Get(name)
		o.keep(err)
		if !ok || err != nil {
			return jsonlines.Value{}, line, false
		}
		found = member.Value
		line = collect.Line{Number: member.Line, Text: strings.Join(path[:i+1], ".") + ": " + member.Short()}
	}
	return found, line, true
}

// items lists the array at the path.
func (o *object) items(path ...string) []jsonlines.Value {
	found, _, ok := o.find(path)
	if !ok {
		return nil
	}
	items, err := found.ElementsOrNull()
	o.keep(err)
	return items
}

func (o *object) keep(err error) {
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("%s: %w", o.kind, err)
	}
}
