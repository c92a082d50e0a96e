package evidence

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// TestExpected gives Services and EndpointSlices as the API has them. A row
// wants each frontend on a line: kind, endpoint, service, policy, masquerade,
// then its backends.
func TestExpected(t *testing.T) {
	const ready = `{"addresses":["10.244.1.2"],"conditions":{"ready":true,"serving":true,"terminating":false},"nodeName":"c-worker"}`
	const second = `{"addresses":["10.244.2.2"],"conditions":{"ready":true},"nodeName":"c-worker2"}`
	const leaving = `{"addresses":["10.244.1.3"],"conditions":{"ready":false,"serving":true,"terminating":true},"nodeName":"c-worker"}`
	const sick = `{"addresses":["10.244.1.4"],"conditions":{"ready":false,"serving":false,"terminating":false},"nodeName":"c-worker"}`
	slice := func(endpoints ...string) string { return namedSlice("http", "IPv4", endpoints...) }
	tests := []struct {
		name    string
		service string // its spec
		slices  []string
		want    string
	}{
		{
			"ClusterIP", `"clusterIP":"10.96.0.5","ports":[{"name":"http","port":80,"protocol":"TCP"}]`,
			[]string{slice(ready, second)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster 10.244.1.2:8080 (0.5) 10.244.2.2:8080 (0.5)`,
		},
		{
			"NodePort", `"type":"NodePort","clusterIP":"10.96.0.5","ports":[{"name":"http","port":80,"nodePort":30081,"protocol":"TCP"}]`,
			[]string{slice(ready)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster 10.244.1.2:8080 (1)
			 NodePort *:30081/TCP ns/web:http cluster always 10.244.1.2:8080 (1)`,
		},
		{
			"external policy local", `"type":"NodePort","externalTrafficPolicy":"Local","clusterIP":"10.96.0.5","ports":[{"name":"http","port":80,"nodePort":30081,"protocol":"TCP"}]`,
			[]string{slice(ready, second, leaving)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster 10.244.1.2:8080 (0.5) 10.244.2.2:8080 (0.5)
			 NodePort *:30081/TCP ns/web:http local never 10.244.1.2:8080 10.244.1.3:8080 terminating 10.244.2.2:8080`,
		},
		{
			"internal policy local", `"internalTrafficPolicy":"Local","clusterIP":"10.96.0.5","ports":[{"name":"http","port":80,"protocol":"TCP"}]`,
			[]string{slice(ready)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http local off-cluster 10.244.1.2:8080`,
		},
		{
			"external IPs and a load balancer", `"type":"LoadBalancer","clusterIP":"10.96.0.5","externalIPs":["192.0.2.7","2001:db8::7"],"ports":[{"name":"http","port":80,"protocol":"TCP"}]},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.8"},{"ip":"192.0.2.9","ipMode":"Proxy"},{"hostname":"lb.test"}]}`,
			[]string{slice(ready)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster 10.244.1.2:8080 (1)
			 ExternalIP 192.0.2.7:80/TCP ns/web:http cluster always 10.244.1.2:8080 (1)
			 LoadBalancer 192.0.2.8:80/TCP ns/web:http cluster always 10.244.1.2:8080 (1)`,
		},
		{
			"a port without a name", `"clusterIP":"10.96.0.5","ports":[{"port":80,"protocol":"TCP"}]`,
			[]string{namedSlice("", "IPv4", ready)},
			`ClusterIP 10.96.0.5:80/TCP ns/web cluster off-cluster 10.244.1.2:8080 (1)`,
		},
		{
			"affinity", `"clusterIP":"10.96.0.5","sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":600}},"ports":[{"name":"http","port":80,"protocol":"TCP"}]`,
			[]string{slice(ready)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster 600s 10.244.1.2:8080 (1)`,
		},
		{
			"two slices, one endpoint in both", `"clusterIP":"10.96.0.5","ports":[{"name":"http","port":80,"protocol":"TCP"}]`,
			[]string{slice(ready), slice(second, ready)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster 10.244.1.2:8080 (0.5) 10.244.2.2:8080 (0.5)`,
		},
		{
			"dual stack", `"clusterIP":"fd00::5","clusterIPs":["fd00::5","10.96.0.5"],"ports":[{"name":"http","port":80,"protocol":"TCP"}]`,
			[]string{namedSlice("http", "IPv6", `{"addresses":["fd00:1::2"],"conditions":{"ready":true}}`), slice(ready)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster 10.244.1.2:8080 (1)`,
		},
		{
			"not ready ones are left out", `"clusterIP":"10.96.0.5","ports":[{"name":"http","port":80,"protocol":"TCP"}]`,
			[]string{slice(ready, leaving, sick)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster 10.244.1.2:8080 (1)`,
		},
		{
			"none ready, one terminates and serves", `"clusterIP":"10.96.0.5","ports":[{"name":"http","port":80,"protocol":"TCP"}]`,
			[]string{slice(leaving, sick)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster 10.244.1.3:8080 (1)`,
		},
		{
			"conditions not given mean ready", `"clusterIP":"10.96.0.5","ports":[{"name":"http","port":80,"protocol":"TCP"}]`,
			[]string{slice(`{"addresses":["10.244.1.2"]}`)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster 10.244.1.2:8080 (1)`,
		},
		{
			"no endpoints", `"clusterIP":"10.96.0.5","ports":[{"name":"http","port":80,"protocol":"TCP"}]`,
			[]string{slice(sick), namedSlice("other", "IPv4", ready)},
			`ClusterIP 10.96.0.5:80/TCP ns/web:http cluster off-cluster reject`,
		},
		{"headless", `"clusterIP":"None","ports":[{"name":"http","port":80,"protocol":"TCP"}]`, []string{slice(ready)}, ``},
		{"another name", `"type":"ExternalName","externalName":"example.test"`, nil, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var service corev1.Service
			text := `{"metadata":{"namespace":"ns","name":"web"},"spec":{` + test.service + `}}`
			if err := json.Unmarshal([]byte(text), &service); err != nil {
				t.Fatal(err)
			}
			s := &source{raw: fstest.MapFS{}, unusable: map[string]bool{}, records: map[string]collect.Record{EndpointSlicesFile: {Outcome: collect.Captured}}}
			s.raw = fstest.MapFS{EndpointSlicesFile: {Data: []byte(`{"kind":"EndpointSliceList","items":[` + strings.Join(test.slices, ",") + `]}`)}}
			api := s.readObjects()
			api.services = []corev1.Service{service}
			want := strings.ReplaceAll(test.want, "\t", "")
			if got := describe(s.expected(api, collect.SelectRandom)); got != strings.ReplaceAll(want, "\n ", "\n") {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func namedSlice(port, family string, endpoints ...string) string {
	return `{"metadata":{"namespace":"ns","name":"web-1","labels":{"kubernetes.io/service-name":"web"}},"addressType":"` + family +
		`","ports":[{"name":"` + port + `","port":8080,"protocol":"TCP"}],"endpoints":[` + strings.Join(endpoints, ",") + `]}`
}

func describe(t collect.ServiceTable) string {
	var lines []string
	for _, f := range t.Frontends {
		line := fmt.Sprintf("%s %s %s %s %s", f.Kind, f.Endpoint(), f.Service, f.Policy, f.Masquerade)
		if f.AffinitySeconds > 0 {
			line += fmt.Sprintf(" %ds", f.AffinitySeconds)
		}
		for _, b := range f.Backends {
			line += fmt.Sprintf(" %s:%d", b.Address, b.Port)
			if b.Probability > 0 {
				line += fmt.Sprintf(" (%g)", b.Probability)
			}
			if b.State != collect.Active {
				line += " " + string(b.State)
			}
		}
		if f.NoBackends != "" {
			line += " " + f.NoBackends
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestRoleOf(t *testing.T) {
	for name, want := range map[string]string{
		"kind-control-plane": "control-plane", "sdp-iptables-worker": "worker", "a-worker2": "worker2",
		"worker-worker2": "worker2", "worker": "worker", "a-worker3": "", "coworker": "", "a-control-plane2": "",
	} {
		if got := roleOf(name); got != want {
			t.Errorf("roleOf(%q) = %q, want %q", name, got, want)
		}
	}
}

// FuzzDecodeObjects: whatever the API server is made to say, decoding ends,
// and what comes out can be normalized and written.
func FuzzDecodeObjects(f *testing.F) {
	f.Add([]byte(`{"kind":"ServiceList","items":[{"metadata":{"namespace":"ns","name":"web"},"spec":{"type":"NodePort","clusterIP":"10.96.0.5","ports":[{"name":"http","port":80,"nodePort":30081,"protocol":"TCP"}]}}]}`),
		[]byte(`{"kind":"EndpointSliceList","items":[`+namedSlice("http", "IPv4", `{"addresses":["10.244.1.2"],"conditions":{"ready":true},"nodeName":"c-worker"}`)+`]}`))
	f.Add([]byte(`{"kind":"Status"}`), []byte(`{"kind":"EndpointSliceList","metadata":{"continue":"x"},"items":[{"endpoints":[{}],"ports":[{}]}]}`))
	f.Fuzz(func(t *testing.T, services, endpointSlices []byte) {
		raw := fstest.MapFS{
			IndexFile:          {Data: []byte(`[{"file":"cluster/services.json","outcome":"captured"},{"file":"cluster/endpointslices.json","outcome":"captured"}]`)},
			ServicesFile:       {Data: services},
			EndpointSlicesFile: {Data: endpointSlices},
		}
		experiment := spec.Experiment{Spec: spec.ExperimentSpec{Workload: spec.Workload{Namespace: "ns", Service: "web"}}}
		e, err := Decode(raw, spec.Scenario{}, experiment)
		if err != nil {
			t.Fatal(err)
		}
		for _, written := range []any{e, Normalize(e, nil)} {
			if _, err := json.Marshal(written); err != nil {
				t.Error(err)
			}
		}
		for _, frontend := range e.Objects.Expected.Frontends {
			sum := 0.0
			for _, b := range frontend.Backends {
				sum += b.Probability
			}
			if !frontend.Address.IsValid() && frontend.Kind != collect.NodePort || sum > 1.000001 {
				t.Errorf("%s %s has probability %v", frontend.Kind, frontend.Endpoint(), sum)
			}
		}
	})
}
