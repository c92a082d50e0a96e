package dataplane

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
)

const (
	builtAgent    = "localhost/service-dataplane/cilium:v1.20.2-0123456789abcdef"
	builtOperator = "localhost/service-dataplane/cilium-operator:v1.20.2-0123456789abcdef"
)

var (
	pinned = spec.Chart{Name: "cilium", Version: "1.20.2", Source: "images/cilium", Images: map[string]string{
		"agent":    "quay.io/cilium/cilium:v1.20.2@sha256:2939231d0d3e3ebddcd80fffa168b7ddcc78fdf0dc864d1c8c126ff523c54f01",
		"operator": "quay.io/cilium/operator-generic:v1.20.2@sha256:64d8798350e8569b8e7622563fed6e44dce2625f311e4651b774816516c744fc",
	}}
	built = Images{
		"agent":    {Reference: builtAgent, Origin: imagebuild.Source},
		"operator": {Reference: builtOperator, Origin: imagebuild.Source},
	}
	pulled = Images{
		"agent":    {Reference: pinned.Images["agent"], Origin: imagebuild.Registry},
		"operator": {Reference: pinned.Images["operator"], Origin: imagebuild.Registry},
	}
)

// table is a mapping of a chart's values.
type table = map[string]any

func TestInNodes(t *testing.T) {
	const agent, operator = "quay.io/cilium/cilium:v1.20.2", "quay.io/cilium/operator-generic:v1.20.2"
	const digest = "@sha256:2939231d0d3e3ebddcd80fffa168b7ddcc78fdf0dc864d1c8c126ff523c54f01"
	for _, test := range []struct {
		name   string
		images Images
		want   map[string]string
	}{
		{"built here", built, map[string]string{"agent": builtAgent, "operator": builtOperator}},
		{"pulled by digest, which no archive keeps", pulled, map[string]string{"agent": agent, "operator": operator}},
		{"pulled by tag", Images{"node": {Reference: "quay.io/calico/node:v3.31.7", Origin: imagebuild.Registry}}, map[string]string{"node": "quay.io/calico/node:v3.31.7"}},
		{"pulled by tag, with the digest it had", Images{"node": {Reference: "quay.io/calico/node:v3.31.7" + digest, Origin: imagebuild.Registry}}, map[string]string{"node": "quay.io/calico/node:v3.31.7"}},
		{"of a registry with a port", Images{"node": {Reference: "localhost:5000/calico/node:v3.31.7" + digest, Origin: imagebuild.Registry}}, map[string]string{"node": "localhost:5000/calico/node:v3.31.7"}},
		{"some of both", Images{"agent": built["agent"], "operator": pulled["operator"]}, map[string]string{"agent": builtAgent, "operator": operator}},
		{"none", nil, map[string]string{}},
	} {
		if got := test.images.InNodes(); !maps.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	// Versions of one chart are in the engine side by side.
	other := Images{"agent": {Reference: "quay.io/cilium/cilium:v1.19.8" + digest, Origin: imagebuild.Registry}}
	if a, b := pulled.InNodes(), other.InNodes(); a["agent"] == b["agent"] {
		t.Errorf("two versions are both %s", a["agent"])
	}
}

// TestValues has scenarios' values and what they become.
func TestValues(t *testing.T) {
	image := func(override string) table {
		return table{"override": override, "useDigest": false, "pullPolicy": "Never"}
	}
	images := table{"image": image(builtAgent), "operator": table{"image": image(builtOperator)}}
	// with is images and more.
	with := func(more table) table {
		all := maps.Clone(images)
		maps.Copy(all, more)
		return all
	}
	defaults := table{
		"image": table{"repository": "quay.io/cilium/cilium", "useDigest": true},
		"securityContext": table{"privileged": false, "capabilities": table{
			"ciliumAgent": []any{"SYS_MODULE", "NET_ADMIN", "SYS_RESOURCE"},
			"mountCgroup": []any{"SYS_ADMIN", "SYS_PTRACE"},
			"cleanState":  []any{"SYS_RESOURCE", "CHOWN"},
			"drop":        "ALL", // no list
		}},
	}
	without := table{"capabilities": table{
		"ciliumAgent": []any{"SYS_MODULE", "NET_ADMIN"},
		"mountCgroup": []any{"SYS_ADMIN", "SYS_PTRACE"},
		"cleanState":  []any{"CHOWN"},
	}}
	tests := []struct {
		name     string
		scenario table
		images   Images
		missing  []string
		want     table
		dropped  []string
	}{
		{"without replacement, images alone", table{"kubeProxyReplacement": false}, built, nil,
			with(table{"kubeProxyReplacement": false}), nil},
		{"as text", table{"kubeProxyReplacement": "false"}, built, nil, with(table{"kubeProxyReplacement": "false"}), nil},
		{"with replacement, the API server's address too", table{"kubeProxyReplacement": true}, built, nil,
			with(table{"kubeProxyReplacement": true, "k8sServiceHost": "172.18.0.2", "k8sServicePort": 6443}), nil},
		{"with replacement as text", table{"kubeProxyReplacement": "true"}, built, nil,
			with(table{"kubeProxyReplacement": "true", "k8sServiceHost": "172.18.0.2", "k8sServicePort": 6443}), nil},
		{"images of a registry", table{}, pulled, nil, table{
			"image":    image("quay.io/cilium/cilium:v1.20.2"),
			"operator": table{"image": image("quay.io/cilium/operator-generic:v1.20.2")},
		}, nil},

		{"beside what the scenario says of the operator", table{"operator": table{"replicas": 1, "image": table{"suffix": ""}}}, built, nil, table{
			"image":    image(builtAgent),
			"operator": table{"replicas": 1, "image": table{"suffix": "", "override": builtOperator, "useDigest": false, "pullPolicy": "Never"}},
		}, nil},
		{"the scenario's own image", table{"image": table{"override": "example.org/agent:1", "pullPolicy": "Always"}}, built, nil,
			with(table{"image": table{"override": "example.org/agent:1", "pullPolicy": "Always", "useDigest": false}}), nil},
		{"the scenario's own API server", table{"kubeProxyReplacement": true, "k8sServiceHost": "api.example.org", "k8sServicePort": 443}, built, nil,
			with(table{"kubeProxyReplacement": true, "k8sServiceHost": "api.example.org", "k8sServicePort": 443}), nil},
		{"false and zero are values", table{"kubeProxyReplacement": true, "k8sServicePort": 0, "image": table{"override": "", "useDigest": false, "pullPolicy": ""}}, built, nil,
			with(table{"kubeProxyReplacement": true, "k8sServiceHost": "172.18.0.2", "k8sServicePort": 0, "image": table{"override": "", "useDigest": false, "pullPolicy": ""}}), nil},

		{"a capability the host lacks", table{}, built, []string{"CAP_SYS_RESOURCE"}, with(table{"securityContext": without}), []string{"CAP_SYS_RESOURCE"}},
		{"several, in order", table{}, built, []string{"CAP_SYS_MODULE", "CAP_NET_ADMIN"}, with(table{"securityContext": table{"capabilities": table{
			"ciliumAgent": []any{"SYS_RESOURCE"}, "mountCgroup": []any{"SYS_ADMIN", "SYS_PTRACE"}, "cleanState": []any{"SYS_RESOURCE", "CHOWN"},
		}}}), []string{"CAP_NET_ADMIN", "CAP_SYS_MODULE"}},
		{"one that the chart does not ask for", table{}, built, []string{"CAP_BLOCK_SUSPEND", "capability 41"}, images, nil},
		{"one whose name only begins alike", table{}, built, []string{"CAP_SYS", "SYS_RESOURCE"}, images, nil},
		{"the scenario's own list", table{"securityContext": table{"capabilities": table{"ciliumAgent": []any{"BPF"}}}}, built, []string{"CAP_SYS_RESOURCE"},
			with(table{"securityContext": table{"capabilities": table{
				"ciliumAgent": []any{"BPF"}, "mountCgroup": []any{"SYS_ADMIN", "SYS_PTRACE"}, "cleanState": []any{"CHOWN"},
			}}}), []string{"CAP_SYS_RESOURCE"}},
		{"beside what else it says of security", table{"securityContext": table{"privileged": true}}, built, []string{"CAP_SYS_RESOURCE"},
			with(table{"securityContext": table{"privileged": true, "capabilities": without["capabilities"]}}), []string{"CAP_SYS_RESOURCE"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			before := fmt.Sprint(test.scenario, defaults)
			c := Cilium{Spec: spec.Cilium{Values: test.scenario}, Prepared: Prepared{Names: test.images.InNodes()}, MissingCapabilities: test.missing}
			got, dropped := c.values(defaults, "172.18.0.2")
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
			if !slices.Equal(dropped, test.dropped) {
				t.Errorf("dropped %q, want %q", dropped, test.dropped)
			}
			// Whatever is done to the values is not done to the scenario, which
			// is installed again in the next run.
			overwrite(got)
			if after := fmt.Sprint(test.scenario, defaults); after != before {
				t.Errorf("scenario and defaults are now\n%s, were\n%s", after, before)
			}
		})
	}
}

// overwrite changes every mapping within a table.
func overwrite(values table) {
	for key, value := range values {
		if inner, ok := value.(table); ok {
			overwrite(inner)
		}
		values[key] = "overwritten"
	}
	values["new"] = true
}

// TestDefaultsWithoutCapabilities: another version of the chart may name them
// elsewhere.
func TestDefaultsWithoutCapabilities(t *testing.T) {
	for _, defaults := range []table{nil, {"securityContext": table{}}, {"securityContext": "none"}} {
		c := Cilium{MissingCapabilities: []string{"CAP_SYS_RESOURCE"}}
		if got, dropped := c.values(defaults, "172.18.0.2"); got["securityContext"] != nil || dropped != nil {
			t.Errorf("%v: %v without %q", defaults, got, dropped)
		}
	}
}

// TestAsRead: charts compare and add numbers as the type that a values file
// gives them.
func TestAsRead(t *testing.T) {
	// What YAML 1.1 takes for something else stays text.
	text := table{"yes": "yes", "on": "on", "octal": "012", "version": "1.20", "sexagesimal": "1:30", "date": "2026-01-02", "null": "null", "none": ""}
	got, err := asRead(table{"port": 6443, "replacement": true, "operator": table{"replicas": int64(1)}, "list": []any{1, "a"}, "large": 1 << 40, "text": text})
	want := table{"port": 6443.0, "replacement": true, "operator": table{"replicas": 1.0}, "list": []any{1.0, "a"}, "large": float64(1 << 40), "text": text}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v, %v\nwant %#v", got, err, want)
	}
}
