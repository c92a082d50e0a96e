package report

import (
	"fmt"
	"slices"
	"strings"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
)

// answer is what implements the Service, in one sentence.
func answer(e collect.Evidence) string {
	name := code(e.Objects.Service.Namespace + "/" + e.Objects.Service.Name)
	if e.Objects.Service.Name == "" {
		return "The Service under test is not in what the API server answered."
	}
	byNode := perNode(e.Kernel, func(s collect.NodeState) string { return holders(e, s) })
	switch {
	case len(e.Kernel) == 0:
		return fmt.Sprintf("No node was read: what implements Service %s is not known.", name)
	case len(byNode) == 1 && byNode[0].value != "":
		return fmt.Sprintf("**%s implements Service %s on every node (%s).**", byNode[0].value, name, escape(strings.Join(byNode[0].nodes, ", ")))
	}
	var parts []string
	for _, group := range byNode {
		value := group.value
		if value == "" {
			value = "nothing that was read"
		}
		parts = append(parts, fmt.Sprintf("%s on %s", value, escape(strings.Join(group.nodes, ", "))))
	}
	return fmt.Sprintf("**Not all nodes are alike: Service %s is implemented by %s.**", name, strings.Join(parts, "; "))
}

// manner is how, as far as connections and kernel state show it.
func manner(e collect.Evidence) string {
	text := fmt.Sprintf("Selection of a backend: %s.", dash(selection(e)))
	service, node := seen(e, false), seen(e, true)
	if service != "" || node != "" {
		text += fmt.Sprintf(" Source address a backend sees: %s via ClusterIP", dash(service))
		if pods, outside := seen(e, true, spec.FromClient), seen(e, true, spec.FromHost); differ(pods, outside) {
			text += fmt.Sprintf("; via NodePort %s from a pod, and from outside %s.", escape(pods), escape(outside))
		} else {
			text += fmt.Sprintf(", %s via NodePort.", dash(node))
		}
	}
	pods, outside := inWords(e, spec.FromClient), inWords(e, spec.FromHost)
	switch at := translation(e); {
	case at == onPackets || at == inSocket:
		text += fmt.Sprintf(" The destination is translated %s.", placeInWords(at))
	case pods != "" && outside != "":
		text += fmt.Sprintf(" The destination of a pod's connection is translated %s; that of one from outside %s.", pods, outside)
	}
	return text + beside(e)
}

// differ says whether both are known and not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// inWords is where a prober's connections are translated; "" where that is not
// one place for each way to dial the Service.
func inWords(e collect.Evidence, from string) string {
	service, node := translatedVia(e, false, from), translatedVia(e, true, from)
	if differ(service, node) && placeInWords(service) != "" && placeInWords(node) != "" {
		return fmt.Sprintf("via ClusterIP %s, and via NodePort %s", placeInWords(service), placeInWords(node))
	}
	return placeInWords(translation(e, from))
}

func placeInWords(place string) string {
	switch place {
	case onPackets:
		return "on the packets, below the socket"
	case inSocket:
		return "in the socket, by connect(2)"
	}
	return ""
}

// holders are the encodings of a node that hold the Service: those that have
// every address and port of it or, where none has, those that have some.
func holders(e collect.Evidence, s collect.NodeState) string {
	var whole, part []string
	for _, t := range kernelTables(s) {
		found := underTest(t, e.Objects.Service)
		switch name := holder(e, s, t.Encoding); {
		case len(found) == 0:
		case entire(found, e.Objects.Service):
			whole = append(whole, name)
		default:
			part = append(part, fmt.Sprintf("%s, for its %s alone,", name, escape(kinds(found))))
		}
	}
	if len(whole) == 0 {
		whole = part
	}
	return strings.Join(slices.Compact(whole), " and ")
}

func holder(e collect.Evidence, s collect.NodeState, encoding string) string {
	switch {
	case replaced(e, encoding, s.Node):
		return maker(encoding) + " in kube-proxy's place (eBPF)"
	case maker(encoding) != "":
		return maker(encoding) + " (eBPF)"
	case encoding == "iptables" && s.LiveIptables != "":
		return fmt.Sprintf("iptables (back end %s)", escape(s.LiveIptables))
	}
	return escape(encoding)
}

// entire says whether a table has all that the Service is to be reached by.
func entire(found []collect.Frontend, s collect.Service) bool {
	has := func(kind collect.FrontendKind) bool {
		return slices.ContainsFunc(found, func(f collect.Frontend) bool { return f.Kind == kind })
	}
	return (has(collect.ClusterIP) || !s.ClusterIP.IsValid()) && (has(collect.NodePort) || s.NodePort == 0)
}

func kinds(found []collect.Frontend) string {
	var names []string
	for _, f := range found {
		names = append(names, string(f.Kind))
	}
	return strings.Join(distinct(names), ", ")
}

// beside tells of the maps of Cilium or Calico where they have a part of the
// Service and another encoding has it whole, and who translated what went that
// way.
func beside(e collect.Evidence) string {
	return besideIn(e, cilium.Encoding, collect.TrackedByCilium) + besideIn(e, calico.Encoding, collect.TrackedByCalico)
}

func besideIn(e collect.Evidence, encoding, tracker string) string {
	part := func(s collect.NodeState) string {
		text, whole := "", false
		for _, t := range kernelTables(s) {
			switch found := underTest(t, e.Objects.Service); {
			case len(found) == 0:
			case entire(found, e.Objects.Service):
				whole = true
			case t.Encoding == encoding:
				text = escape(kinds(found))
			}
		}
		if !whole {
			return ""
		}
		return text
	}
	text, by := "", maker(encoding)
	for _, group := range perNode(e.Kernel, part) {
		if group.value != "" {
			text += fmt.Sprintf(" %s's maps hold the Service's %s too (%s).", by, group.value, escape(strings.Join(group.nodes, ", ")))
		}
	}
	if text == "" {
		return ""
	}
	own, all := 0, 0
	for _, s := range e.Kernel {
		for _, t := range s.Translations {
			if !t.Backend.IsValid() || !isClusterIP(e.Objects.Service, t.Destination) {
				continue
			}
			all += t.Count
			if t.Tracker == tracker {
				own += t.Count
			}
		}
	}
	switch {
	case own == 0:
		return text
	case own == all:
		return text + fmt.Sprintf(" **All %s to the ClusterIP were translated by %s, none by the kernel's own NAT.**", plural(all, "tracked connection"), by)
	}
	return text + fmt.Sprintf(" **Of %s to the ClusterIP, %d were translated by %s.**", plural(all, "tracked connection"), own, by)
}

// group is a value and the nodes that have it.
type group struct {
	value string
	nodes []string
}

// perNode groups nodes by a value, in the order of the nodes.
func perNode(states []collect.NodeState, value func(collect.NodeState) string) []group {
	var groups []group
	for _, s := range states {
		v := value(s)
		i := slices.IndexFunc(groups, func(g group) bool { return g.value == v })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{value: v})
		}
		groups[i].nodes = append(groups[i].nodes, s.Node)
	}
	return groups
}
