package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
)

// noProxySelector is the label the operator demands of a node that is to have a
// kube-proxy, and no node has (pkg/render, Tigera operator v1.40).
const noProxySelector = "operator.tigera.io/disable-kube-proxy"

// calicoMode is what the operator was asked for, what it says it has done, and
// what it configured Felix to do.
func (s *source) calicoMode() *collect.CalicoMode {
	m := &collect.CalicoMode{Components: s.components()}
	installation := decoded(s, InstallationFile, calico.DecodeInstallation)
	said := func(value, file string, line collect.Line) collect.Observation {
		return collect.Observation{Value: value, Ref: collect.Ref{File: file, Line: line}}
	}
	m.Dataplane = said(installation.Dataplane, InstallationFile, installation.Lines.Dataplane)
	m.Bootstrap = said(installation.Bootstrap, InstallationFile, installation.Lines.Bootstrap)
	m.KubeProxyManagement = said(installation.KubeProxyManagement, InstallationFile, installation.Lines.KubeProxyManagement)
	m.Version = said(installation.Version, InstallationFile, installation.Lines.Version)
	felix := decoded(s, FelixFile, calico.DecodeFelix)
	m.BPF = said("", FelixFile, felix.Lines.BPFEnabled)
	m.UsageReporting = said("", FelixFile, felix.Lines.UsageReporting)
	m.ConnectTime = said(felix.ConnectTime, FelixFile, felix.Lines.ConnectTime)
	if !s.unusable[FelixFile] {
		m.BPF.Value, m.UsageReporting.Value = onOff(felix.BPFEnabled), onOff(felix.UsageReporting)
	}
	m.ProxyNodes, m.ProxySelector = s.proxyNodes()
	return m
}

func onOff(on bool) string {
	if on {
		return collect.Enabled
	}
	return collect.Disabled
}

// decoded is a file as its decoder reads it, or the zero value and a problem.
func decoded[T any](s *source, file string, decode func([]byte) (T, error)) T {
	var none T
	raw, ok := s.captured(file)
	if !ok {
		return none
	}
	value, err := decode(raw)
	if err != nil {
		s.problem(file, "%v", err)
		return none
	}
	return value
}

// components are the operator's, by what it says of each.
func (s *source) components() []collect.Component {
	all := []collect.Component{}
	for _, status := range decoded(s, TigeraStatusFile, calico.DecodeTigeraStatus) {
		c := collect.Component{Name: status.Component, State: collect.Observation{Value: "unknown", Ref: collect.Ref{File: TigeraStatusFile}}}
		for _, state := range []struct {
			name string
			calico.Condition
		}{{"degraded", status.Degraded}, {"progressing", status.Progressing}, {"available", status.Available}} {
			if state.True() {
				c.State.Value, c.State.Ref.Line = state.name, state.Line
				break
			}
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b collect.Component) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// proxyNodes reads the DaemonSet of kube-proxy, which the operator leaves in
// place: how many nodes it is meant for, and whether the operator's selector
// keeps it off them.
func (s *source) proxyNodes() (nodes, selector collect.Observation) {
	nodes, selector = collect.Observation{Ref: collect.Ref{File: DaemonSetFile}}, collect.Observation{Ref: collect.Ref{File: DaemonSetFile}}
	if absent, ok := s.absent(DaemonSetFile); ok {
		return absent, absent
	}
	object := decoded(s, DaemonSetFile, decodeDaemonSet)
	if s.unusable[DaemonSetFile] {
		return nodes, selector
	}
	// A status of before the last change counts nodes that it no longer concerns,
	// and one that was never written counts none.
	if seen := object.Status.ObservedGeneration; seen == 0 || seen < object.Generation {
		nodes.Ref.Line.Text = fmt.Sprintf("generation: %d, observedGeneration: %d", object.Generation, seen)
	} else {
		nodes.Value = fmt.Sprint(object.Status.DesiredNumberScheduled)
		nodes.Ref.Line.Text = fmt.Sprintf("desiredNumberScheduled: %d", object.Status.DesiredNumberScheduled)
	}
	selector.Value = collect.Absent
	selector.Ref.Line.Text = fmt.Sprintf("nodeSelector: %v", object.Spec.Template.Spec.NodeSelector)
	if object.Spec.Template.Spec.NodeSelector[noProxySelector] == "true" {
		selector.Value = collect.Present
	}
	return nodes, selector
}

// calicoHooks are the programs at the node's cgroup that are Calico's. bpftool
// lists some that are not attached there at all.
func (s *source) calicoHooks(role string) collect.Observation {
	file := onNode(role, calico.CgroupFile)
	hooks := collect.Observation{Ref: collect.Ref{File: file}}
	if absent, ok := s.absent(file); ok {
		return absent
	}
	programs := decoded(s, file, calico.DecodeAttached)
	if s.unusable[file] {
		return hooks
	}
	var names []string
	for _, p := range programs {
		if !p.OfCalico() {
			continue
		}
		names = append(names, p.Name+" at "+p.AttachType)
		if hooks.Ref.Line.Text == "" {
			hooks.Ref.Line = p.Line
		}
	}
	slices.Sort(names)
	hooks.Value = strings.Join(names, ", ")
	if len(names) == 0 {
		hooks.Value = collect.Absent
		hooks.Ref.Line.Text = fmt.Sprintf("%d programs listed, none of Calico", len(programs))
	}
	return hooks
}

// calicoTable decodes the NAT maps. The text is there for people, and for versions
// that know no JSON.
func (s *source) calicoTable(role string, state *collect.NodeState) {
	file, text, affinity := onNode(role, calico.NATFile), onNode(role, calico.NATTextFile), onNode(role, calico.AffinityFile)
	var raw calico.Raw
	raw.NATText, _ = s.captured(text)
	_, recorded := s.records[file]
	var known, complete bool
	raw.NAT, known = s.optional(file)
	raw.Affinity, complete = s.optional(affinity)
	if !complete || recorded && !known {
		return
	}
	if !recorded || s.records[file].Outcome == collect.NotThere {
		file = text
		if s.unusable[text] {
			return
		}
	} else {
		raw.NATText = nil // JSON of nothing is a failure, and not read from the text
	}
	table, err := calico.Decode(raw)
	s.addTable(file, table, err, state)
}

// calicoFlows are Calico's own record of connections that its programs on
// network devices translate. One that connect() has translated carries the
// backend's address from its first packet and is none of them.
func (s *source) calicoFlows(role string) []flow {
	file := onNode(role, calico.ConntrackFile)
	var flows []flow
	for _, f := range decoded(s, file, calico.DecodeConntrack) {
		if f.Type == calico.FlowNAT && f.Protocol == "TCP" {
			flows = append(flows, flow{
				Translation: collect.Translation{
					Tracker: collect.TrackedByCalico, Destination: f.Service, Backend: f.Destination,
					Ref: collect.Ref{File: file, Line: f.Line},
				},
				source: f.Source.Addr(),
			})
		}
	}
	return flows
}
