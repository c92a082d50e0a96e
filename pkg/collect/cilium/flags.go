package cilium

import (
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// The words of slot 0's flags that the table is made of; the first one is always
// the kind (pkg/loadbalancer/loadbalancer.go, ServiceFlags.String).
const (
	flagExtLocal    = "Local"
	flagIntLocal    = "InternalLocal"
	flagAffinity    = "sessionAffinity"
	flagNonRoutable = "non-routable"
	flagL7          = "l7-load-balancer"
)

// frontendKind is the kind of a frontend, or why the table cannot hold it.
func frontendKind(at address, name string) (kind collect.FrontendKind, refusal string) {
	switch name {
	case "ClusterIP", "NodePort", "LoadBalancer":
		kind = collect.FrontendKind(name)
	case "ExternalIPs":
		kind = collect.ExternalIP
	case "HostPort", "LocalRedirect":
		return "", name + " is no frontend of a Service"
	default:
		return "", "not a known kind of frontend"
	}
	switch {
	case !isProtocol(at.protocol) || at.port == 0:
		return "", "not a port of a Service"
	case at.addr.IsUnspecified() && kind != collect.NodePort:
		return "", "not an address of a Service"
	}
	return kind, ""
}

// flagReason says why the table does not tell all of a frontend with that flag;
// "" where it does. Of the flags it leaves out, source ranges and non-routable
// say who may enter, dsr says how the answer returns: none changes the backend.
func flagReason(flag string) string {
	switch flag {
	case "ClusterIP", "NodePort", "LoadBalancer", "ExternalIPs",
		flagExtLocal, flagIntLocal, flagAffinity, flagNonRoutable, "two-scopes", "check source-range", "deny", "dsr":
		return ""
	case flagL7, "delegate-if-local":
		return "a proxy takes the connections"
	case "46x64":
		return "translated between IPv4 and IPv6"
	}
	return "flag " + flag + " is not known"
}

// policy follows Cilium's choice of backends (pkg/loadbalancer/writer,
// shouldUseLocalBackends). Each flag is on every row of the Service, so a
// ClusterIP is "Local" because of its node port.
func policy(at address, kind collect.FrontendKind, flags []string) collect.Policy {
	local := flagExtLocal
	if at.internal || kind == collect.ClusterIP {
		local = flagIntLocal
	}
	if slices.Contains(flags, local) {
		return collect.PolicyLocal
	}
	return collect.PolicyCluster
}

// selection says how a connection gets its backend, one from outside the node
// where the two ways differ; false where a Service asks for an algorithm that is
// not known.
//
// Maglev is the node's or, by annotation, the Service's choice. It needs a table,
// which the agent makes for a frontend only where connections can come from
// outside: not for the zero address and, by the node's choice, not for a
// ClusterIP that is not routable. Those from the node's own pods and sockets do
// not use it: socket LB takes a random slot (for UDP one by the socket's number,
// so that a socket keeps its backend), and so does the program at a pod's
// interface unless the Service asks for Maglev. (bpf/bpf_sock.c sock_select_slot,
// bpf/lib/lb.h lb_default_algorithm, pkg/loadbalancer/reconciler useMaglev.)
func selection(at address, kind collect.FrontendKind, flags []string, algorithm string, n count) (collect.Selection, bool) {
	const annotatedRandom, annotatedMaglev = 1, 2
	asked := n.algorithm()
	if slices.Contains(flags, flagL7) {
		asked = 0 // the field holds the proxy's port
	}
	switch {
	case asked > annotatedMaglev:
		return "", false
	case at.addr.IsUnspecified() || asked == annotatedRandom:
		return collect.SelectRandom, true
	case asked == annotatedMaglev:
		return collect.SelectMaglev, true
	case at.internal, kind == collect.ClusterIP && slices.Contains(flags, flagNonRoutable), algorithm == "":
		return collect.SelectRandom, true
	}
	return collect.Selection(strings.ToLower(algorithm)), true
}

// affinity is the time of session affinity in seconds; false where there is
// affinity and no time, or the other way round.
func affinity(flags []string, n count) (int, bool) {
	seconds := int(n.id & 0xffffff)
	if slices.Contains(flags, flagL7) {
		seconds = 0 // the field holds the proxy's port
	}
	if slices.Contains(flags, flagAffinity) {
		return seconds, seconds > 0
	}
	return 0, seconds == 0
}

// algorithm is what the Service asks for by annotation, 0 for none.
func (c counters) algorithm() uint8 { return uint8(c.id >> 24) }
