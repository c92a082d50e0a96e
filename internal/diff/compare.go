package diff

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

// comparison gathers what differs between two runs.
type comparison struct {
	base, new evidence.Normalized
	found     []Difference
}

// compare returns what differs, in the order of the evidence. What is the same
// on several nodes is one difference.
func compare(base, new evidence.Normalized) []Difference {
	c := &comparison{base: base, new: new}
	c.mode()
	c.service()
	c.endpoints()
	c.nodes()
	c.traffic()
	c.checks()
	var nodes []string
	for _, n := range slices.Concat(base.Nodes, new.Nodes) {
		if !slices.Contains(nodes, n.Node) {
			nodes = append(nodes, n.Node)
		}
	}
	for i := range c.found {
		c.found[i].everywhere = len(c.found[i].Nodes) == len(nodes)
	}
	return c.found
}

// add records a regression. Subjects and texts are without the namespace of the
// workload.
func (c *comparison) add(node, subject, text string) { c.addKind(Regression, node, subject, text) }

func (c *comparison) addKind(kind Kind, node, subject, text string) {
	d := Difference{Kind: kind, Subject: c.short(subject), Text: c.short(text)}
	if node != "" {
		d.Nodes = []string{node}
		for i, other := range c.found {
			if len(other.Nodes) > 0 && other.Subject == d.Subject && other.Text == d.Text {
				c.found[i].Nodes = append(other.Nodes, node)
				return
			}
		}
	}
	c.found = append(c.found, d)
}

// short leaves out the namespace of what the experiment is about.
func (c *comparison) short(text string) string {
	for _, s := range []evidence.NormalizedService{c.base.Service, c.new.Service} {
		if s.Namespace != "" {
			text = strings.NewReplacer("svc:"+s.Namespace+"/", "svc:", "pod:"+s.Namespace+"/", "pod:").Replace(text)
		}
	}
	return text
}

// values records each value that differs between two structs.
func (c *comparison) values(node, subject string, base, new any) {
	for _, text := range changes(fields(base), fields(new)) {
		c.add(node, subject, text)
	}
}

// compareLists records what differs between two lists. name is what an element
// is called, and inside compares what is nested in two that belong together.
func compareLists[T any](c *comparison, base, new []T, identity func(T) string, name func(T) (node, subject string), inside func(a, b T)) {
	both, missing, extra := pairs(base, new, identity)
	for _, p := range both {
		node, subject := name(p[0])
		c.values(node, subject+":", p[0], p[1])
		inside(p[0], p[1])
	}
	for _, one := range missing {
		node, subject := name(one)
		c.add(node, subject, "is missing")
	}
	for _, one := range extra {
		node, subject := name(one)
		c.add(node, subject, "is new")
	}
}

func nothingInside[T any](T, T) {}

func (c *comparison) mode() {
	base, new := c.base.Mode, c.new.Mode
	c.values("", "mode:", base, new)
	a, b := reflect.ValueOf(base), reflect.ValueOf(new)
	for _, f := range reflect.VisibleFields(a.Type()) {
		if of, perNode := a.FieldByIndex(f.Index).Interface().(map[string]string); perNode {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			c.perNode("mode:", words(name), of, b.FieldByIndex(f.Index).Interface().(map[string]string))
		}
	}
	for _, node := range keys(base.Agents, new.Agents) {
		a, was := base.Agents[node]
		b, is := new.Agents[node]
		if c.there(node, "Cilium's agent", was, is) {
			c.values(node, "Cilium's agent:", a, b)
		}
	}
	if c.there("", "Calico", base.Calico != nil, new.Calico != nil) && base.Calico != nil {
		c.values("", "Calico:", *base.Calico, *new.Calico)
		for _, name := range keys(base.Calico.Components, new.Calico.Components) {
			if a, b := base.Calico.Components[name], new.Calico.Components[name]; a != b {
				c.add("", "Calico:", "component "+name+" "+arrow(a, b))
			}
		}
	}
}

// there records what only one side has, and says whether there is more to
// compare.
func (c *comparison) there(node, subject string, was, is bool) bool {
	switch {
	case was && !is:
		c.add(node, subject, "is missing")
	case is && !was:
		c.add(node, subject, "is new")
	}
	return was == is
}

func (c *comparison) perNode(subject, name string, base, new map[string]string) {
	for _, node := range keys(base, new) {
		if base[node] != new[node] {
			c.add(node, subject, name+" "+arrow(base[node], new[node]))
		}
	}
}

func keys[T any](a, b map[string]T) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

func (c *comparison) service() {
	a, b := c.base.Service, c.new.Service
	if c.there("", "the Service", a.Name != "", b.Name != "") {
		c.values("", "the Service:", a, b)
	}
}

