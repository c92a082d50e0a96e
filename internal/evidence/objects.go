package evidence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// objects is what the API server holds.
type objects struct {
	services []corev1.Service
	slices   []discoveryv1.EndpointSlice
	pods     []corev1.Pod
	nodes    []corev1.Node
}

func (s *source) readObjects() objects {
	return objects{
		services: list[corev1.Service](s, ServicesFile, "ServiceList"),
		slices:   list[discoveryv1.EndpointSlice](s, EndpointSlicesFile, "EndpointSliceList"),
		pods:     list[corev1.Pod](s, PodsFile, "PodList"),
		nodes:    list[corev1.Node](s, NodesFile, "NodeList"),
	}
}

// list reads a whole list. An answer of another kind, an error of the API
// server above all, must not pass for an empty one.
func list[T any](s *source, file, kind string) []T {
	raw, ok := s.captured(file)
	if !ok {
		return nil
	}
	var answer struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Continue string `json:"continue"`
		} `json:"metadata"`
		Items []T `json:"items"`
	}
	err := json.Unmarshal(raw, &answer)
	switch {
	case err != nil:
	case answer.Kind != kind && answer.Kind != "List":
		err = fmt.Errorf("kind is %q, want %q", answer.Kind, kind)
	case answer.Metadata.Continue != "":
		err = fmt.Errorf("holds only the first part of the list")
	}
	if err != nil {
		s.problem(file, "%v", err)
		return nil
	}
	return answer.Items
}

// roleOf is the role in a node's name, "" where there is none.
func roleOf(name string) string {
	role := ""
	for _, r := range spec.Roles {
		if (name == r || strings.HasSuffix(name, "-"+r)) && len(r) > len(role) {
			role = r
		}
	}
	return role
}

// nodes has an entry for every role, in their order.
func (s *source) nodes(api []corev1.Node) []collect.Node {
	nodes := make([]collect.Node, len(spec.Roles))
	for i, role := range spec.Roles {
		nodes[i] = collect.Node{Role: role, Addresses: s.addresses(role)}
		release, _ := s.captured(onNode(role, UnameFile))
		nodes[i].KernelRelease = strings.TrimSpace(string(release))
	}
	for _, n := range api {
		i := slices.Index(spec.Roles, roleOf(n.Name))
		if i < 0 || nodes[i].Name != "" {
			s.problem(NodesFile, "node %s has no role of its own among %s", n.Name, strings.Join(spec.Roles, ", "))
			continue
		}
		node := &nodes[i]
		node.Name = n.Name
		node.InternalIP = internalIP(n)
		node.PodCIDR, _ = netip.ParsePrefix(n.Spec.PodCIDR)
		node.KubeletVersion = n.Status.NodeInfo.KubeletVersion
		node.ContainerRuntime = n.Status.NodeInfo.ContainerRuntimeVersion
		if !node.InternalIP.IsValid() {
			s.problem(NodesFile, "node %s has no InternalIP", n.Name)
		}
	}
	for _, node := range nodes {
		if node.Name == "" {
			s.problem(NodesFile, "no node has the role %s", node.Role)
		}
	}
	return nodes
}

func internalIP(n corev1.Node) netip.Addr {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			address, _ := netip.ParseAddr(a.Address)
			return address
		}
	}
	return netip.Addr{}
}

// under is what concerns the workload, without the expected table.
func (o objects) under(w spec.Workload) collect.Objects {
	found := collect.Objects{Endpoints: []collect.Endpoint{}, Pods: []collect.Pod{}}
	for _, p := range o.pods {
		address, err := netip.ParseAddr(p.Status.PodIP)
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if err != nil || ended || p.Spec.HostNetwork {
			continue
		}
		found.Pods = append(found.Pods, collect.Pod{
			Namespace: p.Namespace, Name: p.Name, Node: roleOf(p.Spec.NodeName), Address: address,
			App: cmp.Or(p.Labels["app.kubernetes.io/name"], p.Labels["k8s-app"]),
		})
		if p.Namespace == w.Namespace && p.Name == w.Client {
			found.ClientIP = address
		}
	}
	i := slices.IndexFunc(o.services, func(s corev1.Service) bool {
		return s.Namespace == w.Namespace && s.Name == w.Service
	})
	if i < 0 || len(o.services[i].Spec.Ports) == 0 {
		return found
	}
	service := o.services[i]
	port := service.Spec.Ports[0]
	for _, p := range service.Spec.Ports {
		if int(p.Port) == w.ClusterPort {
			port = p
		}
	}
	found.Service = collect.Service{
		Namespace: service.Namespace, Name: service.Name, Type: string(service.Spec.Type),
		ClusterIP: clusterIPv4(service), Port: uint16(port.Port), TargetPort: port.TargetPort.String(),
		NodePort: uint16(port.NodePort), Protocol: string(port.Protocol),
	}
	for target := range o.endpoints(service, port) {
		found.Endpoints = append(found.Endpoints, target.Endpoint)
	}
	slices.SortFunc(found.Endpoints, func(a, b collect.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), a.Address.Compare(b.Address))
	})
	return found
}
