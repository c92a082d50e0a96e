package evidence

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
)

// TestCalicoTable: the JSON form is read or, where calico-node knows none, the text.
// That it printed nothing is a failure, and no reason to read the text.
func TestCalicoTable(t *testing.T) {
	const json, text, affinity = "worker/" + calico.NATFile, "worker/" + calico.NATTextFile, "worker/" + calico.AffinityFile
	outcomes := func(all ...string) func(fstest.MapFS) {
		return func(raw fstest.MapFS) {
			for i := 0; i < len(all); i += 2 {
				index(raw, all[i], collect.Outcome(all[i+1]))
			}
		}
	}
	write := func(file, data string) func(fstest.MapFS) {
		return func(raw fstest.MapFS) { raw[file].Data = []byte(data) }
	}
	const failed, absent = string(collect.Failed), string(collect.NotThere)
	tests := []struct {
		name   string
		change func(fstest.MapFS)
		from   string   // "" for no table
		bad    []string // files that cannot be used
	}{
		{"as recorded", func(fstest.MapFS) {}, json, nil},
		{"no JSON form", outcomes(json, absent), text, nil},
		{"no JSON form of either map", outcomes(json, absent, affinity, absent), text, nil},
		{"the JSON form was not asked for", outcomes(json, ""), text, []string{json}},
		{"the text failed", outcomes(text, failed), json, []string{text}},
		{"the text was not asked for", outcomes(text, ""), json, []string{text}},
		{"the text says nothing", write(text, ""), json, nil},
		{"the JSON form failed", outcomes(json, failed), "", []string{json}},
		{"the JSON form says nothing", write(json, ""), "", []string{json}},
		{"no JSON", write(json, "Error: unknown\n"), "", []string{json}},
		{"JSON of something else", write(json, "{}"), "", []string{json}},
		{"neither", outcomes(json, absent, text, failed), "", []string{text}},
		{"neither was asked for", outcomes(json, "", text, ""), "", []string{json, text}},
		{"no JSON form, and the text says nothing", func(raw fstest.MapFS) { outcomes(json, absent)(raw); write(text, "")(raw) }, "", []string{text}},
		{"no JSON form, and the text is none", func(raw fstest.MapFS) { outcomes(json, absent)(raw); write(text, "Error: unknown\n")(raw) }, "", []string{text}},
		{"affinity failed", outcomes(affinity, failed), "", []string{affinity}},
		{"affinity was not asked for", outcomes(affinity, ""), "", []string{affinity}},
		{"affinity in text", write(affinity, "client 10.244.9.9\n"), "", []string{json}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			raw, s, x := calicoRun(t, "service-path")
			test.change(raw)
			e, err := Decode(raw, s, x)
			if err != nil {
				t.Fatal(err)
			}
			var bad []string
			for _, p := range e.Problems {
				bad = append(bad, p.File)
			}
			slices.Sort(bad)
			if !slices.Equal(bad, test.bad) {
				t.Errorf("problems %+v, want of %q", e.Problems, test.bad)
			}
			switch table := e.Kernel[1].Table(calico.Encoding); {
			case (table == nil) != (test.from == ""):
				t.Errorf("table %+v, want one from %q", table, test.from)
			case table == nil:
			case table.File != test.from || len(table.Frontends) != 9 || len(table.Unparsed) > 0:
				t.Errorf("%d frontends from %s, not understood %v; want 9 from %s", len(table.Frontends), table.File, table.Unparsed, test.from)
			default:
				f := table.Frontends[0]
				if line := strings.Split(string(raw[table.File].Data), "\n")[f.Line.Number-1]; !strings.Contains(line, f.Address.String()) {
					t.Errorf("line %d of %s is %q and has no %s", f.Line.Number, table.File, line, f.Address)
				}
			}
			for _, other := range []int{0, 2} {
				if table := e.Kernel[other].Table(calico.Encoding); table == nil || len(table.Frontends) != 9 {
					t.Errorf("%s: %+v", e.Kernel[other].Node, table)
				}
			}
		})
	}
}

// TestCalicoFlows: of what Calico tracks, translated TCP connections to the Service
// count, on the node they entered and on their backend's.
func TestCalicoFlows(t *testing.T) {
	raw, s, x := calicoRun(t, "service-path")
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	last := e.Traffic[len(e.Traffic)-1]
	if last.From != spec.FromHost {
		t.Fatalf("%s is not from the host", last.Name)
	}
	host := []netip.Addr{last.Attempts[0].LocalAddress.Addr()}
	entered := map[string]int{}
	for _, state := range e.Kernel {
		for _, got := range state.Translations {
			if got.Tracker != collect.TrackedByCalico || got.Destination.Port() != 30081 || !ReadyEndpoint(e, got.Backend) || got.Masqueraded || !slices.Equal(got.Sources, host) {
				t.Errorf("%s: %+v", state.Node, got)
			}
			if got.Ref.File != state.Node+"/"+calico.ConntrackFile || !strings.HasPrefix(got.Ref.Line.Text, fmt.Sprintf("TCP %s:", host[0])) || got.Ref.Line.Number == 0 {
				t.Errorf("%s: quoted is %+v", state.Node, got.Ref)
			}
			i := slices.IndexFunc(e.Nodes, func(n collect.Node) bool { return n.InternalIP == got.Destination.Addr() })
			if i >= 0 && e.Nodes[i].Role == state.Node {
				entered[state.Node] += got.Count
			}
		}
	}
	// 12 from the host to each node's port; those of the pod are not translated in
	// packets.
	for _, role := range spec.Roles {
		if entered[role] != x.Spec.Connections {
			t.Errorf("%d connections entered at %s, want %d", entered[role], role, x.Spec.Connections)
		}
	}
}

