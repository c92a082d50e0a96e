package report

import (
	"errors"
	"io/fs"
	"slices"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
)

// hasPlane says whether something was to be there that can implement Services in
// kube-proxy's place, and has maps and a tracker of its own.
func hasPlane(e collect.Evidence) bool { return hasAgents(e) || hasCalico(e) }

// hasAgents says whether Cilium was to be there.
func hasAgents(e collect.Evidence) bool {
	return e.Mode.Agent.Ref.File != "" || slices.ContainsFunc(e.Mode.Nodes, func(n collect.NodeMode) bool { return n.Agent != nil })
}

// hasCalico says whether Calico was to be there. Its maps tell too, should its
// objects not.
func hasCalico(e collect.Evidence) bool {
	return e.Mode.Calico != nil || knows(e, collect.TrackedByCalico) ||
		slices.ContainsFunc(e.Mode.Nodes, func(n collect.NodeMode) bool { return n.Hooks.Ref.File != "" }) ||
		slices.ContainsFunc(e.Kernel, func(s collect.NodeState) bool { return s.Table(calico.Encoding) != nil })
}

// felixTranslates says whether Felix is configured to implement Services: Enabled,
// Disabled or, where that is not known, "".
func felixTranslates(m collect.Mode) string {
	if m.Calico == nil {
		return ""
	}
	return m.Calico.BPF.Value
}

// maker is whose maps an encoding is read from; "" where they are the kernel's.
func maker(encoding string) string {
	switch encoding {
	case cilium.Encoding:
		return "Cilium"
	case calico.Encoding:
		return "Calico"
	}
	return ""
}

// replaced says whether the maker of an encoding implements Services in
// kube-proxy's place on a node: Cilium by what its agent there says, Calico by
// what Felix is configured to and by there being no kube-proxy, or none meant to
// be.
func replaced(e collect.Evidence, encoding, node string) bool {
	n := modeOn(e, node)
	switch encoding {
	case cilium.Encoding:
		return n.Agent != nil && n.Agent.KubeProxyReplacement.Value == "True"
	case calico.Encoding:
		return felixTranslates(e.Mode) == collect.Enabled && !proxyFound(n) &&
			(n.Process.Value == collect.Absent || e.Mode.Calico.ProxyNodes.Value == "0" || e.Mode.Calico.ProxyNodes.Value == collect.Absent)
	}
	return false
}

// modeOn is what runs on a node; zero where that was not recorded.
func modeOn(e collect.Evidence, node string) collect.NodeMode {
	for _, n := range e.Mode.Nodes {
		if n.Node == node {
			return n
		}
	}
	return collect.NodeMode{}
}

// optional is a raw file, or nothing where it is not there.
func optional(raw fs.FS, file string) ([]byte, error) {
	data, err := fs.ReadFile(raw, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// attached quotes the programs of a list that are a data plane's own. The kernel
// numbers programs anew on every node, so that own gives what nodes can have in
// common.
func attached[P any](raw fs.FS, file string, decode func([]byte) ([]P, error), own func(P) (quoted, bool)) ([]quoted, error) {
	data, err := optional(raw, file)
	if err != nil {
		return nil, err
	}
	programs, err := decode(data)
	if err != nil {
		return nil, nil // not decoded, and so not quoted
	}
	var all []quoted
	for _, p := range programs {
		if q, ok := own(p); ok {
			all = append(all, q)
		}
	}
	return all, nil
}
