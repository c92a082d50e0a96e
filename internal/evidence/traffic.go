package evidence

import (
	"net/netip"
	"slices"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// traffic has an entry for each entry point whose file could be read.
func (s *source) traffic(experiment spec.ExperimentSpec, expect spec.Expectation) []collect.EntryPoint {
	points := []collect.EntryPoint{}
	for _, p := range experiment.EntryPoints {
		file := TrafficFile(p)
		raw, ok := s.captured(file)
		if !ok {
			continue
		}
		attempts, err := traffic.Parse(raw)
		if err != nil {
			s.problem(file, "%v", err)
			continue
		}
		points = append(points, collect.EntryPoint{
			Name: p.Name, From: p.From, To: p.To, Node: p.Node,
			EntryNode:      entryNode(p, experiment.Workload.ClientNode, expect.Translation),
			ExpectedSource: expectedSource(p, expect.Source),
			Sent:           experiment.Connections, Attempts: attempts, File: file,
		})
	}
	return points
}

// ExpectedTranslation is where the connections through an entry point are to
// be translated. Those of the host start outside of the nodes' cgroups.
func ExpectedTranslation(from, to string, expect spec.Translation) string {
	switch {
	case from == spec.FromHost:
		return spec.TranslatedInPacket
	case to == spec.ToNodePort:
		return expect.NodePort
	}
	return expect.ClusterIP
}

// entryNode is the node whose kernel translates: the client's own for a
// ClusterIP and wherever connect() does it, else the one that is dialled.
func entryNode(p spec.EntryPoint, clientNode string, expect spec.Translation) string {
	atSocket := ExpectedTranslation(p.From, p.To, expect) == spec.TranslatedAtSocket
	switch {
	case p.From == spec.FromClient && (atSocket || p.To != spec.ToNodePort):
		return clientNode
	case p.To == spec.ToNodePort:
		return p.Node
	}
	return ""
}

func expectedSource(p spec.EntryPoint, expect spec.Source) string {
	switch {
	case p.To != spec.ToNodePort:
		return expect.ClusterIP
	case p.From == spec.FromHost && expect.NodePortFromHost != "":
		return expect.NodePortFromHost
	}
	return expect.NodePort
}

// Sources says whether the source that the answer to a connection names is one
// the backends may see, and in words whose it has to be. Without a function
// the words say why that is not known.
func Sources(e collect.Evidence, p collect.EntryPoint) (fit func(traffic.Attempt) bool, whose string) {
	client := func(a traffic.Attempt) bool { return a.SourceSeen.Addr() == e.Objects.ClientIP }
	whoseClient := "the client pod's address " + e.Objects.ClientIP.String()
	if p.From == spec.FromHost {
		client = func(a traffic.Attempt) bool { return a.SourceSeen.IsValid() && !inCluster(e, a.SourceSeen.Addr()) }
		whoseClient = "an address outside of the cluster"
	}
	entry := func(a traffic.Attempt) bool { return onNodeOf(e, p.EntryNode, a.SourceSeen.Addr()) }
	whoseEntry := "an address of node " + p.EntryNode
	switch {
	case p.ExpectedSource != spec.SourceClient && p.EntryNode == "":
		return nil, "which node it enters is not known"
	case p.ExpectedSource == spec.SourceEntryNode:
		return entry, whoseEntry
	case p.From == spec.FromClient && !e.Objects.ClientIP.IsValid():
		return nil, "the client pod has no address"
	case p.ExpectedSource == spec.SourceClient:
		return client, whoseClient
	case p.ExpectedSource != spec.SourceEntryNodeIfRemote:
		return nil, "the scenario does not say whose address it has to be"
	}
	return func(a traffic.Attempt) bool {
		switch backendNode(e, a) {
		case "":
			return client(a) || entry(a)
		case p.EntryNode:
			return client(a)
		}
		return entry(a)
	}, whoseClient + " where the backend is on node " + p.EntryNode + ", else an address of that node"
}

func inCluster(e collect.Evidence, address netip.Addr) bool {
	return slices.ContainsFunc(e.Nodes, func(n collect.Node) bool { return slices.Contains(n.Addresses, address) }) ||
		slices.ContainsFunc(e.Objects.Pods, func(p collect.Pod) bool { return p.Address == address })
}

func onNodeOf(e collect.Evidence, role string, address netip.Addr) bool {
	return slices.ContainsFunc(e.Nodes, func(n collect.Node) bool { return n.Role == role && slices.Contains(n.Addresses, address) })
}

// backendNode is the role of the node whose backend answered, by its address;
// "" where no pod has it.
func backendNode(e collect.Evidence, a traffic.Attempt) string {
	for _, p := range e.Objects.Pods {
		if p.Address == a.Backend.PodIP {
			return p.Node
		}
	}
	return ""
}

// Translated says where a connection was translated, by the remote address in
// the kernel's own table of sockets: in the packet if it is the dialled one, at
// the socket if it is a ready endpoint's. "" is neither; ok is false where the
// addresses did not become known.
func Translated(e collect.Evidence, a traffic.Attempt) (place string, ok bool) {
	switch {
	case !a.DialedAddress.IsValid() || !a.KernelRemote.IsValid() || !a.Peername.IsValid():
		return "", false
	case a.KernelRemote == a.DialedAddress:
		return spec.TranslatedInPacket, true
	case ReadyEndpoint(e, a.KernelRemote):
		return spec.TranslatedAtSocket, true
	}
	return "", true
}

// Trackers are those who, on the node an entry point's connections enter, have
// tracked one of them as translated to a ready endpoint.
func Trackers(e collect.Evidence, p collect.EntryPoint) []string {
	all := []string{}
	for _, state := range e.Kernel {
		for _, t := range state.Translations {
			dialled := slices.ContainsFunc(p.Attempts, func(a traffic.Attempt) bool { return a.DialedAddress == t.Destination })
			if state.Node == p.EntryNode && dialled && ReadyEndpoint(e, t.Backend) {
				all = append(all, t.Tracker)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ReadyEndpoint says whether an address is a ready endpoint of the Service.
func ReadyEndpoint(e collect.Evidence, address netip.AddrPort) bool {
	return slices.ContainsFunc(e.Objects.Endpoints, func(p collect.Endpoint) bool {
		return p.Ready && netip.AddrPortFrom(p.Address, p.Port) == address
	})
}
