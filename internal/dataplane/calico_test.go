package dataplane

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect/calico"
)

// TestCalicoValues has scenarios' values and what they become: the chart puts the
// operator's image together again of three.
func TestCalicoValues(t *testing.T) {
	image := func(registry, image, version string) table {
		return table{"registry": registry, "image": image, "version": version}
	}
	const published = "quay.io/tigera/operator:v1.40.15"
	installation := table{"calicoNetwork": table{"linuxDataplane": "BPF", "ipPools": []any{table{"cidr": "10.244.0.0/16"}}}}
	for _, test := range []struct {
		name     string
		operator string // its name in the nodes
		scenario table
		want     table
	}{
		{"as published", published, nil, table{"tigeraOperator": image("quay.io", "tigera/operator", "v1.40.15")}},
		{"beside the installation", published, table{"installation": installation, "whisker": table{"enabled": false}},
			table{"installation": installation, "whisker": table{"enabled": false}, "tigeraOperator": image("quay.io", "tigera/operator", "v1.40.15")}},
		{"of a registry with a port", "localhost:5000/tigera/operator:v1", nil, table{"tigeraOperator": image("localhost:5000", "tigera/operator", "v1")}},
		{"of an address with a port", "[::1]:5000/operator:v1", nil, table{"tigeraOperator": image("[::1]:5000", "operator", "v1")}},
		{"built here", "localhost/service-dataplane/tigera/operator:v1.40.15-0123456789abcdef", nil,
			table{"tigeraOperator": image("localhost", "service-dataplane/tigera/operator", "v1.40.15-0123456789abcdef")}},

		{"the scenario's own image", published, table{"tigeraOperator": table{"registry": "example.org", "image": "operator", "version": "v2"}},
			table{"tigeraOperator": image("example.org", "operator", "v2")}},
		{"the scenario's own version", published, table{"tigeraOperator": table{"version": "v1.40.14"}},
			table{"tigeraOperator": image("quay.io", "tigera/operator", "v1.40.14")}},
		{"empty text is a value", published, table{"tigeraOperator": table{"registry": ""}},
			table{"tigeraOperator": image("", "tigera/operator", "v1.40.15")}},
		{"beside what else it says of the operator", published, table{"tigeraOperator": table{"imagePullPolicy": "Never"}},
			table{"tigeraOperator": table{"registry": "quay.io", "image": "tigera/operator", "version": "v1.40.15", "imagePullPolicy": "Never"}}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			before := fmt.Sprint(test.scenario)
			c := Calico{Spec: spec.Calico{Values: test.scenario}, Prepared: Prepared{Names: map[string]string{"operator": test.operator, "node": "quay.io/calico/node:v3.31.7"}}}
			got := c.values()
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
			if of, ok := got["tigeraOperator"].(table); test.scenario["tigeraOperator"] == nil && (!ok || fmt.Sprintf("%s/%s:%s", of["registry"], of["image"], of["version"]) != test.operator) {
				t.Errorf("%v are not %s", of, test.operator)
			}
			overwrite(got)
			if after := fmt.Sprint(test.scenario); after != before {
				t.Errorf("the scenario is now\n%s, was\n%s", after, before)
			}
		})
	}
}

// TestNew: a scenario's data plane is installed from what was prepared for it.
func TestNew(t *testing.T) {
	prepared := Prepared{Images: pulled, Names: pulled.InNodes(), Deviations: []string{"built elsewhere"}}
	missing := []string{"CAP_SYS_RESOURCE"}
	values := table{"a": 1}
	for _, test := range []struct {
		of   spec.DataPlane
		want Plane
	}{
		{spec.DataPlane{Cilium: &spec.Cilium{Version: "1.20.2", Values: values}}, Cilium{spec.Cilium{Version: "1.20.2", Values: values}, prepared, missing}},
		{spec.DataPlane{Calico: &spec.Calico{Version: "v3.31.7", Values: values}}, Calico{spec.Calico{Version: "v3.31.7", Values: values}, prepared}},
	} {
		if got := New(test.of, prepared, missing); !reflect.DeepEqual(got, test.want) {
			t.Errorf("got %#v, want %#v", got, test.want)
		}
	}
}

