package cilium

import (
	"strings"
	"testing"
)

func TestDecodeServicesWorker(t *testing.T) {
	table, err := DecodeServices(read(t, "worker", ServicesFile))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, summaries(table), []string{
		"ClusterIP 10.97.0.1:443/TCP cluster default/kubernetes 172.18.0.4=active:1",
		"ClusterIP 10.97.0.10:53/TCP cluster kube-system/kube-dns 10.245.0.17=active:0.5 10.245.0.75=active:0.5",
		"ClusterIP 10.97.0.10:53/UDP cluster kube-system/kube-dns 10.245.0.17=active:0.5 10.245.0.75=active:0.5",
		"ClusterIP 10.97.0.10:9153/TCP cluster kube-system/kube-dns 10.245.0.17=active:0.5 10.245.0.75=active:0.5",
		"ClusterIP 10.97.156.17:80/TCP cluster service-dataplane/echo-server 10.245.1.86=active:0.5 10.245.2.76=active:0.5",
		"NodePort *:30081/TCP cluster service-dataplane/echo-server 10.245.1.86=active:0.5 10.245.2.76=active:0.5",
	})
	compare(t, texts(table.Unparsed), nil)
	if table.Encoding != AgentEncoding {
		t.Errorf("encoding %q", table.Encoding)
	}
	golden(t, table, "worker", "agent.golden.json")
}

func TestDecodeServicesMade(t *testing.T) {
	table, err := DecodeServices(read(t, "made", ServicesFile))
	if err != nil {
		t.Fatal(err)
	}
	const two = " 10.245.1.86=active:0.5 10.245.2.76=active:0.5"
	compare(t, summaries(table), []string{
		"ClusterIP 10.97.0.20:80/TCP cluster store/shop" + two, // the Local is its node port's
		"ClusterIP 10.97.0.21:80/TCP local store/shop",
		"ClusterIP 10.97.0.22:80/TCP cluster store/shop 10.245.1.86=active:1", // no status, the spec
		"ClusterIP [fd00:97::a]:80/TCP cluster store/shop fd00:245:1::86=active:1",
		"ExternalIP 198.51.100.7:80/TCP cluster store/shop 10.245.1.86=terminating:1 10.245.2.76=terminating:0",
		"LoadBalancer 203.0.113.6:80/TCP cluster store/shop 10.245.1.86=active:1 10.245.2.76=quarantined:0 10.245.2.77=terminating:0",
		"NodePort *:30080/TCP local store/shop 10.245.2.76=active:1",
		"NodePort *:30080/TCP cluster store/shop" + two, // from inside
	})
	compare(t, texts(table.Unparsed), []string{
		"10.245.2.76@3:8080/TCP active # no address",
		"10.245.2.77:8080/UDP active # another protocol than the frontend's",
		"10.245.2.78:8080/TCP resting # not a known state",
		"10.245.1.86:8080/TCP active # HostPort is no frontend of a Service",
		"9: 0.0.0.0:8443/TCP external HostPort store/shop # HostPort is no frontend of a Service",
		"10.245.1.86:8080/TCP active # listed before",
		"10.245.2.76:8080/TCP active # listed before",
		"10: 10.97.0.20:80/TCP external ClusterIP store/again # listed before",
		"{…} # no address",
	})
	golden(t, table, "made", "agent.golden.json")
}

// Lines point at the realized part of an entry.
func TestDecodeServicesLines(t *testing.T) {
	raw := read(t, "worker", ServicesFile)
	table, err := DecodeServices(raw)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	realized := 0
	for _, f := range table.Frontends {
		if got := lines[f.Line.Number-1]; got != `        "frontend-address": {` {
			t.Errorf("%s: line %s is %q", f.Endpoint(), f.Line, got)
		}
		for _, b := range f.Backends {
			realized++
			if got := lines[b.Line.Number]; got != `            "ip": "`+b.Address.String()+`",` {
				t.Errorf("%s: below line %s is %q", f.Endpoint(), b.Line, got)
			}
		}
	}
	if realized != 11 {
		t.Errorf("%d backends, want 11", realized)
	}
}

func TestDecodeServicesReasons(t *testing.T) {
	const entry = `[{"spec":{"frontend-address":{"ip":"10.97.0.1","port":443,"protocol":"TCP","scope":"external"},"flags":{"type":"ClusterIP"}}}]`
	tests := []struct{ name, old, new, want string }{
		{"a kind from the future", `"ClusterIP"`, `"Sideways"`, "not a known kind of frontend"},
		{"no kind", `"type":"ClusterIP"`, ``, "not a known kind of frontend"},
		{"a name for an address", `10.97.0.1`, `kubernetes`, "no address"},
		{"a scope from the future", `"external"`, `"sideways"`, "not a known scope"},
		{"a port of any protocol", `"TCP"`, `"ANY"`, "not a port of a Service"},
		{"no port", `"port":443,`, ``, "not a port of a Service"},
		{"a ClusterIP of no address", `10.97.0.1`, `0.0.0.0`, "not an address of a Service"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, err := DecodeServices([]byte(strings.Replace(entry, tt.old, tt.new, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if len(table.Frontends) != 0 || len(table.Unparsed) != 1 || !strings.HasSuffix(table.Unparsed[0].Text, " # "+tt.want) {
				t.Errorf("table %+v, want one unparsed entry: %s", table, tt.want)
			}
		})
	}
}

func TestDecodeServicesErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "line 1: unexpected end"},
		{"truncated", "[\n{\"spec\": {", "line 2: unexpected end"},
		{"null", "null", "line 1: null where [ is due"},
		{"an object", "{}", "line 1: {} where [ is due"},
		{"an entry that is none", "[\n{},\n7]", "line 3: 7 where a service is due"},
		{"a spec that is none", "[{\n\"spec\": []}]", "line 2: [] where { is due"},
		{"an address that is none", "[{\"spec\": {\n\"frontend-address\": 7}}]", "line 2: json: cannot unmarshal number"},
		{"a port that is none", "[{\"spec\": {\n\"frontend-address\": {\"port\": 65536}}}]", "line 2: json: cannot unmarshal number 65536"},
		{"backends that are none", "[{\"spec\": {\n\"backend-addresses\": {}}}]", "line 2: {} where [ is due"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, err := DecodeServices([]byte(tt.text))
			if err == nil {
				t.Fatalf("decoded as %+v", table)
			}
			if !strings.Contains(err.Error(), ServicesFile+": "+tt.want) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
		})
	}
}
