package check

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
)

// account is one account of a node's service table. Cilium has two: what the
// agent means to program, and the maps it programs.
type account struct {
	collect.NodeTable
	name  string // "" where it is the only one
	other *account
}

// in is where something is missing or too much.
func (a account) in() string {
	if a.name == "" {
		return ""
	}
	return " in " + a.name
}

// beside says what the other account has, where there is one.
func (a account) beside(here bool, has func(account) bool) string {
	if a.other == nil {
		return ""
	}
	text := ", " + a.other.name + " lacks it"
	there := has(*a.other)
	if there {
		text = ", " + a.other.name + " has it"
	}
	if here == there {
		text += " too"
	}
	return text
}

func (a account) frontends(key string) []collect.Frontend {
	return slices.DeleteFunc(slices.Clone(a.Frontends), func(f collect.Frontend) bool {
		own, ok := frontendKey(f)
		return !ok || own != key
	})
}

func table(in subject, j *judgement) {
	if !j.usable(in, evidence.ServicesFile, evidence.EndpointSlicesFile, evidence.PodsFile, evidence.NodesFile) {
		return
	}
	if len(in.Objects.Expected.Frontends) == 0 {
		j.undecided("cluster", collect.Ref{File: evidence.ServicesFile}, "no Service is expected anywhere: equality would prove nothing")
	}
	for _, role := range spec.Roles {
		if !j.usable(in, role+"/"+evidence.AddressesFile) {
			continue
		}
		for _, a := range in.accounts(role, j) {
			equal(in, in.node(role), a, j)
			judgeUnparsed(role, a, j)
		}
	}
}

// accounts are those of a node that could be read.
func (in subject) accounts(role string, j *judgement) []account {
	names := map[string]string{in.expect.Encoding: ""}
	encodings := []string{in.expect.Encoding}
	if in.expect.Encoding == cilium.Encoding {
		names = map[string]string{cilium.Encoding: "the BPF map", cilium.AgentEncoding: "the agent's list"}
		encodings = append(encodings, cilium.AgentEncoding)
	}
	var all []account
	for _, encoding := range encodings {
		got := in.state(role).Table(encoding)
		switch {
		case !j.usable(in, decodedFrom(in, role, encoding)...):
		case got == nil:
			j.undecided(role, collect.Ref{}, "%s was not read", encoding)
		default:
			all = append(all, account{NodeTable: *got, name: names[encoding]})
		}
	}
	if len(all) == 2 {
		all[0].other, all[1].other = &all[1], &all[0]
	}
	return all
}

// judgeUnparsed: a table with lines that are not understood may be incomplete.
func judgeUnparsed(role string, a account, j *judgement) {
	var rest []collect.Line
	for _, line := range a.Unparsed {
		if contradictory(a.Encoding, line) {
			j.contradict(role, collect.Ref{File: a.File, Line: line}, "the map contradicts itself")
		} else {
			rest = append(rest, line)
		}
	}
	if len(rest) > 0 {
		j.undecided(role, collect.Ref{File: a.File, Line: rest[0]}, "%d lines are not understood: the table may be incomplete", len(rest))
	}
}

// dumpsDiffer are the reasons for which package cilium keeps a row out of the
// table that it does understand: the plain dump lacks what the one with the
// counts has, or the other way round.
var dumpsDiffer = regexp.MustCompile(` # (not in ` + cilium.LBFile + `|not in ` + cilium.FrontendsFile +
	`|slot \d+ is missing|a slot without a frontend|` + cilium.FrontendsFile + ` (counts|has the number) .*)$`)

// rowsDiffer are those of package calico: a frontend counts other backends than
// there are.
var rowsDiffer = regexp.MustCompile(` # (more local backends than backends|counts \d+ backends, here are \d+` +
	`|the frontend counts \d+ backends|not in the backend map: .*)$`)

// contradictory tells a row that another row or dump of the same map contradicts
// from one that is not understood. It speaks of the state, not of the decoder.
func contradictory(encoding string, line collect.Line) bool {
	switch encoding {
	case cilium.Encoding:
		return dumpsDiffer.MatchString(line.Text)
	case calico.Encoding:
		return rowsDiffer.MatchString(line.Text)
	}
	return false
}

