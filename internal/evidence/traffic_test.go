package evidence

import (
	"net/netip"
	"testing"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// little is evidence of a client and a backend on worker2, and a backend on
// worker.
func little() collect.Evidence {
	address := netip.MustParseAddr
	var e collect.Evidence
	e.Objects.ClientIP = address("10.244.1.4")
	e.Objects.Pods = []collect.Pod{
		{Address: e.Objects.ClientIP, Node: "worker2"},
		{Address: address("10.244.1.2"), Node: "worker2"},
		{Address: address("10.244.2.2"), Node: "worker"},
	}
	e.Objects.Endpoints = []collect.Endpoint{
		{Address: address("10.244.2.2"), Port: 8080, Node: "worker", Ready: true},
		{Address: address("10.244.1.2"), Port: 8080, Node: "worker2", Ready: true},
		{Address: address("10.244.1.9"), Port: 8080, Node: "worker2"},
	}
	e.Nodes = []collect.Node{
		{Role: "worker", Addresses: []netip.Addr{address("172.18.0.3"), address("10.244.2.1")}},
		{Role: "worker2", Addresses: []netip.Addr{address("172.18.0.2")}},
	}
	return e
}

func TestSources(t *testing.T) {
	const local, remote, stranger = "10.244.2.2", "10.244.1.2", "10.244.9.9" // seen from worker
	pod := spec.EntryPoint{From: spec.FromClient, To: spec.ToClusterIP}
	nodePort := spec.EntryPoint{From: spec.FromClient, To: spec.ToNodePort, Node: "worker"}
	host := spec.EntryPoint{From: spec.FromHost, To: spec.ToNodePort, Node: "worker"}
	tests := []struct {
		point   spec.EntryPoint
		want    string
		seen    string
		backend string
		fits    bool
	}{
		{pod, spec.SourceClient, "10.244.1.4", local, true},
		{pod, spec.SourceClient, "10.244.2.2", local, false},
		{pod, spec.SourceEntryNode, "172.18.0.2", local, true},
		{pod, spec.SourceEntryNode, "172.18.0.3", local, false},
		{nodePort, spec.SourceEntryNode, "172.18.0.3", local, true},
		{nodePort, spec.SourceEntryNode, "10.244.2.1", local, true},
		{nodePort, spec.SourceEntryNode, "172.18.0.2", local, false},
		{nodePort, spec.SourceClient, "10.244.1.4", local, true},
		{nodePort, spec.SourceEntryNodeIfRemote, "10.244.1.4", local, true},
		{nodePort, spec.SourceEntryNodeIfRemote, "172.18.0.3", local, false},
		{nodePort, spec.SourceEntryNodeIfRemote, "172.18.0.3", remote, true},
		{nodePort, spec.SourceEntryNodeIfRemote, "10.244.1.4", remote, false},
		{host, spec.SourceClient, "172.18.0.1", local, true},
		{host, spec.SourceClient, "172.18.0.3", local, false},
		{host, spec.SourceClient, "10.244.2.2", local, false},
		{host, spec.SourceEntryNodeIfRemote, "172.18.0.1", local, true},
		{host, spec.SourceEntryNodeIfRemote, "10.244.2.1", local, false},
		{host, spec.SourceEntryNodeIfRemote, "10.244.2.1", remote, true},
		{host, spec.SourceEntryNodeIfRemote, "172.18.0.2", remote, false},
		{host, spec.SourceEntryNodeIfRemote, "172.18.0.1", remote, false},
		// Which node a stranger is on is not known: it may see either.
		{host, spec.SourceEntryNodeIfRemote, "172.18.0.1", stranger, true},
		{host, spec.SourceEntryNodeIfRemote, "172.18.0.3", stranger, true},
		{host, spec.SourceEntryNodeIfRemote, "172.18.0.2", stranger, false},
	}
	for _, test := range tests {
		p := collect.EntryPoint{
			From: test.point.From, To: test.point.To, Node: test.point.Node, ExpectedSource: test.want,
			EntryNode: entryNode(test.point, "worker2", spec.Translation{}),
		}
		fit, whose := Sources(little(), p)
		a := traffic.Attempt{SourceSeen: netip.AddrPortFrom(netip.MustParseAddr(test.seen), 40000)}
		a.Backend.PodIP = netip.MustParseAddr(test.backend)
		if fit == nil || fit(a) != test.fits {
			t.Errorf("%+v, %s: %s fits for %s: want %t (%s)", test.point, test.want, test.seen, test.backend, test.fits, whose)
		}
	}
	for name, p := range map[string]collect.EntryPoint{
		"the node the host enters a ClusterIP at": {From: spec.FromHost, To: spec.ToClusterIP, ExpectedSource: spec.SourceEntryNode},
		"a rule nobody gave":                      {From: spec.FromHost, To: spec.ToNodePort, Node: "worker", EntryNode: "worker"},
	} {
		if fit, _ := Sources(little(), p); fit != nil {
			t.Errorf("%s is taken for known", name)
		}
	}
}

func TestEntryPoint(t *testing.T) {
	atSocket := spec.Translation{ClusterIP: spec.TranslatedAtSocket, NodePort: spec.TranslatedAtSocket}
	inPacket := spec.Translation{ClusterIP: spec.TranslatedInPacket, NodePort: spec.TranslatedInPacket}
	sources := spec.Source{ClusterIP: "a", NodePort: "b", NodePortFromHost: "c"}
	tests := []struct {
		from, to, node string
		expect         spec.Translation
		place          string
		entry          string
		source         string
	}{
		{spec.FromClient, spec.ToClusterIP, "", inPacket, spec.TranslatedInPacket, "worker2", "a"},
		{spec.FromClient, spec.ToServiceName, "", atSocket, spec.TranslatedAtSocket, "worker2", "a"},
		{spec.FromClient, spec.ToNodePort, "worker", inPacket, spec.TranslatedInPacket, "worker", "b"},
		// connect() is the client's node, whatever node's address it is given.
		{spec.FromClient, spec.ToNodePort, "worker", atSocket, spec.TranslatedAtSocket, "worker2", "b"},
		{spec.FromHost, spec.ToNodePort, "worker", atSocket, spec.TranslatedInPacket, "worker", "c"},
		{spec.FromHost, spec.ToClusterIP, "", atSocket, spec.TranslatedInPacket, "", "a"},
	}
	for _, test := range tests {
		p := spec.EntryPoint{From: test.from, To: test.to, Node: test.node}
		place := ExpectedTranslation(test.from, test.to, test.expect)
		entry, source := entryNode(p, "worker2", test.expect), expectedSource(p, sources)
		if place != test.place || entry != test.entry || source != test.source {
			t.Errorf("%+v: %s on %q, source %s; want %s on %q, source %s", p, place, entry, source, test.place, test.entry, test.source)
		}
	}
	if got := expectedSource(spec.EntryPoint{From: spec.FromHost, To: spec.ToNodePort}, spec.Source{NodePort: "b"}); got != "b" {
		t.Errorf("without a rule of its own the host's is %q, want b", got)
	}
}

func TestTranslated(t *testing.T) {
	const service, endpoint = "10.96.0.5:80", "10.244.2.2:8080"
	tests := []struct {
		name         string
		dialled, got string
		peername     string
		want         string
		known        bool
	}{
		{"nothing rewritten", service, service, service, spec.TranslatedInPacket, true},
		{"rewritten", service, endpoint, service, spec.TranslatedAtSocket, true},
		{"rewritten, and told so", service, endpoint, endpoint, spec.TranslatedAtSocket, true},
		{"an endpoint dialled", endpoint, endpoint, endpoint, spec.TranslatedInPacket, true},
		{"to another port", service, "10.244.2.2:80", service, "", true},
		{"to one that is not ready", service, "10.244.1.9:8080", service, "", true},
		{"not connected", service, "", "", "", false},
		{"the socket was not found", service, "", service, "", false},
	}
	parse := func(text string) netip.AddrPort {
		address, _ := netip.ParseAddrPort(text)
		return address
	}
	for _, test := range tests {
		a := traffic.Attempt{DialedAddress: parse(test.dialled), KernelRemote: parse(test.got), Peername: parse(test.peername)}
		if place, known := Translated(little(), a); place != test.want || known != test.known {
			t.Errorf("%s: %q, %t, want %q, %t", test.name, place, known, test.want, test.known)
		}
	}
}
