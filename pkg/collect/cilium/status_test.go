package cilium

import (
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

func TestDecodeStatusWorker(t *testing.T) {
	raw := read(t, "worker", StatusFile)
	status, err := DecodeStatus(raw)
	if err != nil {
		t.Fatal(err)
	}
	lines := status.Lines
	status.Lines = StatusLines{}
	want := Status{
		KubeProxyReplacement: "True",
		SocketLB:             true,
		AttachMode:           "tcx",
		Algorithm:            "Random",
		NodePortMode:         "SNAT",
		Masquerading:         "iptables",
		RoutingMode:          "Tunnel",
		HostRouting:          "Legacy",
		TunnelProtocol:       "vxlan",
		Version:              "1.20.2",
		State:                "Ok",
		Message:              "1.20.2 (v1.20.2-module-proxy)",
		Health:               "Ok",
		KubernetesState:      "Ok",
	}
	if status != want {
		t.Errorf("got  %+v\nwant %+v", status, want)
	}
	file := strings.Split(string(raw), "\n")
	for _, l := range []struct {
		line       collect.Line
		text, file string
	}{
		{lines.KubeProxyReplacement, `kube-proxy-replacement.mode: "True"`, `"mode": "True"`},
		{lines.SocketLB, `kube-proxy-replacement.features.socketLB.enabled: true`, `"enabled": true`},
		{lines.AttachMode, `attach-mode: "tcx"`, `"attach-mode": "tcx",`},
		{lines.Algorithm, `kube-proxy-replacement.features.nodePort.algorithm: "Random"`, `"algorithm": "Random",`},
		{lines.Masquerading, `masquerading.mode: "iptables"`, `"mode": "iptables",`},
		{lines.Version, `cilium.msg: "1.20.2 (v1.20.2-module-proxy)"`, `"msg": "1.20.2 (v1.20.2-module-proxy)",`},
		{lines.State, `cilium.state: "Ok"`, `"state": "Ok"`},
		{lines.Health, `cluster.ciliumHealth.state: "Ok"`, `"state": "Ok"`},
		{lines.KubernetesState, `kubernetes.state: "Ok"`, `"state": "Ok"`},
	} {
		if l.line.Text != l.text || strings.TrimSpace(file[l.line.Number-1]) != l.file {
			t.Errorf("line %s, want %q; the file has %q there", l.line, l.text, file[l.line.Number-1])
		}
	}
}

func TestDecodeStatusChange(t *testing.T) {
	raw := string(read(t, "worker", StatusFile))
	const socketLB = "\"socketLB\": {\n        \"enabled\": true\n      }"
	tests := []struct {
		name, old, new string
		see            func(Status) string
		want           string
	}{
		{"replacement off", `"mode": "True"`, `"mode": "False"`, func(s Status) string { return s.KubeProxyReplacement }, "False"},
		{"socket LB off", socketLB, `"socketLB": {}`, func(s Status) string { return s.Lines.SocketLB.Text }, "kube-proxy-replacement.features.socketLB: {}"},
		{"socket LB false", socketLB, `"socketLB": {"enabled": false}`, func(s Status) string { return s.Lines.SocketLB.Text }, "kube-proxy-replacement.features.socketLB.enabled: false"},
		{"no version", `"msg": "1.20.2 (v1.20.2-module-proxy)"`, `"msg": " (v-)"`, func(s Status) string { return s.Version }, ""},
		{"not ready", `"msg": "1.20.2 (v1.20.2-module-proxy)"`, `"msg": "1.20.2 (v1.20.2-x)    Stale status data"`, func(s Status) string { return s.Version + "|" + s.Message }, "1.20.2|1.20.2 (v1.20.2-x)    Stale status data"},
		{"a member twice", `"attach-mode": "tcx"`, `"attach-mode": "tcx", "attach-mode": "tc"`, func(s Status) string { return s.AttachMode }, "tc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(raw, tt.old) {
				t.Fatalf("the fixture has no %q", tt.old)
			}
			status, err := DecodeStatus([]byte(strings.Replace(raw, tt.old, tt.new, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.see(status); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.HasPrefix(tt.name, "socket LB") && status.SocketLB {
				t.Error("socket LB is on")
			}
		})
	}
}

// An agent that has only begun says little, and that is no error.
func TestDecodeStatusEmpty(t *testing.T) {
	for _, text := range []string{"{}", `{"kube-proxy-replacement": null, "cilium": {}}`} {
		status, err := DecodeStatus([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		status.Lines.Version, status.Lines.State = collect.Line{}, collect.Line{}
		if status != (Status{}) {
			t.Errorf("%s: %+v", text, status)
		}
	}
}

func TestDecodeStatusErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "line 1: unexpected end"},
		{"truncated", "{\n\"cilium\": {", "line 2: unexpected end"},
		{"an array", "[]", "line 1: [] where { is due"},
		{"null", "null", "line 1: null where { is due"},
		{"the text form", "KVStore:  Disabled\n", "line 1: invalid character"},
		{"a number for a state", "{\"cilium\":\n{\"state\": 1}}", "line 2: 1 where a string is due"},
		{"a word for a flag", "{\"kube-proxy-replacement\": {\"features\": {\"socketLB\":\n{\"enabled\": \"yes\"}}}}", `line 2: "yes" where true or false is due`},
		{"a word for an object", "{\n\"routing\": \"Tunnel\"}", `line 2: "Tunnel" where { is due`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, err := DecodeStatus([]byte(tt.text))
			if err == nil {
				t.Fatalf("decoded as %+v", status)
			}
			if !strings.HasPrefix(err.Error(), StatusFile+": "+tt.want) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
		})
	}
}

// A value is quoted from the line of its name.
func TestDecodeStatusLine(t *testing.T) {
	status, err := DecodeStatus([]byte("{\"cilium\": {\n\"state\":\n\"Ok\"}}"))
	if want := (collect.Line{Number: 2, Text: `cilium.state: "Ok"`}); err != nil || status.Lines.State != want {
		t.Errorf("line %+v and error %v, want %+v", status.Lines.State, err, want)
	}
}

func TestDecodeVersion(t *testing.T) {
	daemon, line, err := DecodeVersion(read(t, "worker", VersionFile))
	if err != nil {
		t.Fatal(err)
	}
	if want := (collect.Line{Number: 10, Text: `Daemon.Version: "1.20.2"`}); daemon != "1.20.2" || line != want {
		t.Errorf("version %q, line %s", daemon, line)
	}
}

func TestDecodeVersionErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no answer": `{"Client": {"Version": "1.20.2"}, "Daemon": {"Version": ""}}`,
		"no daemon": `{"Client": {"Version": "1.20.2"}}`,
		"text form": "Client: 1.20.2 module-proxy\n",
		"a number":  `{"Daemon": {"Version": 1}}`,
		"an array":  `[]`,
	} {
		daemon, line, err := DecodeVersion([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), VersionFile+": ") {
			t.Errorf("%s: error %v", name, err)
		}
		if daemon != "" || line != (collect.Line{}) {
			t.Errorf("%s: %q and %s beside the error", name, daemon, line)
		}
	}
}
