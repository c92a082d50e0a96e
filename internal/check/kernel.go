package check

import (
	"fmt"
	"math"
	"net/netip"
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/ipvs"
)

func kernelChecks() []Definition {
	return []Definition{
		{"kernel.table", "On every node the kernel's service table is what the API asks for, no more and no less.", table},
		{"kernel.unparsed", "No line of the kernel's service tables was left that is not understood.", unparsed},
		{"kernel.conntrack", "On every node the tracked connections to the Service were translated to its ready endpoints and nothing else.", tracked},
	}
}

// decodedFrom are the files that must be usable for the encoding to be judged.
func decodedFrom(in subject, role, encoding string) []string {
	files := evidence.TableFiles(role, encoding)
	switch t := in.state(role).Table(encoding); {
	case encoding == "nftables" && t != nil:
		return []string{t.File} // one form is enough
	case encoding == "ipvs" && encoding != in.expect.Encoding:
		return []string{role + "/" + ipvs.ServicesFile} // lists every virtual service
	}
	return files
}

func table(in subject, j *judgement) {
	if !j.usable(in, evidence.ServicesFile, evidence.EndpointSlicesFile, evidence.PodsFile, evidence.NodesFile) {
		return
	}
	if len(in.Objects.Expected.Frontends) == 0 {
		j.undecided("cluster", collect.Ref{File: evidence.ServicesFile}, "no Service is expected anywhere: equality would prove nothing")
	}
	for _, role := range spec.Roles {
		files := append(decodedFrom(in, role, in.expect.Encoding), role+"/"+evidence.AddressesFile)
		got := in.state(role).Table(in.expect.Encoding)
		switch {
		case !j.usable(in, files...):
		case got == nil:
			j.undecided(role, collect.Ref{}, "%s was not read", in.expect.Encoding)
		default:
			equal(in, in.node(role), *got, j)
			if len(got.Unparsed) > 0 {
				j.undecided(role, collect.Ref{File: got.File, Line: got.Unparsed[0]}, "%d lines are not understood: the table may be incomplete", len(got.Unparsed))
			}
		}
	}
}