func (c *comparison) endpoints() {
	compareLists(c, c.base.Endpoints, c.new.Endpoints,
		func(e evidence.NormalizedEndpoint) string { return e.Address },
		func(e evidence.NormalizedEndpoint) (string, string) { return "", "endpoint " + e.Address },
		nothingInside)
}

func (c *comparison) nodes() {
	compareLists(c, c.base.Nodes, c.new.Nodes,
		func(n evidence.NormalizedNode) string { return n.Node },
		func(n evidence.NormalizedNode) (string, string) { return n.Node, "kernel state" },
		func(a, b evidence.NormalizedNode) {
			compareLists(c, a.Tables, b.Tables,
				func(t evidence.NormalizedTable) string { return t.File },
				func(t evidence.NormalizedTable) (string, string) { return a.Node, "table " + path.Base(t.File) },
				func(x, y evidence.NormalizedTable) {
					in := ""
					if several(a.Tables, b.Tables) {
						in = " in " + path.Base(x.File)
					}
					c.frontends(a.Node, in, x.Frontends, y.Frontends)
				})
		})
}

// several says that more than one table of a node has frontends: each has to be
// named then.
func several(base, new []evidence.NormalizedTable) bool {
	files := map[string]bool{}
	for _, t := range slices.Concat(base, new) {
		if len(t.Frontends) > 0 {
			files[t.File] = true
		}
	}
	return len(files) > 1
}

func (c *comparison) frontends(node, in string, base, new []evidence.NormalizedFrontend) {
	name := func(f evidence.NormalizedFrontend) string { return c.frontend(node, f) + in }
	compareLists(c, base, new,
		func(f evidence.NormalizedFrontend) string {
			return fmt.Sprint(f.Kind, f.Address, f.Port, f.Protocol, f.Service)
		},
		func(f evidence.NormalizedFrontend) (string, string) { return node, name(f) },
		func(a, b evidence.NormalizedFrontend) {
			compareLists(c, a.Backends, b.Backends,
				func(b evidence.NormalizedBackend) string { return fmt.Sprint(b.Address, b.Port) },
				func(b evidence.NormalizedBackend) (string, string) { return node, name(a) + ": backend " + b.Address },
				nothingInside)
		})
}

// frontend names one: "svc:default/kubernetes ClusterIP 443". A NodePort is the
// Service's that the experiment is about where its table does not say whose.
func (c *comparison) frontend(node string, f evidence.NormalizedFrontend) string {
	of, _, _ := strings.Cut(f.Service, ":")
	if s := c.base.Service; of == "" && f.Kind == collect.NodePort && f.Port == s.NodePort {
		of = s.Namespace + "/" + s.Name
	}
	at := f.Address
	switch {
	case of == "":
		of, at = f.Address, ""
	default:
		of = "svc:" + of
	}
	text := fmt.Sprintf("%s %s %d", of, f.Kind, f.Port)
	if f.Kind == "" {
		text = fmt.Sprintf("%s %d", of, f.Port)
	}
	if f.Protocol != "TCP" {
		text += "/" + f.Protocol
	}
	if !slices.Contains([]string{"", "any", of, "node:" + node}, at) {
		text += " at " + at
	}
	return text
}

func (c *comparison) traffic() {
	compareLists(c, c.base.Traffic, c.new.Traffic,
		func(t evidence.NormalizedTraffic) string { return t.Name },
		func(t evidence.NormalizedTraffic) (string, string) { return "", "traffic " + t.Name },
		func(a, b evidence.NormalizedTraffic) { c.walks("traffic "+a.Name+": walk", a.Walks, b.Walks) })
}

// walks are one a node for a client that dials one address.
func (c *comparison) walks(subject string, base, new []evidence.NormalizedWalk) {
	compareLists(c, base, new,
		func(w evidence.NormalizedWalk) string { return w.Node },
		func(w evidence.NormalizedWalk) (string, string) { return w.Node, subject },
		nothingInside)
}

// checks that passed and do not now are regressions, and so is one that fails.
func (c *comparison) checks() {
	verdicts := func(of []evidence.NormalizedCheck) (ids []string, by map[string]collect.Verdict) {
		by = map[string]collect.Verdict{}
		for _, check := range of {
			ids, by[check.ID] = append(ids, check.ID), check.Verdict
		}
		return ids, by
	}
	ids, base := verdicts(c.base.Checks)
	more, new := verdicts(c.new.Checks)
	for _, id := range more {
		if _, known := base[id]; !known {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		was, is := base[id], new[id]
		if was == is {
			continue
		}
		kind := Change
		switch {
		case was == collect.Pass || is == collect.Fail:
			kind = Regression
		case is == collect.Pass:
			kind = Improvement
		}
		text := fmt.Sprintf("%s → %s", was, is)
		switch {
		case was == "":
			text = fmt.Sprintf("is new: %s", is)
		case is == "":
			text = fmt.Sprintf("is missing, was: %s", was)
		}
		c.addKind(kind, "", "check "+id+":", text)
	}
}
