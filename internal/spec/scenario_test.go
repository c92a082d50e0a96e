package spec

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// base is a scenario file that variants are added to.
const base = `apiVersion: service-dataplane/v1alpha1
kind: Scenario
metadata: {name: base, title: The base}
spec:
  cluster: &cluster
    kubeProxyMode: none
    podSubnet: &pods 10.244.0.0/16
    serviceSubnet: 10.96.0.0/16
    cni: cilium
    kubeadmConfigPatches: [one, two]
  dataPlane:
    cilium:
      version: 1.20.2
      values: &values
        kubeProxyReplacement: true
        ipam: &ipam {mode: kubernetes, operator: {clusterPoolIPv4MaskSize: 24}}
        devices: [eth0, eth1]
  requires: [nf_conntrack, xt_statistic]
  expect:
    mode: cilium
    encoding: cilium
    forbidden: [iptables, ipvs]
    selection: random
    source: {clusterIP: client, nodePort: client, nodePortFromHost: entry-node-if-remote}
    translation: {clusterIP: socket, nodePort: socket}
`

// variants loads base with a list of variants in YAML.
func variants(t *testing.T, list string) []Scenario {
	t.Helper()
	file := filepath.Join(t.TempDir(), "base.yaml")
	if err := os.WriteFile(file, []byte(base+list), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := LoadScenarios(file, testKnown)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestVariant has one variant a row: it differs from its base in what the row
// changes and in nothing else.
func TestVariant(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		change     func(*ScenarioSpec)
	}{
		{"nothing", "{}", func(*ScenarioSpec) {}},
		{"a field", "{cluster: {podSubnet: 10.250.0.0/16}}", func(s *ScenarioSpec) { s.Cluster.PodSubnet = "10.250.0.0/16" }},
		{"fields at several depths", "{dataPlane: {cilium: {version: 1.19.8}}, expect: {selection: round-robin, source: {nodePort: entry-node}}}", func(s *ScenarioSpec) {
			s.DataPlane.Cilium.Version = "1.19.8"
			s.Expect.Selection, s.Expect.Source.NodePort = "round-robin", SourceEntryNode
		}},
		{"a list takes the place of a list", "{requires: [ip_vs], cluster: {kubeadmConfigPatches: [three]}}", func(s *ScenarioSpec) {
			s.Requires, s.Cluster.KubeadmConfigPatches = []string{"ip_vs"}, []string{"three"}
		}},
		{"an empty list", "{requires: []}", func(s *ScenarioSpec) { s.Requires = []string{} }},
		{"the chart's values are merged", "{dataPlane: {cilium: {values: {ipam: {mode: cluster-pool}, l7Proxy: false}}}}", func(s *ScenarioSpec) {
			values := s.DataPlane.Cilium.Values
			values["ipam"].(map[string]any)["mode"] = "cluster-pool"
			values["l7Proxy"] = false
		}},
		{"down to the last mapping", "{dataPlane: {cilium: {values: {ipam: {operator: {clusterPoolIPv6MaskSize: 120}}}}}}", func(s *ScenarioSpec) {
			operator := s.DataPlane.Cilium.Values["ipam"].(map[string]any)["operator"].(map[string]any)
			operator["clusterPoolIPv6MaskSize"] = 120
		}},
		{"lists within them are not", "{dataPlane: {cilium: {values: {devices: [eth2]}}}}", func(s *ScenarioSpec) {
			s.DataPlane.Cilium.Values["devices"] = []any{"eth2"}
		}},
		{"a value takes the place of a mapping", "{dataPlane: {cilium: {values: {ipam: none}}}}", func(s *ScenarioSpec) {
			s.DataPlane.Cilium.Values["ipam"] = "none"
		}},
		{"a mapping that of a value", "{dataPlane: {cilium: {values: {devices: {first: eth0}}}}}", func(s *ScenarioSpec) {
			s.DataPlane.Cilium.Values["devices"] = map[string]any{"first": "eth0"}
		}},
		{"another data plane", "{cluster: {kubeProxyMode: iptables}, dataPlane: {cilium: {values: {kubeProxyReplacement: false}}}}", func(s *ScenarioSpec) {
			s.Cluster.KubeProxyMode = "iptables"
			s.DataPlane.Cilium.Values["kubeProxyReplacement"] = false
		}},

		{"in JSON", `{"dataPlane": {"cilium": {"values": {"ipam": {"mode": "cluster-pool"}}}}}`, func(s *ScenarioSpec) {
			s.DataPlane.Cilium.Values["ipam"].(map[string]any)["mode"] = "cluster-pool"
		}},
		{"an alias of a value", "{dataPlane: {cilium: {values: {ipv4NativeRoutingCIDR: *pods}}}}", func(s *ScenarioSpec) {
			s.DataPlane.Cilium.Values["ipv4NativeRoutingCIDR"] = "10.244.0.0/16"
		}},
		{"an alias of a mapping, laid on itself", "{cluster: *cluster}", func(*ScenarioSpec) {}},
		{"an alias of a mapping elsewhere", "{dataPlane: {cilium: {values: {clustermesh: *ipam}}}}", func(s *ScenarioSpec) {
			values := s.DataPlane.Cilium.Values
			values["clustermesh"] = values["ipam"]
		}},
		{"an alias of a mapping, laid on another", "{dataPlane: {cilium: {values: {clustermesh: &mode {mode: cluster-pool}, ipam: *mode}}}}", func(s *ScenarioSpec) {
			values := s.DataPlane.Cilium.Values
			values["clustermesh"] = map[string]any{"mode": "cluster-pool"}
			values["ipam"].(map[string]any)["mode"] = "cluster-pool"
		}},
		{"a mapping merged into it", "{cluster: {<<: *cluster, podSubnet: 10.250.0.0/16}}", func(s *ScenarioSpec) {
			s.Cluster.PodSubnet = "10.250.0.0/16"
		}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			all := variants(t, "variants:\n  - metadata: {name: base-a, title: A variant}\n    spec: "+test.spec+"\n")
			if len(all) != 2 {
				t.Fatalf("%d scenarios, want the base and its variant", len(all))
			}
			want := variants(t, "")[0] // whatever the variant says
			if !reflect.DeepEqual(all[0], want) {
				t.Errorf("the base is\n%+v, want\n%+v", all[0], want)
			}
			want.Metadata = Metadata{Name: "base-a", Title: "A variant"}
			test.change(&want.Spec)
			if !reflect.DeepEqual(all[1], want) {
				t.Errorf("got\n%+v, want\n%+v", all[1], want)
			}
		})
	}
}

