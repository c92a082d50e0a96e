package cilium

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

func FuzzBackendAddresses(f *testing.F) {
	f.Add(read(f, "worker", LBFile), read(f, "worker", FrontendsFile))
	f.Add([]byte(`{"10.0.0.1:80/TCP (1)":["10.1.0.1:8080/TCP (1) (1)"]}`), []byte(`{"10.0.0.1:80/TCP (1)":["7 0[0] (1) [0x0 0x0]"]}`))
	f.Fuzz(func(t *testing.T, lb, frontends []byte) {
		addresses, err := BackendAddresses(lb, frontends)
		if err != nil && addresses != nil {
			t.Errorf("addresses together with %v", err)
		}
		for id, address := range addresses {
			if !address.IsValid() || !bytes.Contains(frontends, []byte(fmt.Sprint(id))) {
				t.Errorf("backend %d is %s", id, address)
			}
		}
	})
}

func FuzzDecodeStatus(f *testing.F) {
	f.Add(read(f, "made", StatusFile))
	f.Add([]byte(`{"attach-mode":"tcx","cilium":{"msg":"1.20.2 (v1.20.2-x)","state":"Ok"},"kube-proxy-replacement":{"mode":"True","features":{"socketLB":{"enabled":true}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		status, err := DecodeStatus(raw)
		if err != nil && status != (Status{}) {
			t.Errorf("a status together with %v", err)
		}
		lines := 1 + bytes.Count(raw, []byte("\n"))
		for _, l := range []collect.Line{status.Lines.KubeProxyReplacement, status.Lines.SocketLB, status.Lines.AttachMode, status.Lines.Version} {
			if l.Number > lines || (l.Number == 0) != (l.Text == "") {
				t.Errorf("line %+v of %d", l, lines)
			}
		}
		if status.KubeProxyReplacement != "" && status.Lines.KubeProxyReplacement.Number == 0 || status.SocketLB && status.Lines.SocketLB.Number == 0 {
			t.Errorf("values without lines: %+v", status)
		}
	})
}

func FuzzDecodeVersion(f *testing.F) {
	f.Add(read(f, "worker", VersionFile))
	f.Fuzz(func(t *testing.T, raw []byte) {
		daemon, line, err := DecodeVersion(raw)
		if (err == nil) != (daemon != "") || (err == nil) != (line.Number > 0) {
			t.Errorf("%q, %s, %v", daemon, line, err)
		}
	})
}

func FuzzDecodeHealth(f *testing.F) {
	f.Add(read(f, "made", HealthFile))
	f.Add([]byte(`{"nodes":[{"name":"a","host":{"primary-address":{"icmp":{},"http":{"status":"x"}}},"health-endpoint":null}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		health, err := DecodeHealth(raw)
		if health.Reachable+len(health.Unreachable) != health.Total || len(health.Unproven) > health.Reachable {
			t.Errorf("%+v does not add up", health)
		}
		if err != nil && health.Total > 0 {
			t.Errorf("%+v together with %v", health, err)
		}
	})
}

func FuzzDecodeConntrack(f *testing.F) {
	for line := range strings.Lines(string(read(f, "worker", ConntrackFile))) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		flows, err := DecodeConntrack(raw)
		if err != nil {
			return
		}
		filled := 0
		for text := range strings.Lines(string(raw)) {
			if strings.TrimRight(text, " \r\n") != "" {
				filled++
			}
		}
		if len(flows) != filled {
			t.Errorf("%d flows of %d lines", len(flows), filled)
		}
		for _, flow := range flows {
			for _, a := range []netip.AddrPort{flow.Source, flow.Destination} {
				if !a.IsValid() {
					t.Errorf("no address in %s", flow.Line)
				}
			}
			if flow.BackendID != 0 && flow.Direction != "SVC" {
				t.Errorf("backend of no service in %s", flow.Line)
			}
		}
	})
}

func FuzzDecodeAttached(f *testing.F) {
	f.Add(read(f, "worker", CgroupFile))
	f.Fuzz(func(t *testing.T, raw []byte) {
		programs, err := DecodeAttached(raw)
		for _, p := range programs {
			if err != nil || p.Cgroup == "" || p.AttachType == "" || p.ID < 0 || p.Line.Number < 4 {
				t.Errorf("program %+v and error %v", p, err)
			}
		}
	})
}
