package diff

import (
	"cmp"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

var update = flag.Bool("update", false, "write the golden files")

// full is evidence in which every field holds something.
func full() evidence.Normalized {
	backend := func(node string) evidence.NormalizedBackend {
		return evidence.NormalizedBackend{
			Backend: collect.Backend{Port: 8080, Probability: 0.5, Weight: 1, State: collect.Active},
			Address: "pod:demo/echo-server@" + node,
		}
	}
	node := func(role string) evidence.NormalizedNode {
		return evidence.NormalizedNode{Node: role, LiveIptables: "nft", Tables: []evidence.NormalizedTable{{
			Encoding: "ipvs", File: role + "/ip_vs.txt", Frontends: []evidence.NormalizedFrontend{{
				Frontend: collect.Frontend{
					Kind: collect.NodePort, Port: 30081, Protocol: "TCP", Service: "demo/echo-server:http",
					Selection: collect.SelectRoundRobin, AffinitySeconds: 10800, Policy: collect.PolicyCluster,
					Masquerade: collect.MasqueradeAlways, NoBackends: "reject",
				},
				Address: "any", Backends: []evidence.NormalizedBackend{backend("worker"), backend("worker2")},
			}},
			Unparsed: 1,
		}}}
	}
	byNode := func(value string) map[string]string { return map[string]string{"worker": value, "worker2": value} }
	return evidence.Normalized{
		Schema: evidence.Schema, Scenario: "ipvs", Experiment: "service-path",
		Mode: evidence.NormalizedMode{
			Declared: "ipvs", Agent: "false", KubeProxy: collect.Present,
			ProxyMode: byNode("ipvs"), Log: byNode("ipvs"), Process: byNode(collect.Running), Hooks: byNode("cali_ctlb at connect4"),
			Agents: map[string]evidence.NormalizedAgent{"worker": {KubeProxyReplacement: "False", SocketLB: "disabled", AttachMode: "tcx", AllReachable: true}},
			Calico: &evidence.NormalizedCalico{
				Dataplane: "BPF", Bootstrap: "Enabled", KubeProxyManagement: "Enabled", BPF: "enabled", ConnectTime: "TCP",
				UsageReporting: "disabled", ProxyNodes: "0", ProxySelector: "none-of", Components: map[string]string{"calico": "available"},
			},
		},
		Service: evidence.NormalizedService{
			Service:   collect.Service{Namespace: "demo", Name: "echo-server", Type: "NodePort", Port: 80, TargetPort: "http", NodePort: 30081, Protocol: "TCP"},
			ClusterIP: "svc:demo/echo-server",
		},
		Endpoints: []evidence.NormalizedEndpoint{{
			Endpoint: collect.Endpoint{Port: 8080, Node: "worker", Ready: true, Serving: true, Terminating: true},
			Address:  "pod:demo/echo-server@worker",
		}},
		Nodes: []evidence.NormalizedNode{node("worker"), node("worker2")},
		Traffic: []evidence.NormalizedTraffic{{
			Name: "nodeport", Sent: 12, Answered: 11, Failed: 1, Source: "entry-node", SourceFits: true,
			Translated: []string{"packet"}, Trackers: []string{"conntrack"}, EndpointsOnly: true,
			Walks: []evidence.NormalizedWalk{{
				Node: "worker", Encoding: "ipvs", Selection: collect.SelectRoundRobin, Endings: []string{"1/2 rejected"}, Stopped: true,
				Ways: []string{"1/2 to pod:demo/echo-server@worker at 8080, masqueraded: yes"},
			}},
		}},
		Checks: []evidence.NormalizedCheck{{ID: "kernel.table", Verdict: collect.Pass}},
	}
}

// notCompared are fields that no difference is made of, and why.
var notCompared = map[string]string{
	"Schema":     "both sides are derived by one program",
	"Scenario":   "names the run",
	"Experiment": "names the run",
	// The form keeps the evidence's own type and hides what is volatile in it.
	"Service.Service.ClusterIP":                                   "empty: the symbol stands for it",
	"Endpoints[].Endpoint.Address":                                "empty: the symbol stands for it",
	"Endpoints[].Endpoint.Pod":                                    "empty: ends in a random part",
	"Endpoints[].Pod":                                             "nil: hides the name",
	"Nodes[].Tables[].Frontends[].Frontend.Address":               "empty: the symbol stands for it",
	"Nodes[].Tables[].Frontends[].Frontend.Backends":              "nil: the normalized ones stand for them",
	"Nodes[].Tables[].Frontends[].Frontend.Line.Number":           "empty: a place in a raw file",
	"Nodes[].Tables[].Frontends[].Frontend.Line.Text":             "empty: a place in a raw file",
	"Nodes[].Tables[].Frontends[].Line":                           "nil: hides the place",
	"Nodes[].Tables[].Frontends[].Backends[].Backend.Address":     "empty: the symbol stands for it",
	"Nodes[].Tables[].Frontends[].Backends[].Backend.Line.Number": "empty: a place in a raw file",
	"Nodes[].Tables[].Frontends[].Backends[].Backend.Line.Text":   "empty: a place in a raw file",
	"Nodes[].Tables[].Frontends[].Backends[].Line":                "nil: hides the place",
}

// TestEveryField changes each field of the form, and takes away each element of
// its lists and maps: exactly one line says so. A field that is new in the form
// has to be compared, or to be among those that are not.
func TestEveryField(t *testing.T) {
	var golden strings.Builder
	seen, silent := map[string]bool{}, map[string]bool{}
	changed := full()
	visit(reflect.ValueOf(&changed).Elem(), "", func(field string) {
		lines := plain(compare(full(), changed))
		switch {
		case notCompared[field] != "":
			silent[field] = true
			if len(lines) > 0 {
				t.Errorf("%s is said not to be compared: %q", field, lines)
			}
		case field == "Checks[].ID": // a check that passed is gone whatever else is new
			if len(lines) != 2 {
				t.Errorf("%s: %q", field, lines)
			}
		case len(lines) != 1:
			t.Errorf("%s: want one line: %q", field, lines)
		}
		if !seen[field] && len(lines) > 0 {
			fmt.Fprintf(&golden, "%s\n    %s\n", field, strings.Join(lines, "\n    "))
		}
		seen[field] = true
	}, func(field string) { t.Errorf("full() has no %s, so nothing can be said of it", field) })
	for field := range notCompared {
		if !silent[field] {
			t.Errorf("there is no %s any more", field)
		}
	}
	if same := compare(full(), full()); len(same) > 0 {
		t.Errorf("evidence differs from itself: %q", plain(same))
	}
	const file = "testdata/fields.golden"
	if *update {
		if err := os.WriteFile(file, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != golden.String() {
		t.Errorf("%s (%v); see git diff after -update. Got:\n%s", file, err, golden.String())
	}
}

// plain are the lines of differences, without the name of the run.
func plain(all []Difference) []string {
	var lines []string
	for _, d := range all {
		lines = append(lines, strings.TrimSpace(d.Where()+" "+d.Statement()))
	}
	return lines
}

// visit calls changed with each value below v changed, one after the other.
// empty is told of lists and maps without elements, in which nothing can be.
func visit(v reflect.Value, at string, changed, empty func(field string)) {
	with := func(value reflect.Value, field string) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(value)
		changed(field)
		v.Set(old)
	}
	switch {
	case v.Type() == reflect.TypeFor[netip.Addr]():
		with(reflect.ValueOf(netip.MustParseAddr("192.0.2.1")), at)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			visit(v.Field(i), strings.TrimPrefix(at+"."+v.Type().Field(i).Name, "."), changed, empty)
		}
	case v.Kind() == reflect.Pointer && v.IsNil():
		with(reflect.New(v.Type().Elem()), at)
	case v.Kind() == reflect.Pointer:
		with(reflect.Zero(v.Type()), at)
		visit(v.Elem(), at, changed, empty)
	case v.Kind() == reflect.Slice && v.IsNil():
		if notCompared[at] == "" {
			empty(at)
		}
		with(reflect.MakeSlice(v.Type(), 1, 1), at)
	case v.Kind() == reflect.Slice:
		with(v.Slice(0, v.Len()-1), at+"[]")
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len()) // what was cut off shares it
		reflect.Copy(copied, v)
		v.Set(copied)
		for i := range v.Len() {
			visit(v.Index(i), at+"[]", changed, empty)
		}
	case v.Kind() == reflect.Map:
		if v.Len() == 0 {
			empty(at)
		}
		for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) }) {
			value := v.MapIndex(key)
			v.SetMapIndex(key, reflect.Value{})
			changed(at + "{}")
			element := reflect.New(v.Type().Elem()).Elem()
			element.Set(value)
			visit(element, at+"{}", func(field string) {
				v.SetMapIndex(key, element)
				changed(field)
			}, empty)
			v.SetMapIndex(key, value)
		}
	case v.Kind() == reflect.String:
		with(reflect.ValueOf("other").Convert(v.Type()), at)
	case v.Kind() == reflect.Bool:
		with(reflect.ValueOf(!v.Bool()), at)
	case v.CanInt() || v.CanUint() || v.CanFloat():
		with(reflect.ValueOf(7).Convert(v.Type()), at)
	default:
		panic(at + " is of a kind that is not known here")
	}
}
