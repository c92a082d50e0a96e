package check

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
)

type difference struct {
	text string
	line collect.Line
}

// differences are what an account's frontend has otherwise than wanted. What
// its encoding does not say is not compared: the Service, what becomes of a
// connection without backends, whether an address of the outside is a load
// balancer's, in IPVS the policy of a ClusterIP, in the maps of Cilium and Calico
// the masquerade, in Calico's the time of session affinity and at times the kind.
// The list of Cilium's agent names no port of a Service and tells backends and
// policy alone.
func differences(want, got collect.Frontend, from account) []difference {
	var all []difference
	compare := func(name string, got, want any, line collect.Line) {
		if got != want {
			all = append(all, difference{fmt.Sprintf("%s%s is %v, want %v", name, from.in(), got, want), line})
		}
	}
	intent := from.Encoding == cilium.AgentEncoding
	outside := func(k collect.FrontendKind) bool { return k != collect.ClusterIP && k != collect.NodePort }
	if got.Kind != "" && (!outside(want.Kind) || !outside(got.Kind)) {
		compare("kind", got.Kind, want.Kind, got.Line)
	}
	name := want.Service
	if intent {
		name, _, _ = strings.Cut(name, ":")
	}
	if got.Service != "" {
		compare("service", got.Service, name, got.Line)
	}
	programmed := activeOnly(got.Backends)
	key, _ := frontendKey(want)
	// beside looks for a backend in the other account.
	beside := func(here bool, b collect.Backend) string {
		return from.beside(here, func(a account) bool {
			return slices.ContainsFunc(a.frontends(key), func(f collect.Frontend) bool { return has(activeOnly(f.Backends), b) })
		})
	}
	for _, b := range want.Backends {
		there := slices.IndexFunc(got.Backends, func(other collect.Backend) bool { return at(other) == at(b) })
		switch {
		case has(programmed, b):
		case there >= 0:
			idle := got.Backends[there]
			all = append(all, difference{fmt.Sprintf("backend %s is %s%s and takes no new connections", at(b), idle.State, from.in()), idle.Line})
		default:
			all = append(all, difference{fmt.Sprintf("backend %s is missing%s%s", at(b), from.in(), beside(false, b)), got.Line})
		}
	}
	for _, b := range programmed {
		switch share := 1 / float64(len(want.Backends)); {
		case !has(want.Backends, b):
			all = append(all, difference{fmt.Sprintf("backend %s%s is no endpoint%s", at(b), from.in(), beside(true, b)), b.Line})
		case intent:
		case want.Selection == collect.SelectRandom && math.Abs(b.Probability-share) > 1e-6:
			all = append(all, difference{fmt.Sprintf("backend %s has probability %.6f%s, want %.6f", at(b), b.Probability, from.in(), share), b.Line})
		case from.Encoding == "ipvs":
			compare(fmt.Sprintf("weight of backend %s", at(b)), b.Weight, 1, b.Line)
		}
	}
	if len(want.Backends) == 0 {
		if got.NoBackends != "" {
			compare("connection without backends", got.NoBackends, want.NoBackends, got.Line)
		}
		return all
	}
	if !intent {
		compare("selection", got.Selection, want.Selection, got.Line)
	}
	if !intent && from.Encoding != calico.Encoding {
		compare("affinity in seconds", got.AffinitySeconds, want.AffinitySeconds, got.Line)
	}
	if got.Masquerade != "" {
		compare("masquerade", got.Masquerade, want.Masquerade, got.Line)
	}
	if from.Encoding != "ipvs" || want.Kind != collect.ClusterIP {
		compare("policy", got.Policy, want.Policy, got.Line)
	}
	return all
}

func at(b collect.Backend) netip.AddrPort { return netip.AddrPortFrom(b.Address, b.Port) }

func has(all []collect.Backend, b collect.Backend) bool {
	return slices.ContainsFunc(all, func(other collect.Backend) bool { return at(other) == at(b) })
}
