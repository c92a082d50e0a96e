package evidence

import (
	"fmt"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/cilium"
)

// declaredReplacement is what Helm's values became in the agent's ConfigMap.
func (s *source) declaredReplacement() collect.Observation {
	const key = "kube-proxy-replacement"
	declared := collect.Observation{Ref: collect.Ref{File: CiliumConfigFile}}
	data, ok := s.configMap(CiliumConfigFile)
	if !ok {
		return declared
	}
	value, ok := data[key]
	if !ok {
		s.problem(CiliumConfigFile, "has no %s", key)
		return declared
	}
	declared.Value = value
	declared.Ref.Line.Text = fmt.Sprintf("%s: %q", key, value)
	return declared
}

// agent is what the agent of a node says of itself. Its other files are only
// recorded: they explain, and nothing is decoded from them.
func (s *source) agent(role string) *collect.AgentMode {
	for _, c := range cilium.Commands("", "") {
		s.optional(onNode(role, c.File))
	}
	file := onNode(role, cilium.StatusFile)
	var status cilium.Status
	if raw, ok := s.captured(file); ok {
		var err error
		if status, err = cilium.DecodeStatus(raw); err != nil {
			s.problem(file, "%v", err)
		}
	}
	said := func(value string, line collect.Line) collect.Observation {
		return collect.Observation{Value: value, Ref: collect.Ref{File: file, Line: line}}
	}
	m := &collect.AgentMode{
		KubeProxyReplacement: said(status.KubeProxyReplacement, status.Lines.KubeProxyReplacement),
		SocketLB:             said("", status.Lines.SocketLB),
		AttachMode:           said(status.AttachMode, status.Lines.AttachMode),
		Version:              said(status.Version, status.Lines.Version),
		State:                said(status.State, status.Lines.State),
		Health:               s.health(role),
	}
	switch {
	case status.SocketLB:
		m.SocketLB.Value = collect.Enabled
	case status.KubeProxyReplacement != "":
		// The agent leaves out what is false. Without the object that would
		// hold it, it has said nothing yet.
		m.SocketLB.Value = collect.Disabled
	}
	return m
}

// health is how many nodes the probes of a node's agent reach. Of nodes the
// first round has not come to yet nothing is known: 0/0.
func (s *source) health(role string) collect.Observation {
	file := onNode(role, cilium.HealthFile)
	health := collect.Observation{Ref: collect.Ref{File: file}}
	if absent, ok := s.absent(file); ok {
		return absent
	}
	raw, ok := s.captured(file)
	if !ok {
		return health
	}
	found, err := cilium.DecodeHealth(raw)
	if err != nil {
		s.problem(file, "%v", err)
		return health
	}
	health.Value = fmt.Sprintf("%d/%d reachable", found.Reachable, found.Total)
	health.Ref.Line.Text = health.Value
	if len(found.Unreachable) > 0 {
		health.Ref.Line.Text += ", not " + strings.Join(found.Unreachable, ", ")
	}
	return health
}

// AllReachable says whether an agent's probes reach every node they know.
func AllReachable(health collect.Observation) bool {
	var reachable, total int
	_, err := fmt.Sscanf(health.Value, "%d/%d", &reachable, &total)
	return err == nil && total > 0 && reachable == total
}

// ciliumTables are the maps and the agent's own list.
func (s *source) ciliumTables(role string, state *collect.NodeState) {
	lb := onNode(role, cilium.LBFile)
	var raw cilium.Raw
	var ok, counted, described bool
	raw.LB, ok = s.captured(lb)
	raw.Frontends, counted = s.captured(onNode(role, cilium.FrontendsFile))
	raw.Status, described = s.captured(onNode(role, cilium.StatusFile))
	if ok && counted && described {
		table, err := cilium.Decode(raw)
		s.addTable(lb, table, err, state)
	}
	list := onNode(role, cilium.ServicesFile)
	if services, ok := s.captured(list); ok {
		table, err := cilium.DecodeServices(services)
		s.addTable(list, table, err, state)
	}
}

func (s *source) addTable(file string, table collect.ServiceTable, err error, state *collect.NodeState) {
	if err != nil {
		s.problem(file, "%v", err)
		return
	}
	state.Tables = append(state.Tables, collect.NodeTable{File: file, ServiceTable: table})
}

// ciliumFlows are Cilium's own record of connections that its programs on
// network devices translate. One that connect() has translated is none of them.
func (s *source) ciliumFlows(role string) []flow {
	file := onNode(role, cilium.ConntrackFile)
	raw, ok := s.captured(file)
	lb, lbOK := s.captured(onNode(role, cilium.LBFile))
	frontends, frontendsOK := s.captured(onNode(role, cilium.FrontendsFile))
	if !ok || !lbOK || !frontendsOK {
		return nil
	}
	tracked, err := cilium.DecodeConntrack(raw)
	if err != nil {
		s.problem(file, "%v", err)
		return nil
	}
	backends, err := cilium.BackendAddresses(lb, frontends)
	if err != nil {
		s.problem(onNode(role, cilium.FrontendsFile), "%v", err)
		return nil
	}
	var flows []flow
	for _, f := range tracked {
		if f.Direction == "SVC" && f.Protocol == "TCP" {
			flows = append(flows, flow{
				Translation: collect.Translation{
					Tracker: collect.TrackedByCilium, Destination: f.Destination, Backend: backends[f.BackendID],
					Ref: collect.Ref{File: file, Line: f.Line},
				},
				source: f.Source.Addr(),
			})
		}
	}
	return flows
}