// TestVariantWithoutSpec: another name alone makes a variant too.
func TestVariantWithoutSpec(t *testing.T) {
	all := variants(t, "variants: [{metadata: {name: base-a, title: A variant}}]\n")
	if len(all) != 2 || !reflect.DeepEqual(all[1].Spec, all[0].Spec) {
		t.Errorf("got %+v", all)
	}
}

// TestVariantByMergeKey: what a mapping merges in is the mapping's.
func TestVariantByMergeKey(t *testing.T) {
	all := variants(t, `variants:
  - metadata: {name: base-a, title: A variant}
    spec: {cluster: &other {podSubnet: 10.250.0.0/16}}
  - metadata: {name: base-b, title: Another}
    spec: {cluster: {<<: *other}}
`)
	if all[1].Spec.Cluster.PodSubnet != "10.250.0.0/16" || all[2].Spec.Cluster.PodSubnet != "10.250.0.0/16" {
		t.Errorf("pod subnets are %s and %s", all[1].Spec.Cluster.PodSubnet, all[2].Spec.Cluster.PodSubnet)
	}
}

// TestVariantsInOrder: the base is first, and its variants follow as they do in
// the file, each laid on the base and not on the one before it.
func TestVariantsInOrder(t *testing.T) {
	all := variants(t, `variants:
  - {metadata: {name: base-z, title: Z}, spec: {cluster: {podSubnet: 10.250.0.0/16}}}
  - {metadata: {name: base-a, title: A}, spec: {dataPlane: {cilium: {values: {ipam: {mode: cluster-pool}}}}}}
  - {metadata: {name: base-a-1, title: A1}, spec: {requires: [ip_vs]}}
`)
	var got []string
	for _, s := range all {
		got = append(got, s.Metadata.Name+" "+s.Spec.Cluster.PodSubnet+" "+s.Spec.DataPlane.Cilium.Values["ipam"].(map[string]any)["mode"].(string))
		if s.Variants != nil {
			t.Errorf("%s has variants of its own: %+v", s.Metadata.Name, s.Variants)
		}
	}
	want := []string{"base 10.244.0.0/16 kubernetes", "base-z 10.250.0.0/16 kubernetes", "base-a 10.244.0.0/16 cluster-pool", "base-a-1 10.244.0.0/16 kubernetes"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestVariantsShareNothing: whoever changes one scenario of a file changes no
// other.
func TestVariantsShareNothing(t *testing.T) {
	const list = "variants:\n  - {metadata: {name: base-a, title: A}, spec: {}}\n  - {metadata: {name: base-b, title: B}, spec: {}}\n"
	for changed := range 3 {
		all, want := variants(t, list), variants(t, list)
		s := all[changed].Spec
		s.Requires[0], s.Cluster.KubeadmConfigPatches[0], s.Expect.Forbidden[0] = "x", "x", "x"
		s.DataPlane.Cilium.Version = "x"
		values := s.DataPlane.Cilium.Values
		values["kubeProxyReplacement"] = "x"
		values["ipam"].(map[string]any)["operator"].(map[string]any)["clusterPoolIPv4MaskSize"] = "x"
		values["devices"].([]any)[0] = "x"
		for i := range all {
			if same := reflect.DeepEqual(all[i], want[i]); same != (i != changed) {
				t.Errorf("%s changed: %s equals what was loaded is %v", all[changed].Metadata.Name, all[i].Metadata.Name, same)
			}
		}
	}
}

// TestOverlayChangesNoTree: both trees are laid on others again.
func TestOverlayChangesNoTree(t *testing.T) {
	read := func(text string) *yaml.Node {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		return document.Content[0]
	}
	write := func(node *yaml.Node) string {
		var text bytes.Buffer
		encoder := yaml.NewEncoder(&text)
		if err := encoder.Encode(node); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	below := read("a: &a {b: {c: 1, d: [1, 2]}, e: 1}\nf: *a\ng: 1 # why\n")
	over := read("a: {b: {c: 2, d: [3]}}\nf: {e: 2}\ng: {h: 1}\ni: 1\n")
	belowBefore, overBefore := write(below), write(over)
	merged := overlay(below, over)
	var got any
	if err := merged.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": map[string]any{"b": map[string]any{"c": 2, "d": []any{3}}, "e": 1},
		"f": map[string]any{"b": map[string]any{"c": 1, "d": []any{1, 2}}, "e": 2}, // not the a of over
		"g": map[string]any{"h": 1},
		"i": 1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if after := write(below); after != belowBefore {
		t.Errorf("below is now\n%swas\n%s", after, belowBefore)
	}
	if after := write(over); after != overBefore {
		t.Errorf("over is now\n%swas\n%s", after, overBefore)
	}
}

// TestReplacementOfOtherTypes: a value of any type is a mistake in the file and
// no more.
func TestReplacementOfOtherTypes(t *testing.T) {
	for _, test := range []struct{ value, says string }{
		{"12", `"12" is neither true nor false`},
		{"1.5", `"1.5" is neither true nor false`},
		{`""`, "is neither true nor false"},
		{"yes", `"yes" is neither true nor false`},
		{"null", "is missing; want true or false"},
		{"partial", "is a value of Cilium 1.13 and older"},
	} {
		file := strings.Replace(base, "kubeProxyReplacement: true", "kubeProxyReplacement: "+test.value, 1)
		var s Scenario
		err := parse("base.yaml", []byte(file), &s, func(v *validation) { s.checkAll(v, testKnown) })
		if want := "base.yaml:15: spec.dataPlane.cilium.values.kubeProxyReplacement"; err == nil ||
			!strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s … %s", test.value, err, want, test.says)
		}
	}
}

func TestReplacementOfAList(t *testing.T) {
	for _, value := range []string{"[true]", "{enabled: true}"} {
		file := strings.Replace(base, "kubeProxyReplacement: true", "kubeProxyReplacement: "+value, 1)
		var s Scenario
		err := parse("base.yaml", []byte(file), &s, func(v *validation) { s.checkAll(v, testKnown) })
		if err == nil || !strings.Contains(err.Error(), "is neither true nor false") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestKubeProxyReplacement(t *testing.T) {
	for _, test := range []struct {
		name   string
		values map[string]any
		want   bool
	}{
		{"true", map[string]any{"kubeProxyReplacement": true}, true},
		{"true as text", map[string]any{"kubeProxyReplacement": "true"}, true},
		{"false", map[string]any{"kubeProxyReplacement": false}, false},
		{"false as text", map[string]any{"kubeProxyReplacement": "false"}, false},
		{"null", map[string]any{"kubeProxyReplacement": nil}, false},
		{"another", map[string]any{"kubeProxyReplacement": []any{true}}, false},
		{"absent", map[string]any{"operator": map[string]any{"kubeProxyReplacement": true}}, false},
		{"no values", nil, false},
	} {
		if got := (&Cilium{Values: test.values}).KubeProxyReplacement(); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