// equal compares a node's table with the expected one, both ways.
func equal(in subject, node collect.Node, got collect.NodeTable, j *judgement) {
	found := map[string][]collect.Frontend{}
	for _, f := range got.Frontends {
		if key, ok := frontendKey(f); ok {
			found[key] = append(found[key], f)
		}
	}
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
		if len(found[key]) == 0 {
			j.contradict(node.Role, collect.Ref{File: got.File}, "missing: %s %s of %s", want.Kind, key, want.Service)
		}
		for _, f := range found[key] {
			for _, d := range differences(want, f, got.Encoding) {
				j.contradict(node.Role, collect.Ref{File: got.File, Line: d.line}, "%s %s of %s: %s", f.Kind, f.Endpoint(), want.Service, d.text)
			}
		}
		if want.Kind == collect.NodePort {
			reachable(node, got, found[key], j)
		}
	}
	for _, f := range got.Frontends {
		if key, ok := frontendKey(f); ok && !asked[key] {
			j.contradict(node.Role, collect.Ref{File: got.File, Line: f.Line}, "extra: %s %s", f.Kind, f.Endpoint())
		}
	}
	j.quote(node.Role, collect.Ref{File: got.File}, "%d frontends", len(got.Frontends))
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
// at the node's own address, and at no address that is not the node's.
func reachable(node collect.Node, t collect.NodeTable, frontends []collect.Frontend, j *judgement) {
	internal := len(frontends) == 0
	for _, f := range frontends {
		internal = internal || !f.Address.IsValid() || f.Address == node.InternalIP
		if f.Address.IsValid() && !slices.Contains(node.Addresses, f.Address) {
			j.contradict(node.Role, collect.Ref{File: t.File, Line: f.Line}, "NodePort %s: the node has no such address", f.Endpoint())
		}
	}
	if !internal {
		j.contradict(node.Role, collect.Ref{File: t.File, Line: frontends[0].Line}, "NodePort %d is not listed at the node's address %s", frontends[0].Port, node.InternalIP)
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

type difference struct {
	text string
	line collect.Line
}

// differences are what a kernel's frontend has otherwise than wanted. What its
// encoding does not say is not compared: the Service, what becomes of a
// connection without backends, whether an address of the outside is a load
// balancer's, in IPVS the policy of a ClusterIP.
func differences(want, got collect.Frontend, encoding string) []difference {
	var all []difference
	compare := func(name string, got, want any, line collect.Line) {
		if got != want {
			all = append(all, difference{fmt.Sprintf("%s is %v, want %v", name, got, want), line})
		}
	}
	outside := func(k collect.FrontendKind) bool { return k != collect.ClusterIP && k != collect.NodePort }
	if !outside(want.Kind) || !outside(got.Kind) {
		compare("kind", got.Kind, want.Kind, got.Line)
	}
	if got.Service != "" {
		compare("service", got.Service, want.Service, got.Line)
	}
	programmed := activeOnly(got.Backends)
	at := func(b collect.Backend) netip.AddrPort { return netip.AddrPortFrom(b.Address, b.Port) }
	has := func(all []collect.Backend, b collect.Backend) bool {
		return slices.ContainsFunc(all, func(other collect.Backend) bool { return at(other) == at(b) })
	}
	for _, b := range want.Backends {
		if !has(programmed, b) {
			all = append(all, difference{fmt.Sprintf("backend %s is missing", at(b)), got.Line})
		}
	}
	for _, b := range programmed {
		switch share := 1 / float64(len(want.Backends)); {
		case !has(want.Backends, b):
			all = append(all, difference{fmt.Sprintf("backend %s is no endpoint", at(b)), b.Line})
		case want.Selection == collect.SelectRandom && math.Abs(b.Probability-share) > 1e-6:
			all = append(all, difference{fmt.Sprintf("backend %s has probability %.6f, want %.6f", at(b), b.Probability, share), b.Line})
		case want.Selection == collect.SelectRoundRobin:
			compare(fmt.Sprintf("weight of backend %s", at(b)), b.Weight, 1, b.Line)
		}
	}
	if len(want.Backends) == 0 {
		if got.NoBackends != "" {
			compare("connection without backends", got.NoBackends, want.NoBackends, got.Line)
		}
		return all
	}
	compare("selection", got.Selection, want.Selection, got.Line)
	compare("affinity in seconds", got.AffinitySeconds, want.AffinitySeconds, got.Line)
	compare("masquerade", got.Masquerade, want.Masquerade, got.Line)
	if encoding != "ipvs" || want.Kind != collect.ClusterIP {
		compare("policy", got.Policy, want.Policy, got.Line)
	}
	return all
}

func unparsed(in subject, j *judgement) {
	encodings := append([]string{in.expect.Encoding}, in.expect.Forbidden...)
	if in.expect.Encoding == "ipvs" {
		// That mode has iptables rules of its own, which match ip sets.
		encodings = slices.DeleteFunc(encodings, func(e string) bool { return e == "iptables" })
	}
	for _, role := range spec.Roles {
		state := in.state(role)
		for _, encoding := range encodings {
			if !j.usable(in, decodedFrom(in, role, encoding)...) {
				continue
			}
			if state.Table(encoding) == nil {
				j.undecided(role, collect.Ref{}, "%s was not read", encoding)
			}
			for _, t := range state.Tables {
				for _, line := range t.Unparsed {
					if t.Encoding == encoding {
						j.contradict(role, collect.Ref{File: t.File, Line: line}, "not understood: %s", line.Text)
					}
				}
			}
		}
	}
}

func tracked(in subject, j *judgement) {
	if !j.usable(in, evidence.ServicesFile, evidence.EndpointSlicesFile) {
		return
	}
	service, connections := in.Objects.Service, 0
	for _, role := range spec.Roles {
		var files judgement
		if !files.usable(in, evidence.ConntrackFiles(role)...) {
			j.skip = "connection tracking could not be read: " + summary(files.open)
			continue
		}
		if !j.usable(in, role+"/"+evidence.AddressesFile) {
			continue
		}
		for _, t := range in.state(role).Translations {
			// Another node's port is passed on as it is.
			toNode := t.Destination.Port() == service.NodePort && slices.Contains(in.node(role).Addresses, t.Destination.Addr())
			if !toNode && t.Destination != netip.AddrPortFrom(service.ClusterIP, service.Port) {
				continue
			}
			connections += t.Count
			switch {
			case !t.Backend.IsValid():
				j.contradict(role, t.Ref, "%d connections to %s are not translated", t.Count, t.Destination)
			case !in.isEndpoint(t.Backend):
				j.contradict(role, t.Ref, "%d connections to %s are translated to %s, which is no ready endpoint", t.Count, t.Destination, t.Backend)
			default:
				j.quote(role, t.Ref, "%d connections to %s are translated to %s", t.Count, t.Destination, t.Backend)
			}
		}
	}
	if connections == 0 && j.skip == "" {
		client := in.experiment.Workload.ClientNode
		j.undecided(client, collect.Ref{File: evidence.ConntrackFiles(client)[0]}, "no connection to the Service is tracked, here or on any other node")
	}
}

func (in subject) isEndpoint(backend netip.AddrPort) bool {
	return slices.ContainsFunc(in.ready(), func(e collect.Endpoint) bool {
		return netip.AddrPortFrom(e.Address, e.Port) == backend
	})
}
