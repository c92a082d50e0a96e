package cilium

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// Trace looks a new connection up in the load balancing maps of a node as the
// programs of Cilium 1.20.2 do: at connect() for pods and processes where socket
// LB is on (bpf/bpf_sock.c, __sock4_xlate_fwd), else in the first packet, at the
// pod's interface (bpf/bpf_lxc.c) or where it arrives from outside (bpf/lib/nodeport.h,
// nodeport_svc_lb4). A row on the way that is not understood stops the walk, and so
// does one whose key is not: it may be the one that is looked for.
//
// The maps do not say what becomes of the source, beyond the node ports' mode in
// Status, and do not tell session affinity's clients. Status must be there.
func Trace(raw Raw, p collect.Packet) (collect.Trace, error) {
	w, err := newWalker(raw)
	if err != nil {
		return collect.Trace{}, err
	}
	how := w.path(p)
	t, err := walk.Decide(func(m *walk.Machine) ([]walk.State, error) {
		if how.stop != "" {
			return nil, walk.StopAt(w.quoteStatus("kube-proxy-replacement"), "%s", how.stop)
		}
		if how.place == "" {
			return []walk.State{walk.Start(p)}, nil
		}
		return w.lookup(m, walk.Start(p), how)
	})
	t.Encoding, t.Packet, t.Selection = Encoding, p, w.selection
	for i := range t.Backends {
		t.Backends[i].Marked = collect.Answer{Decision: collect.No, Reason: "the programs mark no packet for masquerade"}
		t.Backends[i].Masqueraded = w.source(how, p, t.Backends[i].Backend.Addr())
	}
	t.Finish()
	return t, err
}

// The places where a connection meets the maps.
const (
	atConnect = "connect()"
	atPod     = "the pod's interface"
	atDevice  = "the node's device"
)

// path is how a connection meets the maps.
type path struct {
	// place is "" where it does not.
	place string
	// inside: the look-up is one from inside the node, "east-west".
	inside bool
	// wildcard: a node port that has no row of its own is looked up at the zero
	// address.
	wildcard bool
	// stop says why the place is not known.
	stop string
}

// path follows the agent's status.
func (w *walker) path(p collect.Packet) path {
	replaced := w.status.KubeProxyReplacement == "True"
	socket := w.status.SocketLB && p.Protocol != "SCTP" && !(w.hostOnly && p.Origin == collect.FromPod)
	switch {
	case p.Origin != collect.FromOutside && socket:
		return path{place: atConnect, inside: true, wildcard: replaced}
	case p.Origin == collect.FromPod:
		return path{place: atPod, inside: replaced, wildcard: replaced}
	case !replaced:
		return path{} // kube-proxy's
	case p.Origin == collect.FromOutside:
		return path{place: atDevice}
	}
	return path{stop: "without socket LB it is not known where a process of the node meets the maps"}
}

// source says what becomes of the source address on the way to a backend.
func (w *walker) source(how path, p collect.Packet, to netip.Addr) collect.Answer {
	const backend = "what the node does with packets from the client to the backend is not in the maps"
	switch how.place {
	case atConnect:
		at := w.quoteStatus("kube-proxy-replacement", "features", "socketLB", "enabled")
		return collect.Answer{Decision: collect.Depends, Reason: "the socket is connected to the backend itself; " + backend, By: &at}
	case atPod:
		return collect.Answer{Decision: collect.Depends, Reason: backend}
	}
	at := w.quoteStatus("kube-proxy-replacement", "features", "nodePort", "mode")
	switch w.status.NodePortMode {
	case "SNAT":
		const rule = "a backend on this node sees the client, one on another node an address of this node"
		switch {
		case slices.Contains(p.LocalPods, to) || p.IsLocal(to):
			return collect.Answer{Decision: collect.No, Reason: rule, By: &at}
		case slices.Contains(p.Pods, to) || p.IsNode(to):
			return collect.Answer{Decision: collect.Yes, Reason: rule, By: &at}
		}
		return collect.Answer{Decision: collect.Depends, Reason: rule, By: &at}
	case "DSR":
		return collect.Answer{Decision: collect.No, Reason: "the backend answers the client itself", By: &at}
	}
	return collect.Answer{Decision: collect.Depends, Reason: fmt.Sprintf("mode %q of node ports", w.status.NodePortMode), By: &at}
}

// ports are the node ports' range, 0 to 0 where the status has none.
func (w *walker) ports() (low, high uint64) {
	number := func(name string) uint64 {
		value, _, ok := w.reader.find([]string{"kube-proxy-replacement", "features", "nodePort", name})
		if !ok {
			return 0
		}
		n, _ := strconv.ParseUint(string(value.Raw), 10, 16)
		return n
	}
	return number("portMin"), number("portMax")
}

// quoteStatus is the line of a value of the status.
func (w *walker) quoteStatus(path ...string) collect.Hop {
	_, line, _ := w.reader.find(path)
	return collect.Hop{Where: "agent's status", File: StatusFile, Line: line}
}
