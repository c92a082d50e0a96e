package calico

import (
	"bytes"
	"reflect"
	"testing"

	"service-dataplane/pkg/collect"
)

// count is how many elements the file's array has.
func count(t *testing.T, file string, raw []byte) int {
	t.Helper()
	whole, err := parseJSON(file, raw)
	if err != nil {
		t.Fatal(err)
	}
	elements, err := whole.ElementsOrNull()
	if err != nil {
		t.Fatal(err)
	}
	return len(elements)
}

// checkLines: a line that quotes something stands in the file.
func checkLines(t *testing.T, raw []byte, lines ...collect.Line) {
	t.Helper()
	for _, l := range lines {
		if l.Number < 0 || l.Number > 1+bytes.Count(raw, []byte("\n")) || l.Number > 0 && l.Text == "" {
			t.Errorf("line %+v", l)
		}
	}
}

func FuzzDecodeAffinity(f *testing.F) {
	f.Add(read(f, "affinity", AffinityFile))
	f.Add([]byte(`[{"client_ip":"::","proto":17,"addr":"fd00::1","port":80,"backend":{"addr":"fd00::2","port":8080},"timestamp":"1h"}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := DecodeAffinity(raw)
		if err != nil {
			if entries != nil {
				t.Errorf("entries together with %v", err)
			}
			return
		}
		if n := count(t, AffinityFile, raw); len(entries) != n {
			t.Errorf("%d entries of %d elements", len(entries), n)
		}
		for _, e := range entries {
			checkLines(t, raw, e.Line)
			if !e.Client.IsValid() || !e.Frontend.IsValid() || !e.Backend.IsValid() || e.Protocol == "" {
				t.Errorf("entry %+v", e)
			}
		}
		if again, _ := DecodeAffinity(raw); !reflect.DeepEqual(again, entries) {
			t.Error("a second decoding differs")
		}
	})
}

func FuzzDecodeConntrack(f *testing.F) {
	f.Add([]byte(`[{"type":"normal","proto":"TCP","src":"10.0.0.1:1","dst":"10.0.0.2:2","flags":["B-A"],"active_ago":"1s","tcp_state":"RESET"}]`))
	f.Add([]byte(`[{"type":"nat","proto":"UDP","src":"[fd00::1]:1","dst":"[fd00::2]:2","orig_dst":"[fd00::3]:3","tunnel_ip":"fd00::4","orig_src_port":5,"flags":null}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		flows, err := DecodeConntrack(raw)
		if err != nil {
			if flows != nil {
				t.Errorf("flows together with %v", err)
			}
			return
		}
		if n := count(t, ConntrackFile, raw); len(flows) != n {
			t.Errorf("%d flows of %d elements", len(flows), n)
		}
		for _, flow := range flows {
			checkLines(t, raw, flow.Line)
			if !flow.Source.IsValid() || !flow.Destination.IsValid() || (flow.Type == FlowNAT) != flow.Service.IsValid() {
				t.Errorf("flow %+v", flow)
			}
		}
		if again, _ := DecodeConntrack(raw); !reflect.DeepEqual(again, flows) {
			t.Error("a second decoding differs")
		}
	})
}

func FuzzDecodeAttached(f *testing.F) {
	f.Add([]byte(`[{"id":1,"attach_type":"cgroup_inet4_connect"}]`))
	f.Add([]byte(`[{"id":1,"attach_type":99,"attach_flags":"multi","name":"x"}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		programs, err := DecodeAttached(raw)
		if err != nil {
			if programs != nil {
				t.Errorf("programs together with %v", err)
			}
			return
		}
		if n := count(t, CgroupFile, raw); len(programs) != n {
			t.Errorf("%d programs of %d elements", len(programs), n)
		}
		for _, p := range programs {
			checkLines(t, raw, p.Line)
			if p.ID <= 0 || p.AttachType == "" || p.Line.Text == "" {
				t.Errorf("program %+v", p)
			}
		}
	})
}

func FuzzDecodeTigeraStatus(f *testing.F) {
	f.Add([]byte("{\"kind\": \"List\", \"items\": [{\"metadata\": {\"name\": \"ippools\"}, \"status\": {\"conditions\": [\n" +
		"{\"type\": \"Degraded\", \"status\": \"True\", \"reason\": \"x\", \"message\": \"y\"}]}}]}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := DecodeTigeraStatus(raw)
		if err != nil && all != nil {
			t.Errorf("a status together with %v", err)
		}
		for _, s := range all {
			checkLines(t, raw, s.Available.Line, s.Progressing.Line, s.Degraded.Line)
			if s.Component == "" || s.Degraded.Status != "" && s.Degraded.Line.Text == "" {
				t.Errorf("status %+v", s)
			}
		}
		if again, _ := DecodeTigeraStatus(raw); !reflect.DeepEqual(again, all) {
			t.Error("a second decoding differs")
		}
	})
}

func FuzzDecodeFelix(f *testing.F) {
	f.Add([]byte("{\"kind\": \"FelixConfiguration\", \"spec\": {\n\"bpfEnabled\": true, \"bpfConnectTimeLoadBalancing\": \"TCP\"}}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		felix, err := DecodeFelix(raw)
		if err != nil && felix != (Felix{}) {
			t.Errorf("a configuration together with %v", err)
		}
		checkLines(t, raw, felix.Lines.BPFEnabled, felix.Lines.ConnectTime, felix.Lines.KubeProxyCleanup, felix.Lines.UsageReporting)
		if felix.BPFEnabled && felix.Lines.BPFEnabled.Text != "spec.bpfEnabled: true" {
			t.Errorf("eBPF from nowhere: %+v", felix)
		}
	})
}

func FuzzDecodeInstallation(f *testing.F) {
	f.Add([]byte("{\"kind\": \"Installation\", \"spec\": {\"calicoNetwork\": {\"linuxDataplane\": \"BPF\",\n\"ipPools\": [{\"cidr\": \"10.244.0.0/16\"}]}}, \"status\": {}}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		installation, err := DecodeInstallation(raw)
		if err != nil && !reflect.DeepEqual(installation, Installation{}) {
			t.Errorf("an installation together with %v", err)
		}
		checkLines(t, raw, installation.Lines.Dataplane, installation.Lines.Version)
		for _, pool := range installation.Pools {
			checkLines(t, raw, pool.Line)
			if !pool.CIDR.IsValid() {
				t.Errorf("pool %+v", pool)
			}
		}
	})
}

func FuzzDecodeVersion(f *testing.F) {
	f.Add(read(f, "worker", VersionFile))
	f.Fuzz(func(t *testing.T, raw []byte) {
		version, line, err := DecodeVersion(raw)
		if (err == nil) != (version != "") || (err == nil) != (line.Number > 0) {
			t.Errorf("%q, %s, %v", version, line, err)
		}
	})
}
