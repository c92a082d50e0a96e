package trace

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// Request is a question to a result directory.
type Request struct {
	// Node is the role of the node whose kernel is asked: "worker2".
	Node string
	// From is the client: a pod as NAME or NAMESPACE/NAME, or an address.
	From string
	// To is ADDRESS:PORT, with /tcp, /udp or /sctp behind it; tcp if not said.
	To string
	// Encoding is the only one to be asked; "" for all that the packet meets.
	Encoding string
}

// packet is the request as its node sees it, and who the client is in words.
func (r Request) packet(e collect.Evidence) (p collect.Packet, client string, err error) {
	i := slices.IndexFunc(e.Nodes, func(n collect.Node) bool { return n.Role == r.Node })
	if i < 0 {
		return p, "", fmt.Errorf("--node %q: the result has the nodes %s", r.Node, strings.Join(roles(e), ", "))
	}
	node := e.Nodes[i]
	if p.Destination, p.Protocol, err = destination(r.To); err != nil {
		return p, "", err
	}
	p.Local = node.Addresses
	for _, n := range e.Nodes {
		p.Nodes = append(append(p.Nodes, n.InternalIP), n.Addresses...)
	}
	for _, pod := range e.Objects.Pods {
		p.Pods = append(p.Pods, pod.Address)
		if pod.Node == r.Node {
			p.LocalPods = append(p.LocalPods, pod.Address)
		}
	}
	p.Source, p.Origin, client, err = origin(r.From, node, e)
	if err == nil && p.Source.Is4() != p.Destination.Addr().Is4() {
		err = fmt.Errorf("--from %s is %s and --to %s is of another family", r.From, p.Source, r.To)
	}
	return p, client, err
}

func roles(e collect.Evidence) []string {
	var all []string
	for _, n := range e.Nodes {
		all = append(all, n.Role)
	}
	return all
}

func destination(text string) (netip.AddrPort, string, error) {
	at, name, named := strings.Cut(text, "/")
	protocol := "TCP"
	if named {
		protocol = strings.ToUpper(name)
	}
	to, err := netip.ParseAddrPort(at)
	if err != nil || to.Port() == 0 || to.Addr().Zone() != "" || !slices.Contains([]string{"TCP", "UDP", "SCTP"}, protocol) {
		return to, protocol, fmt.Errorf("--to %q: want ADDRESS:PORT, or with a protocol such as 10.96.0.10:53/udp", text)
	}
	return to, protocol, nil
}

// origin is where a client's packet comes from, seen from the node.
func origin(from string, node collect.Node, e collect.Evidence) (netip.Addr, collect.Origin, string, error) {
	address, err := netip.ParseAddr(from)
	var pods []collect.Pod
	for _, p := range e.Objects.Pods {
		if err == nil && p.Address == address || err != nil && (from == p.Name || from == p.Namespace+"/"+p.Name) {
			pods = append(pods, p)
		}
	}
	switch {
	case len(pods) > 1:
		return address, "", "", fmt.Errorf("--from %s: %d pods have this name; say NAMESPACE/NAME", from, len(pods))
	case len(pods) == 1:
		pod := pods[0]
		client := fmt.Sprintf("pod %s/%s on %s", pod.Namespace, pod.Name, pod.Node)
		return pod.Address, map[bool]collect.Origin{true: collect.FromPod, false: collect.FromOutside}[pod.Node == node.Role], client, nil
	case err != nil:
		return address, "", "", fmt.Errorf("--from %s: neither an address nor a pod with one of its own; for a pod in the host's network say its node's address. There are: %s", from, names(e.Objects.Pods))
	case address.IsLoopback() || slices.Contains(node.Addresses, address):
		return address, collect.FromProcess, "a process on " + node.Role, nil
	case node.PodCIDR.Contains(address):
		return address, collect.FromPod, "a pod on " + node.Role, nil
	}
	for _, n := range e.Nodes {
		if n.InternalIP == address || slices.Contains(n.Addresses, address) {
			return address, collect.FromOutside, "node " + n.Role, nil
		}
	}
	return address, collect.FromOutside, "neither a pod nor a node of the evidence", nil
}

func names(pods []collect.Pod) string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Namespace+"/"+p.Name)
	}
	return strings.Join(all, ", ")
}

// nameOf is the symbol of an address that connections go to; "" where it has none.
func nameOf(address netip.Addr, e collect.Evidence) string {
	for _, p := range e.Objects.Pods {
		if p.Address == address {
			return fmt.Sprintf("pod:%s@%s", cmp.Or(p.App, p.Name), p.Node)
		}
	}
	for _, n := range e.Nodes {
		if n.InternalIP == address {
			return "node:" + n.Role
		}
	}
	return ""
}