// TestInstalled: the record is of chart and images as they were prepared, and
// what is added to it is not added to them.
func TestInstalled(t *testing.T) {
	p := Prepared{
		Chart:      Chart{&chart.Chart{Metadata: &chart.Metadata{Name: "tigera-operator", Version: "v3.31.7"}}, "a directory, sha256:0123"},
		Images:     Images{"node": {Reference: "quay.io/calico/node:v3.31.7", ID: "sha256:1", Origin: imagebuild.Registry}},
		Deviations: slices.Grow([]string{"built elsewhere"}, 1),
	}
	values := table{"installation": table{}}
	got := p.installed(values)
	want := Installed{Name: "tigera-operator", Version: "v3.31.7", Chart: "a directory, sha256:0123", Images: p.Images, Values: values, Deviations: []string{"built elsewhere"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if added := append(got.Deviations, "more"); len(added) != 2 || p.Deviations[:2][1] != "" {
		t.Errorf("deviations that were prepared are %q", p.Deviations[:2])
	}
	p.Deviations = nil
	if got := p.installed(values); got.Deviations != nil {
		t.Errorf("deviations of none are %q", got.Deviations)
	}
}

// poolOutside is what the operator says of a pool outside of the pod subnet
// (shortened from a recorded TigeraStatus).
const poolOutside = "error filling IP pool defaults: IPPool 192.168.0.0/16 is not within the platform's configured pod network CIDR(s) [10.244.0.0/16]"

// Statuses of components.
func degradedBy(component, reason, message string) calico.Status {
	return calico.Status{Component: component, Degraded: calico.Condition{Status: "True", Reason: reason, Message: message}}
}

func available(component string) calico.Status {
	return calico.Status{Component: component,
		Available:   calico.Condition{Status: "True", Reason: "AllObjectsAvailable", Message: "All objects available"},
		Progressing: calico.Condition{Status: "False", Reason: "AllObjectsAvailable", Message: "All objects available"},
		Degraded:    calico.Condition{Status: "False", Reason: "AllObjectsAvailable", Message: "All objects available"},
	}
}

func progressing(component, message string) calico.Status {
	return calico.Status{Component: component, Progressing: calico.Condition{Status: "True", Reason: "ResourceNotReady", Message: message}}
}

// TestLasting: a refusal counts that the operator has stood by for 15 seconds.
func TestLasting(t *testing.T) {
	const (
		read, config = "ResourceReadError", "InvalidConfigurationError"
		another      = "Could not get the kubeadm configuration"
	)
	refused := degradedBy("ippools", read, poolOutside)
	waits := degradedBy("calico", "ResourceNotFound", "waiting for enabled IP pools to be created: ")
	want := &Refused{"ippools", read, poolOutside}
	type answer struct {
		at       time.Duration
		statuses []calico.Status
		want     *Refused
	}
	for _, test := range []struct {
		name    string
		answers []answer
	}{
		{"for less than long enough", []answer{{0, []calico.Status{refused}, nil}, {14 * time.Second, []calico.Status{refused}, nil}, {15*time.Second - 1, []calico.Status{refused}, nil}}},
		{"for long enough", []answer{{0, []calico.Status{refused}, nil}, {time.Second, []calico.Status{refused}, nil}, {15 * time.Second, []calico.Status{refused}, want}}},
		{"for long, asked seldom", []answer{{time.Minute, []calico.Status{refused}, nil}, {3 * time.Minute, []calico.Status{refused}, want}}},
		{"it is told again", []answer{{0, []calico.Status{refused}, nil}, {15 * time.Second, []calico.Status{refused}, want}, {16 * time.Second, []calico.Status{refused}, want}}},
		{"beside others", []answer{{0, []calico.Status{waits, refused, available("kubeproxy-monitor")}, nil}, {15 * time.Second, []calico.Status{waits, refused, available("kubeproxy-monitor")}, want}}},
		{"of a component that nobody waits for", []answer{
			{0, []calico.Status{degradedBy("apiserver", config, "no")}, nil}, {15 * time.Second, []calico.Status{degradedBy("apiserver", config, "no")}, &Refused{"apiserver", config, "no"}},
		}},
		{"while another component's comes later", []answer{
			{0, []calico.Status{refused}, nil}, {10 * time.Second, []calico.Status{degradedBy("calico", config, "no"), refused}, nil}, {15 * time.Second, []calico.Status{degradedBy("calico", config, "no"), refused}, want},
		}},

		{"never a reason of what is on its way", func() (all []answer) {
			for _, reason := range []string{"", "Unknown", "NotApplicable", "AllObjectsAvailable", "ResourceNotReady", "ResourceNotFound", "ResourceUpdateError", "PodFailure"} {
				for _, at := range []time.Duration{0, 15 * time.Second, time.Hour} {
					all = append(all, answer{at, []calico.Status{degradedBy("calico", reason, "as it was")}, nil})
				}
			}
			return all
		}()},
		{"never where it is not degraded", []answer{
			{0, []calico.Status{{Component: "ippools", Degraded: calico.Condition{Status: "False", Reason: read, Message: poolOutside}}}, nil},
			{time.Hour, []calico.Status{{Component: "ippools", Degraded: calico.Condition{Status: "False", Reason: read, Message: poolOutside}}}, nil},
			{2 * time.Hour, []calico.Status{{Component: "ippools", Degraded: calico.Condition{Status: "Unknown", Reason: read, Message: poolOutside}}}, nil},
			{3 * time.Hour, []calico.Status{{Component: "ippools", Degraded: calico.Condition{Status: "Unknown", Reason: read, Message: poolOutside}}}, nil},
		}},
		{"never of nothing", []answer{{0, nil, nil}, {time.Hour, nil, nil}}},

		{"another message is another refusal", []answer{
			{0, []calico.Status{refused}, nil}, {10 * time.Second, []calico.Status{degradedBy("ippools", read, another)}, nil},
			{15 * time.Second, []calico.Status{degradedBy("ippools", read, another)}, nil},
			{25*time.Second - 1, []calico.Status{degradedBy("ippools", read, another)}, nil},
			{25 * time.Second, []calico.Status{degradedBy("ippools", read, another)}, &Refused{"ippools", read, another}},
		}},
		{"and so is the first one when it comes back", []answer{
			{0, []calico.Status{refused}, nil}, {10 * time.Second, []calico.Status{degradedBy("ippools", read, another)}, nil},
			{20 * time.Second, []calico.Status{refused}, nil}, {34 * time.Second, []calico.Status{refused}, nil}, {35 * time.Second, []calico.Status{refused}, want},
		}},
		{"another reason is another refusal", []answer{
			{0, []calico.Status{refused}, nil}, {15 * time.Second, []calico.Status{degradedBy("ippools", config, poolOutside)}, nil},
			{30 * time.Second, []calico.Status{degradedBy("ippools", config, poolOutside)}, &Refused{"ippools", config, poolOutside}},
		}},
		{"of another component too", []answer{
			{0, []calico.Status{refused}, nil}, {15 * time.Second, []calico.Status{degradedBy("calico", read, poolOutside)}, nil},
		}},
		{"gone and back it begins again", []answer{
			{0, []calico.Status{refused}, nil}, {14 * time.Second, []calico.Status{available("ippools")}, nil},
			{15 * time.Second, []calico.Status{refused}, nil}, {29 * time.Second, []calico.Status{refused}, nil}, {30 * time.Second, []calico.Status{refused}, want},
		}},
		{"gone with its component and back", []answer{
			{0, []calico.Status{refused}, nil}, {14 * time.Second, nil, nil}, {15 * time.Second, []calico.Status{refused}, nil}, {30 * time.Second, []calico.Status{refused}, want},
		}},
		{"for a passing reason and back", []answer{
			{0, []calico.Status{refused}, nil}, {14 * time.Second, []calico.Status{degradedBy("ippools", "ResourceNotReady", poolOutside)}, nil},
			{15 * time.Second, []calico.Status{refused}, nil}, {30 * time.Second, []calico.Status{refused}, want},
		}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			said, start := degraded{}, time.Date(2026, 11, 29, 14, 56, 0, 0, time.UTC)
			for _, a := range test.answers {
				if got := said.lasting(a.statuses, start.Add(a.at)); !reflect.DeepEqual(got, a.want) {
					t.Errorf("after %v: %+v, want %+v", a.at, got, a.want)
				}
			}
		})
	}
}

func TestRefused(t *testing.T) {
	const want = "the Tigera operator says of ippools: ResourceReadError: " + poolOutside
	if err := error(&Refused{"ippools", "ResourceReadError", poolOutside}); err.Error() != want {
		t.Errorf("says %q, want %q", err, want)
	}
}

func TestUnavailable(t *testing.T) {
	components := []string{"calico", "ippools", "kubeproxy-monitor"}
	for _, test := range []struct {
		name     string
		statuses []calico.Status
		want     string
	}{
		{"all available", []calico.Status{available("calico"), available("ippools"), available("kubeproxy-monitor")}, ""},
		{"in another order, beside others", []calico.Status{degradedBy("apiserver", "ResourceNotReady", "no"), available("kubeproxy-monitor"), available("ippools"), available("calico")}, ""},
		{"nothing known", nil, "the operator does not know calico yet"},
		{"one not known", []calico.Status{available("calico"), available("ippools")}, "the operator does not know kubeproxy-monitor yet"},
		{"one of a name that begins alike", []calico.Status{available("calico-node"), available("ippools"), available("kubeproxy-monitor")}, "the operator does not know calico yet"},
		{"one without conditions", []calico.Status{{Component: "calico"}, available("ippools"), available("kubeproxy-monitor")}, "calico is not available yet: "},
		{"one on its way", []calico.Status{available("calico"), progressing("ippools", "Waiting for pools"), available("kubeproxy-monitor")}, "ippools is not available yet: Waiting for pools"},
		{"one degraded", []calico.Status{degradedBy("calico", "ResourceNotReady", "not all pods are ready"), available("ippools"), available("kubeproxy-monitor")}, "calico is degraded: not all pods are ready"},
		{"one available and degraded", []calico.Status{
			{Component: "calico", Available: calico.Condition{Status: "True"}, Degraded: calico.Condition{Status: "True", Message: "no"}}, available("ippools"), available("kubeproxy-monitor"),
		}, "calico is degraded: no"},
		{"one of which it is unknown", []calico.Status{{Component: "calico", Available: calico.Condition{Status: "Unknown"}}, available("ippools"), available("kubeproxy-monitor")}, "calico is not available yet: "},
	} {
		got := ""
		if err := unavailable(test.statuses, components); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