func TestCalicoFlowsOf(t *testing.T) {
	const file = "worker/" + calico.ConntrackFile
	const service, nodePort, pod = "10.98.0.5:80", "172.18.0.3:30081", "10.244.1.2:8080"
	flow := func(kind, proto, src, dst, service string) string {
		text := fmt.Sprintf(`{"type":%q,"proto":%q,"src":%q,"dst":%q`, kind, proto, src, dst)
		if service != "" {
			text += fmt.Sprintf(`,"orig_dst":%q`, service)
		}
		return text + "}"
	}
	tests := []struct {
		name    string
		flows   []string
		want    string // dialled>backend×count [sources], of each kind
		problem string
	}{
		{"to the ClusterIP", []string{flow("nat", "TCP", "10.244.1.4:1", pod, service)}, "10.98.0.5:80>10.244.1.2:8080×1 [10.244.1.4]", ""},
		{"to the NodePort of any node", []string{flow("nat", "TCP", "172.18.0.1:1", pod, nodePort), flow("nat", "TCP", "172.18.0.1:1", pod, "172.18.0.4:30081")},
			"172.18.0.3:30081>10.244.1.2:8080×1 [172.18.0.1] 172.18.0.4:30081>10.244.1.2:8080×1 [172.18.0.1]", ""},
		{"of one kind", []string{flow("nat", "TCP", "172.18.0.9:1", pod, nodePort), flow("nat", "TCP", "172.18.0.1:1", pod, nodePort), flow("nat", "TCP", "172.18.0.1:2", pod, nodePort)},
			"172.18.0.3:30081>10.244.1.2:8080×3 [172.18.0.1 172.18.0.9]", ""},
		{"to a stranger", []string{flow("nat", "TCP", "172.18.0.1:1", "10.244.9.9:1", nodePort)}, "172.18.0.3:30081>10.244.9.9:1×1 [172.18.0.1]", ""},
		{"not translated", []string{flow("normal", "TCP", "10.244.1.4:1", pod, ""), flow("normal", "TCP", "172.18.0.1:1", nodePort, "")}, "", ""},
		{"of another protocol", []string{flow("nat", "UDP", "10.244.1.4:1", pod, service)}, "", ""},
		{"to another Service", []string{flow("nat", "TCP", "10.244.1.4:1", "10.244.0.2:53", "10.98.0.10:53")}, "", ""},
		{"to another port of the Service", []string{flow("nat", "TCP", "10.244.1.4:1", pod, "10.98.0.5:81")}, "", ""},
		{"none", nil, "", ""},
		{"of a type that is not known", []string{flow("weather", "TCP", "10.244.1.4:1", pod, "")}, "", `type "weather" is not known`},
		{"translated without a Service", []string{flow("nat", "TCP", "10.244.1.4:1", pod, "")}, "", "do not fit"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			s := calicoSource(file, "["+strings.Join(test.flows, ",")+"]")
			for _, empty := range ConntrackFiles("worker") {
				s.records[empty] = collect.Record{File: empty, Outcome: collect.Captured}
				s.raw.(fstest.MapFS)[empty] = &fstest.MapFile{}
			}
			at := netip.MustParseAddrPort(service)
			var got []string
			for _, f := range s.translations("worker", collect.Service{ClusterIP: at.Addr(), Port: at.Port(), NodePort: 30081}) {
				got = append(got, fmt.Sprintf("%s>%s×%d %v", f.Destination, f.Backend, f.Count, f.Sources))
				if f.Tracker != collect.TrackedByCalico || f.Ref.File != file || f.Ref.Line.Text == "" {
					t.Errorf("%+v", f)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if said := problemOf(s.problems, file); !strings.Contains(said, test.problem) || (said == "") != (test.problem == "") {
				t.Errorf("problem %q, want %q", said, test.problem)
			}
		})
	}
}

// TestCalicoState: each node's NAT maps have what the API asks for, the NodePort
// once for each of its addresses and once without.
func TestCalicoState(t *testing.T) {
	e := loadCalico(t, "service-path", func(fstest.MapFS) {})
	for i, state := range e.Kernel {
		table := state.Table(calico.Encoding)
		if table == nil || table.File != state.Node+"/"+calico.NATFile || len(table.Unparsed) > 0 {
			t.Fatalf("%s: %+v", state.Node, table)
		}
		if n := len(e.Objects.Expected.Frontends); len(table.Frontends) != n+2 || n == 0 {
			t.Errorf("%s: %d frontends, %d expected", state.Node, len(table.Frontends), n)
		}
		nodePorts := 0
		for _, f := range table.Frontends {
			if f.Kind != collect.NodePort {
				continue
			}
			nodePorts++
			if f.Address.IsValid() && !slices.Contains(e.Nodes[i].Addresses, f.Address) {
				t.Errorf("%s: NodePort at %s, which is no address of it", state.Node, f.Address)
			}
		}
		if nodePorts != 3 || len(state.IptablesRules) > 0 || state.LiveIptables != "none" {
			t.Errorf("%s: %d rows of the NodePort, rules %+v in %s", state.Node, nodePorts, state.IptablesRules, state.LiveIptables)
		}
	}
	for _, p := range e.Traffic {
		want := spec.TranslatedAtSocket
		if p.From == spec.FromHost {
			want = spec.TranslatedInPacket
		}
		for _, a := range p.Attempts {
			if place, known := Translated(e, a); place != want || !known {
				t.Errorf("%s: connection %d is translated %q, want %q", p.Name, a.Sequence, place, want)
			}
		}
		if trackers := Trackers(e, p); p.From == spec.FromHost && !slices.Equal(trackers, []string{collect.TrackedByCalico}) {
			t.Errorf("%s: tracked by %q", p.Name, trackers)
		}
	}
}
