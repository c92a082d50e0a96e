package calico

import (
	"net/netip"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

// quoted checks that a line stands in the file where it says.
func quoted(t *testing.T, file []byte, line collect.Line, text, there string) {
	t.Helper()
	lines := strings.Split(string(file), "\n")
	if line.Text != text || line.Number < 1 || !strings.Contains(lines[line.Number-1], there) {
		t.Errorf("line %s, want %q; the file has %q there", line, text, lines[max(line.Number-1, 0)])
	}
}

func TestDecodeTigeraStatus(t *testing.T) {
	all, err := DecodeTigeraStatus(read(t, "cluster", "tigerastatus.json"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Component)
		if !s.Available.True() || s.Progressing.True() || s.Degraded.True() || s.Degraded.Status != "False" {
			t.Errorf("%+v", s)
		}
	}
	compare(t, names, []string{"calico", "ippools", "kubeproxy-monitor"})
}

// The API server's own list says the kind once, and all in one line.
func TestDecodeTigeraStatusOfAPI(t *testing.T) {
	const answer = `{"apiVersion":"operator.tigera.io/v1","items":[{"metadata":{"name":"calico"},"status":{"conditions":[` +
		`{"type":"Available","status":"True","reason":"AllObjectsAvailable","message":"All objects available"}]}}],"kind":"TigeraStatusList"}` + "\n"
	all, err := DecodeTigeraStatus([]byte(answer))
	if err != nil || len(all) != 1 || all[0].Component != "calico" || !all[0].Available.True() || all[0].Available.Line.Number != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestDecodeTigeraStatusWrongPool(t *testing.T) {
	file := read(t, "cluster", "tigerastatus-wrong-pool.json")
	all, err := DecodeTigeraStatus(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 {
		t.Fatalf("%d components", len(all))
	}
	pools := all[1]
	const message = "error filling IP pool defaults: could not resolve CalicoNetwork IPPool and kubeadm configuration: " +
		"IPPool 192.168.0.0/16 is not within the platform's configured pod network CIDR(s) [10.244.0.0/16]"
	if pools.Component != "ippools" || !pools.Degraded.True() || pools.Degraded.Reason != "ResourceReadError" || pools.Degraded.Message != message {
		t.Errorf("%+v", pools)
	}
	quoted(t, file, pools.Degraded.Line, "ippools Degraded=True ResourceReadError: "+message, message)
	if pools.Available != (Condition{}) || pools.Progressing != (Condition{}) {
		t.Errorf("conditions that are not there: %+v", pools)
	}
	// A condition without a message is quoted by its type.
	quoted(t, file, all[2].Degraded.Line, "kubeproxy-monitor Degraded=False Unknown: ", `"type": "Degraded"`)
}

func TestDecodeInstallation(t *testing.T) {
	file := read(t, "cluster", "installation.json")
	i, err := DecodeInstallation(file)
	if err != nil {
		t.Fatal(err)
	}
	if i.Dataplane != "BPF" || i.Bootstrap != "Enabled" || i.KubeProxyManagement != "Enabled" || i.Version != "v3.31.7" || len(i.Pools) != 1 {
		t.Fatalf("%+v", i)
	}
	want := Pool{
		Name: "default-ipv4-ippool", CIDR: netip.MustParsePrefix("10.244.0.0/16"), Encapsulation: "VXLAN",
		Line: collect.Line{Number: 28, Text: "spec.calicoNetwork.ipPools.cidr: 10.244.0.0/16"},
	}
	if i.Pools[0] != want {
		t.Errorf("pool %+v, want %+v", i.Pools[0], want)
	}
	quoted(t, file, i.Lines.Dataplane, `spec.calicoNetwork.linuxDataplane: "BPF"`, `"linuxDataplane": "BPF"`)
	quoted(t, file, i.Lines.Version, `status.calicoVersion: "v3.31.7"`, `"calicoVersion": "v3.31.7"`)

	i, err = DecodeInstallation(read(t, "cluster", "installation-wrong-pool.json"))
	if err != nil {
		t.Fatal(err)
	}
	if i.Version != "" || i.Lines.Version.Text != "status: {…}" || len(i.Pools) != 1 || i.Pools[0].CIDR != netip.MustParsePrefix("192.168.0.0/16") {
		t.Errorf("%+v", i)
	}
}

func TestDecodeFelix(t *testing.T) {
	file := read(t, "cluster", "felixconfiguration.json")
	f, err := DecodeFelix(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := f.Lines
	f.Lines = FelixLines{}
	if want := (Felix{BPFEnabled: true, ConnectTime: "TCP", KubeProxyCleanup: true, UsageReporting: true}); f != want {
		t.Errorf("%+v, want %+v", f, want)
	}
	quoted(t, file, lines.BPFEnabled, "spec.bpfEnabled: true", `"bpfEnabled": true`)
	quoted(t, file, lines.ConnectTime, `spec.bpfConnectTimeLoadBalancing: "TCP"`, `"bpfConnectTimeLoadBalancing": "TCP"`)
	// What the object leaves out.
	quoted(t, file, lines.KubeProxyCleanup, "spec: {…}", `"spec": {`)
	quoted(t, file, lines.UsageReporting, "spec: {…}", `"spec": {`)
}

func TestDecodeFelixChange(t *testing.T) {
	raw := string(read(t, "cluster", "felixconfiguration.json"))
	defaults := Felix{ConnectTime: "TCP", KubeProxyCleanup: true, UsageReporting: true}
	on, off := defaults, defaults
	on.BPFEnabled = true
	tests := []struct {
		name, old, new string
		want           Felix
	}{
		{"eBPF off", `"bpfEnabled": true`, `"bpfEnabled": false`, off},
		{"eBPF not said", `"bpfEnabled": true,`, "", off},
		{"no usage reports", `"vxlanPort"`, `"usageReportingEnabled": false, "vxlanPort"`, Felix{true, "TCP", true, false, FelixLines{}}},
		{"no cleanup", `"vxlanPort"`, `"bpfKubeProxyIptablesCleanupEnabled": false, "vxlanPort"`, Felix{true, "TCP", false, true, FelixLines{}}},
		{"nothing at connect()", `Balancing": "TCP"`, `Balancing": "Disabled"`, Felix{true, "Disabled", true, true, FelixLines{}}},
		{"connect() not said", `"bpfConnectTimeLoadBalancing": "TCP",`, "", on},
		{"eBPF null", `"bpfEnabled": true`, `"bpfEnabled": null`, off},
		{"no spec", `"spec"`, `"speck"`, off},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(raw, tt.old) {
				t.Fatalf("the fixture has no %q", tt.old)
			}
			f, err := DecodeFelix([]byte(strings.Replace(raw, tt.old, tt.new, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if f.Lines.BPFEnabled.Text == "spec.bpfEnabled: null" {
				t.Error("null is quoted as a value")
			}
			f.Lines = FelixLines{}
			if f != tt.want {
				t.Errorf("%+v, want %+v", f, tt.want)
			}
		})
	}
}

// A value is quoted from the line it begins at; a file of one line has no numbers.
func TestDecodeObjectLine(t *testing.T) {
	for text, number := range map[string]int{
		"{\"kind\": \"FelixConfiguration\", \"spec\": {\n\"bpfEnabled\":\ntrue}}":  3,
		"\n{\"kind\": \"FelixConfiguration\", \"spec\": {\"bpfEnabled\": true}}\n": 0,
	} {
		f, err := DecodeFelix([]byte(text))
		if want := (collect.Line{Number: number, Text: "spec.bpfEnabled: true"}); err != nil || f.Lines.BPFEnabled != want {
			t.Errorf("%q: line %+v and error %v, want %+v", text, f.Lines.BPFEnabled, err, want)
		}
	}
}

func TestDecodeObjectErrors(t *testing.T) {
	felix := func(raw []byte) error { _, err := DecodeFelix(raw); return err }
	installation := func(raw []byte) error { _, err := DecodeInstallation(raw); return err }
	status := func(raw []byte) error { _, err := DecodeTigeraStatus(raw); return err }
	tests := []struct {
		name   string
		decode func([]byte) error
		text   string
		want   string
	}{
		{"nothing", felix, "", "FelixConfiguration: line 1: unexpected end"},
		{"truncated", felix, "{\n\"kind\":", "FelixConfiguration: line 2: unexpected end"},
		{"an array", felix, "[\n]", "FelixConfiguration: line 1: [] where { is due"},
		{"YAML", felix, "kind: FelixConfiguration\n", "FelixConfiguration: line 1: invalid character"},
		{"another kind", felix, `{"kind": "List"}`, `FelixConfiguration: the object's kind is "List"`},
		{"no kind", felix, "{}", `FelixConfiguration: the object's kind is ""`},
		{"a word for a flag", felix, "{\"kind\": \"FelixConfiguration\", \"spec\": {\n\"bpfEnabled\": \"yes\"}}", "FelixConfiguration: line 2: json: "},
		{"a word for the spec", felix, "{\"kind\": \"FelixConfiguration\",\n\"spec\": \"x\"}", `FelixConfiguration: line 2: "x" where { is due`},
		{"a pool that is none", installation, "{\"kind\": \"Installation\", \"spec\": {\"calicoNetwork\": {\"ipPools\": [\n{\"cidr\": \"10.244.0.0\"}]}}}", "Installation: line 2: cidr: "},
		{"a word for the pools", installation, "{\"kind\": \"Installation\", \"spec\": {\"calicoNetwork\": {\n\"ipPools\": \"x\"}}}", `Installation: line 2: "x" where [ is due`},
		{"one status", status, `{"kind": "TigeraStatus"}`, `List: the object's kind is "TigeraStatus"`},
		{"a status without a name", status, "{\"kind\": \"List\", \"items\": [\n{}]}", "TigeraStatus: line 2: no name"},
		{"a word for a condition", status, "{\"kind\": \"List\", \"items\": [{\"metadata\": {\"name\": \"calico\"}, \"status\": {\"conditions\": [\n\"x\"]}}]}", "TigeraStatus: line 2: json: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.decode([]byte(tt.text))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
