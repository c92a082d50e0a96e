package cilium_test

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"service-dataplane/internal/tracetest"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/cilium"
)

func readMaps(t testing.TB, dir string) cilium.Raw {
	t.Helper()
	read := func(name string) []byte {
		raw, err := os.ReadFile(filepath.Join("testdata", dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	return cilium.Raw{LB: read(cilium.LBFile), Frontends: read(cilium.FrontendsFile), Status: read(cilium.StatusFile)}
}

// connect is a connection of a pod.
func connect(to, protocol string) collect.Packet {
	p := collect.Packet{Origin: collect.FromPod, Source: netip.MustParseAddr("10.245.2.9"), Destination: netip.MustParseAddrPort(to), Protocol: protocol}
	if p.Destination.Addr().Is6() {
		p.Source = netip.MustParseAddr("fd00:245:2::9")
	}
	p.Nodes = []netip.Addr{netip.MustParseAddr("172.18.0.99"), netip.MustParseAddr("fc00::99")}
	return p
}

// TestTraceOfEveryFrontend connects to every frontend of the node and compares with
// the table, of whose two rows with two policies a pod meets the inner one.
func TestTraceOfEveryFrontend(t *testing.T) {
	raw := readMaps(t, "worker")
	table, err := cilium.Decode(raw)
	if err != nil || len(table.Frontends) < 5 {
		t.Fatal(len(table.Frontends), err)
	}
	for _, f := range table.Frontends {
		at := f.Address
		if !at.IsValid() {
			at = netip.MustParseAddr("172.18.0.99")
		}
		trace, err := cilium.Trace(raw, connect(netip.AddrPortFrom(at, f.Port).String(), f.Protocol))
		if err != nil {
			t.Fatal(err)
		}
		for _, difference := range tracetest.Compare(trace, f) {
			t.Error(difference)
		}
	}
}

func TestTrace(t *testing.T) {
	const both = "1/2 10.245.1.86:8080, 1/2 10.245.2.76:8080"
	outside := func(to string) collect.Packet {
		p := connect(to, "TCP")
		p.Origin, p.Source = collect.FromOutside, netip.MustParseAddr("192.0.2.77")
		return p
	}
	for _, test := range []struct {
		name   string
		packet collect.Packet
		want   string
		status string // in place of True
	}{
		{"internal policy of two", connect("172.18.0.3:30080", "TCP"), both, ""},
		{"external policy of two", outside("172.18.0.3:30080"), "1 10.245.2.76:8080", ""},
		{"another node's port", connect("172.18.0.99:30081", "TCP"), both, ""},
		{"another node's port, internal policy of two", connect("172.18.0.99:30080", "TCP"), both, ""},
		{"a node port of no node", connect("192.0.2.1:30081", "TCP"), "1 untranslated", ""},
		{"no backend", connect("10.97.0.21:80", "TCP"), "1 rejected", ""},
		{"session affinity", connect("10.97.0.22:80", "TCP"), both, ""},
		{"slots that take nothing new", connect("10.97.0.25:80", "TCP"), "1 10.245.1.86:8080", ""},
		{"cluster IP from outside", outside("10.97.0.20:80"), "1 dropped", ""},
		{"routable cluster IP from outside", outside("10.97.0.24:80"), "1 10.245.1.86:8080", ""},
		{"a port that is no Service's, from outside", outside("10.97.0.20:81"), "1 dropped", ""},
		{"a port that is no Service's", connect("10.97.0.20:81", "TCP"), "1 untranslated", ""},
		{"IPv6", connect("[fd00:97::a]:80", "TCP"), "1/2 [fd00:245:1::86]:8080, 1/2 [fd00:245:2::76]:8080", ""},
		{"IPv6 of another node", connect("[fc00::99]:30081", "TCP"), "1/2 [fd00:245:1::86]:8080, 1/2 [fd00:245:2::76]:8080", ""},
		{"beside kube-proxy", outside("172.18.0.3:30080"), "1 untranslated", "False"},
	} {
		t.Run(test.name, func(t *testing.T) {
			raw := readMaps(t, "made")
			raw.Status = readMaps(t, "worker").Status
			if test.status != "" {
				raw.Status = bytes.Replace(raw.Status, []byte(`"mode": "True"`), []byte(`"mode": "`+test.status+`"`), 1)
			}
			trace, err := cilium.Trace(raw, test.packet)
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
	for _, test := range []struct {
		name, file, old, new string
		packet               collect.Packet
		at                   string
	}{
		{"slot", "", "", "", connect("10.97.0.30:80", "TCP"), "cilium-bpf-lb-list.json:107"},
		{"a proxy", "", "", "", connect("10.97.0.27:80", "TCP"), "cilium-bpf-lb-list.json:83"},
		{"local redirect", "", "", "", connect("10.97.0.26:80", "TCP"), "cilium-bpf-lb-list.json:77"},
		{"host port", "", "", "", connect("172.18.0.3:8443", "TCP"), "cilium-bpf-lb-list.json:134"},
		{"external IP at connect()", "", "", "", connect("198.51.100.7:80", "TCP"), "cilium-bpf-lb-list.json:140"},
		{"frontend", cilium.LBFile, "[ClusterIP, sessionAffinity, non-routable] ", "odd", connect("10.97.0.22:80", "TCP"), "cilium-bpf-lb-list.json:41"},
		{"flag", cilium.LBFile, "[ClusterIP, sessionAffinity,", "[ClusterIP, odd,", connect("10.97.0.22:80", "TCP"), "cilium-bpf-lb-list.json:41"},
		{"key", cilium.LBFile, "203.0.113.6:0/ANY (0)", "203.0.113.6:0/ANY", connect("10.97.0.22:80", "TCP"), "cilium-bpf-lb-list.json:155"},
		{"two rows of one key", cilium.LBFile, "10.97.0.23:80/TCP (0)", "10.97.0.22:80/TCP (0)", connect("10.97.0.22:80", "TCP"), "cilium-bpf-lb-list.json:50"},
		{"counters", cilium.FrontendsFile, "10800 2[0] (41)", "10800 two (41)", connect("10.97.0.22:80", "TCP"), "cilium-bpf-lb-frontends.json:41"},
		{"no counters", cilium.FrontendsFile, "10.97.0.22:80/TCP (0)", "10.97.0.99:80/TCP (0)", connect("10.97.0.22:80", "TCP"), "cilium-bpf-lb-list.json:41"},
		{"more slots than rows", cilium.FrontendsFile, "10800 2[0] (41)", "10800 3[0] (41)", connect("10.97.0.22:80", "TCP"), "cilium-bpf-lb-list.json:47"},
		{"number", cilium.LBFile, "10.245.2.76:8080/TCP (41) (2)", "10.245.2.76:8080/TCP (40) (2)", connect("10.97.0.22:80", "TCP"), "cilium-bpf-lb-list.json:47"},
	} {
		t.Run(test.name, func(t *testing.T) {
			raw := readMaps(t, "made")
			raw.Status = readMaps(t, "worker").Status
			for name, file := range map[string]*[]byte{cilium.LBFile: &raw.LB, cilium.FrontendsFile: &raw.Frontends} {
				if name == test.file {
					changed := bytes.ReplaceAll(*file, []byte(test.old), []byte(test.new))
					if bytes.Equal(changed, *file) {
						t.Fatal("nothing was changed")
					}
					*file = changed
				}
			}
			trace, err := cilium.Trace(raw, test.packet)
			if err != nil || trace.Stopped == nil {
				t.Fatal(tracetest.Shares(trace), err)
			}
			if trace.Stopped.At() != test.at || len(trace.Backends) > 0 {
				t.Errorf("stopped at %s, want %s", trace.Stopped, test.at)
			}
		})
	}
}

// TestTraceWithoutStatus: where a connection meets the maps is not known then.
func TestTraceWithoutStatus(t *testing.T) {
	raw := readMaps(t, "made")
	raw.Status = nil
	if _, err := cilium.Trace(raw, connect("10.97.0.22:80", "TCP")); err == nil || !strings.Contains(err.Error(), cilium.StatusFile) {
		t.Errorf("error %v, want one that names %s", err, cilium.StatusFile)
	}
}

func FuzzTrace(f *testing.F) {
	status := readMaps(f, "worker").Status
	for _, dir := range []string{"made", "worker"} {
		raw := readMaps(f, dir)
		f.Add(raw.LB, raw.Frontends)
	}
	f.Fuzz(func(t *testing.T, lb, frontends []byte) {
		for _, to := range []string{"10.97.0.22:80", "172.18.0.99:30081"} {
			trace, err := cilium.Trace(cilium.Raw{LB: lb, Frontends: frontends, Status: status}, connect(to, "TCP"))
			if err == nil {
				tracetest.Sound(t, trace)
			}
		}
	})
}
