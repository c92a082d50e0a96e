package tracetest

import (
	"net/netip"
	"testing"

	"service-dataplane/pkg/collect"
)

// TestCompare: each thing that can differ is found.
func TestCompare(t *testing.T) {
	for name, change := range map[string]func(*collect.Trace, *collect.Frontend){
		"a backend more":      func(_ *collect.Trace, f *collect.Frontend) { f.Backends = f.Backends[:1] },
		"a backend less":      func(c *collect.Trace, _ *collect.Frontend) { c.Backends = c.Backends[:1] },
		"another probability": func(_ *collect.Trace, f *collect.Frontend) { f.Backends[0].Probability = 0.4 },
		"another backend":     func(_ *collect.Trace, f *collect.Frontend) { f.Backends[0].Port++ },
		"marked":              func(_ *collect.Trace, f *collect.Frontend) { f.Masquerade = collect.MasqueradeAlways },
		"rejected":            func(_ *collect.Trace, f *collect.Frontend) { f.NoBackends = "reject" },
		"stopped":             func(c *collect.Trace, _ *collect.Frontend) { c.Stopped = &collect.Hop{} },
	} {
		trace, frontend := alike()
		if got := Compare(trace, frontend); got != nil {
			t.Fatal(got)
		}
		change(&trace, &frontend)
		if Compare(trace, frontend) == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

// alike are a trace and a frontend that say the same.
func alike() (collect.Trace, collect.Frontend) {
	trace := collect.Trace{Packet: collect.Packet{Origin: collect.FromPod}, Marked: collect.Answer{Decision: collect.No}}
	frontend := collect.Frontend{Port: 80, Protocol: "TCP", Masquerade: collect.MasqueradeOffCluster}
	for _, address := range []string{"10.244.0.1", "10.244.0.2"} {
		at := netip.MustParseAddr(address)
		trace.Backends = append(trace.Backends, collect.TracedBackend{Probability: collect.Part(1, 2), Backend: netip.AddrPortFrom(at, 8080)})
		frontend.Backends = append(frontend.Backends, collect.Backend{Address: at, Port: 8080, Probability: 0.5, State: collect.Active})
	}
	return trace, frontend
}
