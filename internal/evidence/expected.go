package evidence

import (
	"fmt"
	"iter"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"service-dataplane/pkg/collect"
)

// expected is what kube-proxy 1.35 makes of the API's Services and
// EndpointSlices (pkg/proxy/servicechangetracker.go, endpointslicecache.go and
// topology.go), IPv4 only, without topology hints. It holds for every node:
// where the policy is local, Backends are those of all nodes, and each node
// takes its own, Terminating ones only where it has no Active one.
func (s *source) expected(o objects, selection collect.Selection) collect.ServiceTable {
	table := collect.ServiceTable{Encoding: "expected", Frontends: []collect.Frontend{}}
	for _, service := range o.services {
		clusterIP := clusterIPv4(service)
		if !clusterIP.IsValid() || service.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		for _, port := range service.Spec.Ports {
			frontend := func(kind collect.FrontendKind, address netip.Addr, number int32) {
				f := collect.Frontend{
					Kind: kind, Address: address, Port: uint16(number), Protocol: string(port.Protocol),
					Service: portName(service, port), AffinitySeconds: affinitySeconds(service),
					Line: collect.Line{Text: fmt.Sprintf("Service %s/%s %s %d/%s", service.Namespace, service.Name, port.Name, port.Port, port.Protocol)},
				}
				f.Policy, f.Masquerade = policy(service, kind)
				f.Backends = o.backends(service, port, f.Policy, selection)
				if len(f.Backends) == 0 {
					f.NoBackends = "reject"
				} else {
					f.Selection = selection
				}
				table.Frontends = append(table.Frontends, f)
			}
			frontend(collect.ClusterIP, clusterIP, port.Port)
			if port.NodePort != 0 {
				frontend(collect.NodePort, netip.Addr{}, port.NodePort)
			}
			for _, text := range service.Spec.ExternalIPs {
				if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
					frontend(collect.ExternalIP, address, port.Port)
				}
			}
			for _, ingress := range service.Status.LoadBalancer.Ingress {
				proxied := ingress.IPMode != nil && *ingress.IPMode == corev1.LoadBalancerIPModeProxy
				if address, err := netip.ParseAddr(ingress.IP); err == nil && address.Is4() && !proxied {
					frontend(collect.LoadBalancer, address, port.Port)
				}
			}
		}
	}
	table.Sort()
	return table
}

// clusterIPv4 is invalid for a headless Service.
func clusterIPv4(service corev1.Service) netip.Addr {
	for _, text := range append([]string{service.Spec.ClusterIP}, service.Spec.ClusterIPs...) {
		if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
			return address
		}
	}
	return netip.Addr{}
}

func portName(service corev1.Service, port corev1.ServicePort) string {
	name := service.Namespace + "/" + service.Name
	if port.Name != "" {
		name += ":" + port.Name
	}
	return name
}

func affinitySeconds(service corev1.Service) int {
	config := service.Spec.SessionAffinityConfig
	if service.Spec.SessionAffinity != corev1.ServiceAffinityClientIP || config == nil ||
		config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return 0
	}
	return int(*config.ClientIP.TimeoutSeconds)
}

func policy(service corev1.Service, kind collect.FrontendKind) (collect.Policy, collect.Masquerade) {
	switch internal := service.Spec.InternalTrafficPolicy; {
	case kind == collect.ClusterIP && internal != nil && *internal == corev1.ServiceInternalTrafficPolicyLocal:
		return collect.PolicyLocal, collect.MasqueradeOffCluster
	case kind == collect.ClusterIP:
		return collect.PolicyCluster, collect.MasqueradeOffCluster
	case service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal:
		return collect.PolicyLocal, collect.MasqueradeNever
	}
	return collect.PolicyCluster, collect.MasqueradeAlways
}

// target is an endpoint and the slice it stands in.
type target struct {
	collect.Endpoint
	slice string
}

// endpoints are the IPv4 endpoints of a Service's port, each address once.
func (o objects) endpoints(service corev1.Service, port corev1.ServicePort) iter.Seq[target] {
	return func(yield func(target) bool) {
		seen := map[netip.AddrPort]bool{}
		for _, slice := range o.slices {
			number := slicePort(slice, port)
			if slice.Namespace != service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != service.Name ||
				slice.AddressType != discoveryv1.AddressTypeIPv4 || number == 0 {
				continue
			}
			for _, e := range slice.Endpoints {
				t := target{slice: slice.Namespace + "/" + slice.Name}
				if len(e.Addresses) > 0 {
					t.Address, _ = netip.ParseAddr(e.Addresses[0])
				}
				at := netip.AddrPortFrom(t.Address, number)
				if !t.Address.Is4() || seen[at] {
					continue
				}
				seen[at] = true
				t.Port = number
				t.Ready = is(e.Conditions.Ready, true)
				t.Serving = is(e.Conditions.Serving, true)
				t.Terminating = is(e.Conditions.Terminating, false)
				if e.NodeName != nil {
					t.Node = roleOf(*e.NodeName)
				}
				if e.TargetRef != nil {
					t.Pod = e.TargetRef.Name
				}
				if !yield(t) {
					return
				}
			}
		}
	}
}

func is(condition *bool, unsaid bool) bool {
	if condition == nil {
		return unsaid
	}
	return *condition
}

// slicePort is the number a Service's port has in a slice; 0 is none.
func slicePort(slice discoveryv1.EndpointSlice, port corev1.ServicePort) uint16 {
	for _, p := range slice.Ports {
		if p.Name != nil && *p.Name == port.Name && p.Port != nil && p.Protocol != nil && *p.Protocol == port.Protocol {
			return uint16(*p.Port)
		}
	}
	return 0
}

// backends are the ready endpoints or, where none is ready, those that
// terminate and still serve. Local policy decides that on each node.
func (o objects) backends(service corev1.Service, port corev1.ServicePort, policy collect.Policy, selection collect.Selection) []collect.Backend {
	ready, leaving := []collect.Backend{}, []collect.Backend{}
	for e := range o.endpoints(service, port) {
		b := collect.Backend{
			Address: e.Address, Port: e.Port, State: collect.Active,
			Line: collect.Line{Text: "EndpointSlice " + e.slice},
		}
		switch {
		case e.Ready:
			ready = append(ready, b)
		case e.Serving && e.Terminating:
			leaving = append(leaving, b)
		}
	}
	switch {
	case policy == collect.PolicyLocal:
		for i := range leaving {
			leaving[i].State = collect.Terminating
		}
		return append(ready, leaving...)
	case len(ready) == 0:
		ready = leaving
	}
	if selection == collect.SelectRandom {
		for i := range ready {
			ready[i].Probability = 1 / float64(len(ready))
		}
	}
	return ready
}
