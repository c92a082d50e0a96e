package check

import (
	"fmt"
	"slices"
	"strconv"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

func objectChecks() []Definition {
	return []Definition{
		{"objects.service", "The Service is of type NodePort with the ports the experiment asks for.", service},
		{"objects.endpoints", "The Service has one ready endpoint on each node the experiment asks for and none elsewhere.", endpoints},
	}
}

func service(in subject, j *judgement) {
	if !j.usable(in, evidence.ServicesFile) {
		return
	}
	want, got := in.experiment.Workload, in.Objects.Service
	name := want.Namespace + "/" + want.Service
	ref := collect.Ref{File: evidence.ServicesFile, Line: collect.Line{Text: "Service " + name}}
	if got.Name == "" {
		j.contradict("cluster", ref, "there is no Service %s", name)
		return
	}
	expect := func(what, got, want string) {
		if got != want {
			j.contradict("cluster", ref, "%s is %q, want %q", what, got, want)
		}
	}
	expect("type", got.Type, "NodePort")
	expect("protocol", got.Protocol, "TCP")
	expect("port", fmt.Sprint(got.Port), fmt.Sprint(want.ClusterPort))
	expect("nodePort", fmt.Sprint(got.NodePort), fmt.Sprint(want.NodePort))
	// A name says nothing here: what it stands for is in the EndpointSlice.
	if _, err := strconv.Atoi(got.TargetPort); err == nil {
		expect("targetPort", got.TargetPort, fmt.Sprint(want.TargetPort))
	}
	if !got.ClusterIP.IsValid() {
		j.contradict("cluster", ref, "it has no ClusterIP")
	}
	j.quote("cluster", ref, "ClusterIP %s, port %d, nodePort %d", got.ClusterIP, got.Port, got.NodePort)
}

func endpoints(in subject, j *judgement) {
	if !j.usable(in, evidence.ServicesFile, evidence.EndpointSlicesFile) {
		return
	}
	want := in.experiment.Workload
	ref := func(address string) collect.Ref {
		return collect.Ref{File: evidence.EndpointSlicesFile, Line: collect.Line{Text: address}}
	}
	ready := map[string]int{}
	for _, e := range in.Objects.Endpoints {
		at := ref(fmt.Sprintf("%s:%d", e.Address, e.Port))
		switch {
		case !e.Ready:
			j.quote(e.Node, at, "%s is not ready", e.Pod)
			continue
		case !slices.Contains(want.BackendNodes, e.Node):
			j.contradict(e.Node, at, "%s is ready on a node that was to have no endpoint", e.Pod)
		case int(e.Port) != want.TargetPort:
			j.contradict(e.Node, at, "port of %s is %d, want %d", e.Pod, e.Port, want.TargetPort)
		default:
			j.quote(e.Node, at, "%s is ready", e.Pod)
		}
		ready[e.Node]++
	}
	for _, node := range want.BackendNodes {
		if ready[node] != 1 {
			j.contradict(node, ref(want.Namespace+"/"+want.Service), "%d ready endpoints, want 1", ready[node])
		}
	}
}

// ready are the Service's ready endpoints.
func (in subject) ready() []collect.Endpoint {
	return slices.DeleteFunc(slices.Clone(in.Objects.Endpoints), func(e collect.Endpoint) bool { return !e.Ready })
}