// equal compares a node's table with the expected one, both ways.
func equal(in subject, node collect.Node, got account, j *judgement) {
	asked := map[string]bool{}
	for _, want := range in.Objects.Expected.Frontends {
		key, ok := frontendKey(want)
		if !ok {
			continue
		}
		asked[key] = true
		if here := in.backendsOn(node.Role, want); len(here) < len(want.Backends) {
			want.Backends, want.NoBackends = here, "drop"
		}
		found := got.frontends(key)
		if len(found) == 0 {
			j.contradict(node.Role, collect.Ref{File: got.File}, "missing%s%s: %s %s of %s", got.in(),
				got.beside(false, func(a account) bool { return len(a.frontends(key)) > 0 }), want.Kind, key, want.Service)
		}
		for _, f := range found {
			for _, d := range differences(want, f, got) {
				j.contradict(node.Role, collect.Ref{File: got.File, Line: d.line}, "%s %s of %s: %s", f.Kind, f.Endpoint(), want.Service, d.text)
			}
		}
		if want.Kind == collect.NodePort {
			reachable(node, got, found, j)
		}
	}
	for _, f := range got.Frontends {
		if key, ok := frontendKey(f); ok && !asked[key] {
			j.contradict(node.Role, collect.Ref{File: got.File, Line: f.Line}, "extra%s%s: %s %s", got.in(),
				got.beside(true, func(a account) bool { return len(a.frontends(key)) > 0 }), f.Kind, f.Endpoint())
		}
	}
	text := fmt.Sprintf("%d frontends", len(got.Frontends))
	j.quote(node.Role, collect.Ref{File: got.File}, "%s%s", text, got.in())
}

// frontendKey is what a packet is looked up by, all addresses of a NodePort
// being one. There is none for IPv6, which is not compared.
func frontendKey(f collect.Frontend) (string, bool) {
	if f.Address.Is6() {
		return "", false
	}
	if f.Kind == collect.NodePort {
		f.Address = netip.Addr{}
	}
	return f.Endpoint(), true
}

// reachable says whether a NodePort that is listed address by address is there
// at the node's own address, and at no address that is not the node's. In the
// maps of Cilium and Calico the row without an address serves connections from
// the node and its pods to other nodes' ports: both are needed.
func reachable(node collect.Node, t account, frontends []collect.Frontend, j *judgement) {
	if len(frontends) == 0 {
		return
	}
	any, internal := false, false
	for _, f := range frontends {
		any = any || !f.Address.IsValid()
		internal = internal || f.Address == node.InternalIP
		if f.Address.IsValid() && !slices.Contains(node.Addresses, f.Address) {
			j.contradict(node.Role, collect.Ref{File: t.File, Line: f.Line}, "NodePort %s: the node has no such address", f.Endpoint())
		}
	}
	perUse := t.Encoding == cilium.Encoding || t.Encoding == calico.Encoding
	ref := collect.Ref{File: t.File, Line: frontends[0].Line}
	if !internal && (perUse || !any) {
		j.contradict(node.Role, ref, "NodePort %d is not listed at the node's address %s", frontends[0].Port, node.InternalIP)
	}
	if perUse && !any {
		j.contradict(node.Role, ref, "NodePort %d is not listed without an address, where connections from the node and its pods look for it", frontends[0].Port)
	}
}

// backendsOn are the backends a node is to have: with local policy its own,
// terminating ones only where there is no other.
func (in subject) backendsOn(role string, f collect.Frontend) []collect.Backend {
	if f.Policy != collect.PolicyLocal {
		return f.Backends
	}
	own := slices.Clone(in.node(role).Addresses)
	for _, p := range in.Objects.Pods {
		if p.Node == role {
			own = append(own, p.Address)
		}
	}
	here := slices.DeleteFunc(slices.Clone(f.Backends), func(b collect.Backend) bool { return !slices.Contains(own, b.Address) })
	if active := activeOnly(here); len(active) > 0 {
		return active
	}
	return here
}

// activeOnly leaves out backends that take no new connections.
func activeOnly(all []collect.Backend) []collect.Backend {
	return slices.DeleteFunc(slices.Clone(all), func(b collect.Backend) bool { return b.State != collect.Active })
}
