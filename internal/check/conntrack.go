package check

import (
	"net/netip"
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// trackerFiles are those of every tracker that a node has.
func (in subject) trackerFiles(role string) []string {
	files := evidence.ConntrackFiles(role)
	if in.dataPlane.Cilium != nil {
		files = append(files, evidence.CiliumConntrackFiles(role)...)
	}
	if in.dataPlane.Calico != nil {
		files = append(files, evidence.CalicoConntrackFiles(role)...)
	}
	return files
}

// tracked judges every connection to the Service that some tracker knows. Where
// Cilium or Calico implements Services the kernel's own tracker is to know none:
// a packet that it sees with a Service's address has passed their programs, and
// if it was translated, something else did. That is found here and not in mode.sole,
// since an entry outlives the rule that made it.
func tracked(in subject, j *judgement) {
	if !j.usable(in, evidence.ServicesFile, evidence.EndpointSlicesFile) {
		return
	}
	connections := 0
	for _, role := range spec.Roles {
		var files judgement
		if !files.usable(in, in.trackerFiles(role)...) {
			// What was found counts all the same.
			j.skip = "connection tracking could not be read: " + summary(files.open)
		} else if !j.usable(in, role+"/"+evidence.AddressesFile) {
			continue
		}
		for _, t := range in.state(role).Translations {
			// What Calico passes on to the backend's node is translated there, and
			// carries the address of the node it entered.
			if !in.translatedOn(role, t.Destination) && t.Tracker != collect.TrackedByCalico {
				continue
			}
			connections += t.Count
			switch {
			case in.replaced() && t.Tracker == collect.TrackedByKernel && t.Backend.IsValid():
				j.contradict(role, t.Ref, "%d connections to %s are translated to %s by the kernel's connection tracking, want by %s", t.Count, t.Destination, t.Backend, by(in.expect.Mode))
			case in.replaced() && t.Tracker == collect.TrackedByKernel:
				j.contradict(role, t.Ref, "%d connections to %s have passed %s untranslated", t.Count, t.Destination, by(in.expect.Mode))
			case !t.Backend.IsValid() && t.Tracker != collect.TrackedByKernel:
				j.contradict(role, t.Ref, "%d connections to %s go to a backend that %s's maps do not have", t.Count, t.Destination, by(t.Tracker))
			case !t.Backend.IsValid():
				j.contradict(role, t.Ref, "%d connections to %s are not translated", t.Count, t.Destination)
			case !in.isEndpoint(t.Backend):
				j.contradict(role, t.Ref, "%d connections to %s are translated to %s, which is no ready endpoint", t.Count, t.Destination, t.Backend)
			default:
				j.quote(role, t.Ref, "%d connections to %s are translated to %s", t.Count, t.Destination, t.Backend)
			}
		}
	}
	if connections == 0 && j.skip == "" {
		client := in.experiment.Workload.ClientNode
		j.undecided(client, collect.Ref{File: evidence.ConntrackFiles(client)[0]}, "no connection to the Service is tracked, here or on any other node")
	}
}

// translatedOn says whether a node translates connections to an address: those
// to the Service, and to its port of that node. Another node's port is passed
// on as it is.
func (in subject) translatedOn(role string, destination netip.AddrPort) bool {
	service := in.Objects.Service
	toNode := destination.Port() == service.NodePort && slices.Contains(in.node(role).Addresses, destination.Addr())
	return toNode || destination == netip.AddrPortFrom(service.ClusterIP, service.Port)
}

func (in subject) isEndpoint(backend netip.AddrPort) bool {
	return evidence.ReadyEndpoint(in.Evidence, backend)
}
