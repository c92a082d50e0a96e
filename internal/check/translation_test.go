package check

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/traffic"
)

// TestTranslation makes up two connections through one entry point, and what the
// nodes track.
func TestTranslation(t *testing.T) {
	const service, nodePort, local, remote = "10.96.0.5:80", "172.18.0.3:30081", "10.244.1.2:8080", "10.244.2.2:8080"
	const client, host = "10.244.1.4", "172.18.0.1"
	port := netip.MustParseAddrPort
	// connection is dialled, getpeername, kernel's remote address.
	connection := func(dialled, peername, remote string) traffic.Attempt {
		a := traffic.Attempt{DialedAddress: port(dialled), Peername: port(peername)}
		a.KernelRemote, _ = netip.ParseAddrPort(remote)
		return a
	}
	track := func(node, tracker, source, destination, backend string) func(*subject) {
		return func(in *subject) {
			t := collect.Translation{Tracker: tracker, Destination: port(destination), Sources: []netip.Addr{netip.MustParseAddr(source)}, Count: 2}
			t.Backend, _ = netip.ParseAddrPort(backend)
			i := slices.IndexFunc(in.Kernel, func(s collect.NodeState) bool { return s.Node == node })
			in.Kernel[i].Translations = append(in.Kernel[i].Translations, t)
		}
	}
	unreadable := func(file string) func(*subject) {
		return func(in *subject) {
			in.Problems = append(in.Problems, collect.Problem{Node: "worker", File: file, Text: "failed"})
		}
	}
	byCilium, byKernel := collect.TrackedByCilium, collect.TrackedByKernel
	fromPod := collect.EntryPoint{Name: "p", From: spec.FromClient, To: spec.ToClusterIP, EntryNode: "worker2"}
	fromHost := collect.EntryPoint{Name: "p", From: spec.FromHost, To: spec.ToNodePort, EntryNode: "worker"}
	rewritten, kept := connection(service, service, remote), connection(service, service, service)
	tests := []struct {
		name   string
		point  collect.EntryPoint
		expect string // of a pod's connections
		made   []traffic.Attempt
		change func(*subject)
		want   collect.Verdict
		says   string
	}{
		{"at the socket", fromPod, spec.TranslatedAtSocket, []traffic.Attempt{rewritten, connection(service, service, local)}, nil, collect.Pass,
			"Every entry point: rewritten at connect(), no packet carries the address dialled."},
		{"in the packet, want at the socket", fromPod, spec.TranslatedAtSocket, []traffic.Attempt{kept, kept}, nil, collect.Fail, "client: connection 1: dialled 10.96.0.5:80, the socket's remote address is 10.96.0.5:80: translated in the packet, want at the socket"},
		{"once at the socket and once in the packet", fromPod, spec.TranslatedAtSocket, []traffic.Attempt{rewritten, kept}, nil, collect.Fail, "connection 2"},
		{"at the socket, want in the packet", fromPod, spec.TranslatedInPacket, []traffic.Attempt{rewritten}, nil, collect.Fail, "translated at the socket, want in the packet"},
		{"to a stranger", fromPod, spec.TranslatedAtSocket, []traffic.Attempt{connection(service, service, "10.244.9.9:8080")}, nil, collect.Fail, "which is no ready endpoint"},
		{"getpeername shows it", fromPod, spec.TranslatedAtSocket, []traffic.Attempt{connection(service, remote, remote)}, nil, collect.Fail, "getpeername() says 10.244.2.2:8080"},
		{"getpeername shows another in the packet", fromPod, spec.TranslatedInPacket, []traffic.Attempt{connection(service, remote, service)}, nil, collect.Fail, "getpeername() says 10.244.2.2:8080"},
		{"a socket not found", fromPod, spec.TranslatedAtSocket, []traffic.Attempt{rewritten, connection(service, service, "")}, nil, collect.Inconclusive, "connection 2: the addresses of its socket are not known"},
		{"no connections", fromPod, spec.TranslatedAtSocket, nil, nil, collect.Inconclusive, "no connections are recorded"},
		{"nothing expected", fromPod, "", []traffic.Attempt{kept}, nil, collect.Inconclusive, "the scenario does not say"},

		{"a packet of the pod on its node", fromPod, spec.TranslatedAtSocket, []traffic.Attempt{rewritten}, track("worker2", byCilium, client, service, remote), collect.Fail, "worker2: packets from the client pod carried 10.96.0.5:80"},
		{"a packet of the pod on another node", fromPod, spec.TranslatedAtSocket, []traffic.Attempt{rewritten}, track("control-plane", byKernel, client, service, ""), collect.Fail, "control-plane: packets"},
		{"a packet of another pod", fromPod, spec.TranslatedAtSocket, []traffic.Attempt{rewritten}, track("worker2", byCilium, "10.244.1.9", service, remote), collect.Pass, ""},
		{"a packet to another port", fromPod, spec.TranslatedAtSocket, []traffic.Attempt{rewritten}, track("worker2", byCilium, client, "10.96.0.5:81", remote), collect.Pass, ""},

		{"in the packet, by the kernel", fromPod, spec.TranslatedInPacket, []traffic.Attempt{kept}, track("worker2", byKernel, client, service, remote), collect.Pass,
			"Every entry point: packets carry the address dialled until the kernel translates them."},
		{"in the packet, by Cilium", fromPod, spec.TranslatedInPacket, []traffic.Attempt{kept}, track("worker2", byCilium, client, service, remote), collect.Pass,
			"Every entry point: packets carry the address dialled until Cilium translates them."},
		{"from outside, whatever is expected of pods", fromHost, spec.TranslatedAtSocket, []traffic.Attempt{connection(nodePort, nodePort, nodePort)}, track("worker", byCilium, host, nodePort, local), collect.Pass, "until Cilium translates them."},
		{"from outside at the socket", fromHost, spec.TranslatedAtSocket, []traffic.Attempt{connection(nodePort, nodePort, local)}, nil, collect.Fail, "translated at the socket, want in the packet"},
		{"untracked", fromHost, spec.TranslatedInPacket, []traffic.Attempt{connection(nodePort, nodePort, nodePort)}, nil, collect.Fail, "worker: no connection to 172.18.0.3:30081 that was translated to a ready endpoint is tracked"},
		{"tracked on another node", fromHost, spec.TranslatedInPacket, []traffic.Attempt{connection(nodePort, nodePort, nodePort)}, track("worker2", byCilium, host, nodePort, local), collect.Fail, "worker: no connection"},
		{"tracked and not translated", fromHost, spec.TranslatedInPacket, []traffic.Attempt{connection(nodePort, nodePort, nodePort)}, track("worker", byKernel, host, nodePort, ""), collect.Fail, "worker: no connection"},
		{"trackers not readable", fromHost, spec.TranslatedInPacket, []traffic.Attempt{connection(nodePort, nodePort, nodePort)}, unreadable("worker/" + cilium.ConntrackFile), collect.Pass,
			"until they are translated. Connection tracking of worker could not be read and was not compared."},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			var in subject
			in.dataPlane.Cilium = &spec.Cilium{}
			in.expect.Translation = spec.Translation{ClusterIP: test.expect, NodePort: test.expect}
			in.Objects.ClientIP = netip.MustParseAddr(client)
			for _, address := range []string{local, remote} {
				in.Objects.Endpoints = append(in.Objects.Endpoints, collect.Endpoint{Address: port(address).Addr(), Port: 8080, Ready: true})
			}
			for _, role := range spec.Roles {
				in.Kernel = append(in.Kernel, collect.NodeState{Node: role})
			}
			p := spec.EntryPoint{Name: test.point.Name, From: test.point.From, To: test.point.To}
			in.experiment.EntryPoints = []spec.EntryPoint{p}
			test.point.File = evidence.TrafficFile(p)
			for i, a := range test.made {
				a.Sequence = i + 1
				test.point.Attempts = append(test.point.Attempts, a)
			}
			in.Traffic = []collect.EntryPoint{test.point}
			if test.change != nil {
				test.change(&in)
			}
			if got, says := verdict(translation, in); got != test.want || !strings.Contains(says, test.says) {
				t.Errorf("%s: %q, want %s: %q", got, says, test.want, test.says)
			}
		})
	}
}
