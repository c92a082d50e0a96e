package calico_test

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"service-dataplane/internal/tracetest"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
)

// attached is a program that translates TCP at connect().
const attached = `[{"id":1,"attach_type":"cgroup_inet4_connect","attach_flags":"multi","name":"calico_connect_v4"}]`

func readMaps(t testing.TB, dir string) calico.Raw {
	t.Helper()
	read := func(name string) []byte {
		raw, err := os.ReadFile(filepath.Join("testdata", dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	return calico.Raw{NAT: read(calico.NATFile), NATText: read(calico.NATTextFile)}
}

func packet(origin collect.Origin, from, to, protocol string) collect.Packet {
	return collect.Packet{
		Origin: origin, Source: netip.MustParseAddr(from), Destination: netip.MustParseAddrPort(to), Protocol: protocol,
		Local: []netip.Addr{netip.MustParseAddr("172.18.0.6")},
		Nodes: []netip.Addr{netip.MustParseAddr("172.18.0.6"), netip.MustParseAddr("172.18.0.7")},
	}
}

// TestTraceOfEveryFrontend dials every frontend of three nodes from a pod, in both
// forms of the dump.
func TestTraceOfEveryFrontend(t *testing.T) {
	for _, dir := range []string{"control-plane", "worker", "worker2", "affinity"} {
		for _, form := range []string{"json", "text"} {
			raw := readMaps(t, dir)
			if form == "text" {
				raw.NAT = nil
			}
			table, err := calico.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range table.Frontends {
				at := f.Address
				if !at.IsValid() {
					at = netip.MustParseAddr("172.18.0.99")
				}
				p := packet(collect.FromPod, "10.244.9.9", netip.AddrPortFrom(at, f.Port).String(), f.Protocol)
				p.Nodes = append(p.Nodes, at)
				trace, err := calico.Trace(raw, []byte(attached), p)
				if err != nil {
					t.Fatal(err)
				}
				for _, difference := range tracetest.Compare(trace, f) {
					t.Error(dir, form, difference)
				}
			}
		}
	}
}

func TestTrace(t *testing.T) {
	const pod, outside = "10.244.95.9", "192.0.2.200"
	for _, test := range []struct {
		name   string
		packet collect.Packet
		want   string
	}{
		{"cluster IP", packet(collect.FromPod, pod, "10.96.0.21:80", "TCP"), "1/2 10.244.95.133:8080, 1/2 10.244.146.67:8080"},
		{"another node's port", packet(collect.FromPod, pod, "172.18.0.7:30081", "TCP"), "1/2 10.244.95.133:8080, 1/2 10.244.146.67:8080"},
		{"another node's port, sent on by that node", packet(collect.FromOutside, outside, "172.18.0.7:30081", "TCP"), "1 10.244.95.133:8080"},
		{"a port of no node", packet(collect.FromPod, pod, "192.0.2.1:30081", "TCP"), "1 untranslated"},
		{"internal policy", packet(collect.FromPod, pod, "10.96.0.22:80", "TCP"), "1 10.244.95.133:8080"},
		{"internal policy, from outside", packet(collect.FromOutside, outside, "172.18.0.6:30082", "TCP"), "1/2 10.244.95.133:8080, 1/2 10.244.146.67:8080"},
		{"external policy, from a pod", packet(collect.FromPod, pod, "172.18.0.6:30083", "TCP"), "1/3 10.244.95.133:8080, 1/3 10.244.146.67:8080, 1/3 10.244.146.68:8080"},
		{"external policy, from outside", packet(collect.FromOutside, outside, "172.18.0.6:30083", "TCP"), "1 10.244.95.133:8080"},
		{"external policy, from a node", packet(collect.FromOutside, "172.18.0.7", "172.18.0.6:30083", "TCP"), "1/3 10.244.95.133:8080, 1/3 10.244.146.67:8080, 1/3 10.244.146.68:8080"},
		{"no backend", packet(collect.FromPod, pod, "10.96.0.20:80", "TCP"), "1 rejected"},
		{"a source in range", packet(collect.FromOutside, "198.51.100.9", "203.0.113.6:80", "TCP"), "1 10.244.146.67:8080"},
		{"a source out of range", packet(collect.FromOutside, outside, "203.0.113.6:80", "TCP"), "1 dropped"},
		// The source is 0.0.0.0 at connect().
		{"a source of any range, at connect()", packet(collect.FromPod, "198.51.100.9", "203.0.113.6:80", "TCP"), "1 dropped"},
		{"a backend that is missing", packet(collect.FromPod, pod, "10.96.0.28:80", "TCP"), "1/2 10.244.95.133:8080, 1/2 rejected"},
		{"excluded", packet(collect.FromPod, pod, "10.96.0.29:53", "UDP"), "1 untranslated"},
		{"SCTP", packet(collect.FromPod, pod, "10.96.0.33:5000", "SCTP"), "1 10.244.146.67:5000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace, err := calico.Trace(readMaps(t, "made"), []byte(attached), test.packet)
			if err != nil || trace.Stopped != nil {
				t.Fatal(trace.Stopped, err)
			}
			if got := tracetest.Shares(trace); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			tracetest.Sound(t, trace)
		})
	}
}

func TestTraceStops(t *testing.T) {
	for _, test := range []struct{ name, old, new, to, at string }{
		{"flag", "", "", "10.96.0.32:80", "calico-nat-dump.txt:72"},
		{"row", "10.96.0.20 port 80 proto 6", "10.96.0.20 port 80 proto tcp", "10.96.0.21:80", "calico-nat-dump.txt:3"},
		{"backend", "2:1	 10.244.146.67:8080", "2:1	 10.244.146.67", "10.96.0.21:80", "calico-nat-dump.txt:6"},
		{"fewer backends than counted", "id 2 count 2", "id 2 count 3", "10.96.0.21:80", "calico-nat-dump.txt:4"},
		{"two rows of one key", "10.96.0.20 port 80", "10.96.0.21 port 80", "10.96.0.21:80", "calico-nat-dump.txt:4"},
		{"no port", "2:1	 10.244.146.67:8080", "2:1	 10.244.146.67:0", "10.96.0.21:80", "calico-nat-dump.txt:6"},
	} {
		t.Run(test.name, func(t *testing.T) {
			raw := readMaps(t, "made")
			raw.NAT, raw.NATText = nil, bytes.ReplaceAll(raw.NATText, []byte(test.old), []byte(test.new))
			trace, err := calico.Trace(raw, []byte(attached), packet(collect.FromPod, "10.244.95.9", test.to, "TCP"))
			if err != nil || trace.Stopped == nil {
				t.Fatal(tracetest.Shares(trace), err)
			}
			if trace.Stopped.At() != test.at || len(trace.Backends) > 0 {
				t.Errorf("stopped at %s, want %s", trace.Stopped, test.at)
			}
		})
	}
}

// TestTraceNeedsCgroup: where nothing was printed it is not known who translates.
func TestTraceNeedsCgroup(t *testing.T) {
	_, err := calico.Trace(readMaps(t, "made"), nil, packet(collect.FromPod, "10.244.95.9", "10.96.0.21:80", "TCP"))
	if err == nil || !strings.Contains(err.Error(), calico.CgroupFile) {
		t.Errorf("error %v, want one that names %s", err, calico.CgroupFile)
	}
}

func FuzzTrace(f *testing.F) {
	for _, dir := range []string{"made", "worker"} {
		raw := readMaps(f, dir)
		f.Add(raw.NAT, raw.NATText)
	}
	f.Fuzz(func(t *testing.T, json, text []byte) {
		for _, to := range []string{"10.96.0.21:80", "172.18.0.7:30081"} {
			for _, raw := range []calico.Raw{{NAT: json}, {NATText: text}} {
				trace, err := calico.Trace(raw, []byte(attached), packet(collect.FromPod, "10.244.95.9", to, "TCP"))
				if err == nil {
					tracetest.Sound(t, trace)
				}
			}
		}
	})
}
