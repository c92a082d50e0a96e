package calico

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

// The client's connections to the three node ports, as each node that has part in
// them sees them: 12 entered at the control plane, which has no backend.
func TestDecodeConntrackNodePort(t *testing.T) {
	tests := []struct {
		node string
		want map[string]int
	}{
		{"control-plane", map[string]int{
			"172.18.0.5:30081 -> 10.244.95.133:8080 np-fwd 172.18.0.6": 8,
			"172.18.0.5:30081 -> 10.244.146.67:8080 np-fwd 172.18.0.7": 4,
		}},
		{"worker", map[string]int{
			"172.18.0.6:30081 -> 10.244.95.133:8080 ext-local":            9,
			"172.18.0.6:30081 -> 10.244.146.67:8080 np-fwd 172.18.0.7":    3,
			"172.18.0.5:30081 -> 10.244.95.133:8080 ext-local 172.18.0.5": 8,
			"172.18.0.7:30081 -> 10.244.95.133:8080 ext-local 172.18.0.7": 5,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.node, func(t *testing.T) {
			flows, err := DecodeConntrack(read(t, tt.node, ConntrackFile))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, f := range flows {
				if f.Service.Port() != 30081 {
					continue
				}
				if f.Type != FlowNAT || f.Protocol != "TCP" || f.State != "CLOSED" || f.Source.Addr() != netip.MustParseAddr("172.18.0.1") {
					t.Errorf("flow %+v", f)
				}
				key := f.Service.String() + " -> " + f.Destination.String() + " " + f.Flags[0]
				if f.Tunnel.IsValid() {
					key += " " + f.Tunnel.String()
				}
				got[key]++
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// A pod's TCP connection to a ClusterIP was translated at connect(): the ClusterIP
// is in no flow. DNS over UDP was not, and the node that sent it has both addresses.
func TestDecodeConntrackClusterIP(t *testing.T) {
	flows, err := DecodeConntrack(read(t, "worker", ConntrackFile))
	if err != nil {
		t.Fatal(err)
	}
	clusterIP, pod := netip.MustParseAddr("10.96.221.2"), netip.MustParseAddr("10.244.146.66")
	fromPod, dns := 0, 0
	for _, f := range flows {
		if f.Service.Addr() == clusterIP || f.Destination.Addr() == clusterIP {
			t.Errorf("the ClusterIP is in %s", f.Line)
		}
		if f.Source.Addr() == pod && f.Destination == netip.MustParseAddrPort("10.244.95.133:8080") {
			fromPod++
			if f.Type != FlowNormal || f.Service.IsValid() {
				t.Errorf("translated: %s", f.Line)
			}
		}
		if f.Service == netip.MustParseAddrPort("10.96.0.10:53") && f.Protocol == "UDP" {
			dns++
		}
	}
	if len(flows) != 346 || fromPod == 0 || dns != 8 {
		t.Errorf("%d flows, %d of the pod, %d of DNS", len(flows), fromPod, dns)
	}
}

func TestDecodeConntrackElement(t *testing.T) {
	ap := netip.MustParseAddrPort
	tests := []struct {
		name, text string
		want       Flow
	}{
		{
			"forwarded to another node",
			`{"type": "nat", "proto": "TCP", "src": "172.18.0.1:52716", "dst": "10.244.146.67:8080", "orig_dst": "172.18.0.6:30081",
			"tunnel_ip": "172.18.0.7", "flags": ["np-fwd", "cluster-external"], "active_ago": "1s", "tcp_state": "CLOSED"}`,
			Flow{
				Type: FlowNAT, Protocol: "TCP", Source: ap("172.18.0.1:52716"), Service: ap("172.18.0.6:30081"), Destination: ap("10.244.146.67:8080"),
				Tunnel: netip.MustParseAddr("172.18.0.7"), Flags: []string{"np-fwd", "cluster-external"}, State: "CLOSED",
				Line: collect.Line{Text: "TCP 172.18.0.1:52716 -> 172.18.0.6:30081 -> 10.244.146.67:8080 external client, service forwarded to/from 172.18.0.7 CLOSED"},
			},
		},
		{
			"a changed source port, IPv6",
			`{"type": "nat", "proto": "UDP", "src": "[fd00::9]:20000", "dst": "[fd00:244::1]:53", "orig_dst": "[fd00:96::a]:53",
			"orig_src_port": 40000, "flags": ["host-psnat"], "active_ago": "1s"}`,
			Flow{
				Type: FlowNAT, Protocol: "UDP", Source: ap("[fd00::9]:20000"), OriginalPort: 40000, Service: ap("[fd00:96::a]:53"), Destination: ap("[fd00:244::1]:53"),
				Flags: []string{"host-psnat"},
				Line:  collect.Line{Text: "UDP [fd00::9]:20000 -> [fd00:96::a]:53 -> [fd00:244::1]:53 source port changed from 40000"},
			},
		},
		{
			"no ports",
			`{"type": "normal", "proto": "ICMP", "src": "10.0.0.1:0", "dst": "10.0.0.2:0", "flags": null, "active_ago": "1s"}`,
			Flow{
				Type: FlowNormal, Protocol: "ICMP", Source: ap("10.0.0.1:0"), Destination: ap("10.0.0.2:0"),
				Line: collect.Line{Text: "ICMP 10.0.0.1:0 -> 10.0.0.2:0"},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			flows, err := DecodeConntrack([]byte("[\n" + tt.text + "]"))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Line.Number = 2
			if len(flows) != 1 || !reflect.DeepEqual(flows[0], tt.want) {
				t.Errorf("got  %+v\nwant %+v", flows, tt.want)
			}
		})
	}
}

func TestDecodeConntrackNothing(t *testing.T) {
	for _, text := range []string{"null\n", "[]"} {
		if flows, err := DecodeConntrack([]byte(text)); err != nil || len(flows) != 0 {
			t.Errorf("%q: %v, %v", text, flows, err)
		}
	}
}

func TestDecodeConntrackErrors(t *testing.T) {
	const good = `[{"type": "nat",` + "\n" + `"proto": "TCP", "src": "10.0.0.1:1", "dst": "10.0.0.2:2", "orig_dst": "10.96.0.1:80", "tunnel_ip": "10.0.0.3", "flags": null}]`
	tests := []struct{ name, old, new, want string }{
		{"nothing", good, "", "line 1: unexpected end"},
		{"truncated", `}]`, "", "line 2: unexpected end"},
		{"the text form", good, "TCP 10.0.0.1:1 -> 10.0.0.2:2  Active ago 1s CLOSED\n", "line 1: invalid character"},
		{"an object", good, "{\n}", "line 1: {} where [ is due"},
		{"the raw form", `"type": "nat"`, `"type": "nat-reverse"`, `line 1: type "nat-reverse" is not known`},
		{"no service", `"orig_dst": "10.96.0.1:80",`, "", `line 1: type "nat" and orig_dst "" do not fit`},
		{"a service of none", `"nat"`, `"normal"`, `line 1: type "normal" and orig_dst "10.96.0.1:80" do not fit`},
		{"no protocol", `"proto": "TCP", `, "", "line 1: no proto"},
		{"no source", `"src": "10.0.0.1:1", `, "", "line 1: src: "},
		{"no port", "10.0.0.2:2", "10.0.0.2", "line 1: dst: "},
		{"a name", "10.96.0.1:80", "svc:80", "line 1: orig_dst: "},
		{"a tunnel with a port", `"10.0.0.3"`, `"10.0.0.3:1"`, "line 1: tunnel_ip: "},
		{"a word for the flags", `"flags": null`, `"flags": "np-fwd"`, "line 1: json: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("the file has no %q", tt.old)
			}
			flows, err := DecodeConntrack([]byte(strings.Replace(good, tt.old, tt.new, 1)))
			if err == nil {
				t.Fatalf("decoded as %+v", flows)
			}
			if !strings.HasPrefix(err.Error(), ConntrackFile+": "+tt.want) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
		})
	}
}
