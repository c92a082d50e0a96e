package spec

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// calicoFile is a scenario that installs Calico with two IP pools.
const calicoFile = `apiVersion: service-dataplane/v1alpha1
kind: Scenario
metadata: {name: calico, title: A test}
spec:
  cluster:
    kubeProxyMode: iptables
    podSubnet: 10.244.0.0/16
    serviceSubnet: 10.98.0.0/16
    cni: calico
  dataPlane:
    calico:
      version: v3.31.7
      values:
        installation:
          calicoNetwork:
            linuxDataplane: BPF
            bpfNetworkBootstrap: Enabled
            kubeProxyManagement: Enabled
            ipPools:
              - {cidr: 10.244.0.0/17, encapsulation: VXLAN}
              - {cidr: 10.244.128.0/17}
  requires: [nf_conntrack]
  expect:
    mode: calico
    encoding: calico
    forbidden: [iptables, nftables, ipvs]
    selection: random
    source: {clusterIP: client, nodePort: client}
    translation: {clusterIP: socket, nodePort: packet}
`

// The lists of pools in calicoFile, and the values they are of.
const (
	twoPools = `
              - {cidr: 10.244.0.0/17, encapsulation: VXLAN}
              - {cidr: 10.244.128.0/17}`
	calicoValues = `
        installation:
          calicoNetwork:
            linuxDataplane: BPF
            bpfNetworkBootstrap: Enabled
            kubeProxyManagement: Enabled
            ipPools:` + twoPools
)

// faultsOf are the faults of a scenario file of the name calico, each with its
// line.
func faultsOf(t *testing.T, file string) []string {
	t.Helper()
	var s Scenario
	err := parse("calico.yaml", []byte(file), &s, func(v *validation) { s.checkAll(v, testKnown) })
	faults := (*Error)(nil)
	if err != nil && !errors.As(err, &faults) {
		t.Fatal(err)
	}
	var found []string
	if faults != nil {
		for _, f := range faults.Faults {
			found = append(found, fmt.Sprintf("%d: %s", f.Line, f.Text))
		}
	}
	return found
}

// TestCalico has changes of calicoFile and what is said of them.
func TestCalico(t *testing.T) {
	const (
		network = "spec.dataPlane.calico.values.installation.calicoNetwork."
		pool    = network + "ipPools."
		outside = `" is not within spec.cluster.podSubnet 10.244.0.0/16: the operator refuses an IPPool that is not within the platform's configured pod network CIDR(s)`
		planes  = "want BPF, Iptables, Nftables"
		noPools = network + "ipPools lists none: the operator makes no pool then, and no pod gets an address"
	)
	pools := func(list string) []string { return []string{twoPools, list} }
	for _, test := range []struct {
		name    string
		changes []string // old and new by turns
		want    []string
	}{
		{"as it is", nil, nil},
		{"another pool network", []string{"cni: calico", "cni: ptp"},
			[]string{`9: spec.cluster.cni: "ptp" would be a second pod network beside the data plane's; want calico`}},
		{"a pod network that is not installed", []string{"cni: calico", "cni: cilium"},
			[]string{`9: spec.cluster.cni: "cilium" is not installed: spec.dataPlane has no cilium`}},
		{"a mode that is not installed", []string{"mode: calico", "mode: cilium"},
			[]string{`24: spec.expect.mode: "cilium" is not installed: spec.dataPlane has no cilium`}},
		{"no version", []string{"      version: v3.31.7\n", ""},
			[]string{"12: spec.dataPlane.calico.version is missing; want v3.31.7"}},
		{"the version of another chart", []string{"version: v3.31.7", "version: 1.20.2"},
			[]string{`12: spec.dataPlane.calico.version: "1.20.2" is not v3.31.7`}},
		{"no kube-proxy to begin with", []string{"kubeProxyMode: iptables", "kubeProxyMode: none"},
			[]string{`6: spec.cluster.kubeProxyMode: "none" leaves nothing that implements Services before Calico does; want the kube-proxy that its operator then takes off the nodes`}},

		{"what an application is told of the peer", []string{"nodePort: packet", "nodePort: packet, peername: backend"}, nil},
		{"another peer", []string{"nodePort: packet", "nodePort: packet, peername: client"},
			[]string{`29: spec.expect.translation.peername: "client" is none of dialled, backend`}},

		{"no data plane said", []string{"            linuxDataplane: BPF\n", ""},
			[]string{"16: " + network + "linuxDataplane is missing; " + planes}},
		{"of another spelling", []string{"linuxDataplane: BPF", "linuxDataplane: eBPF"},
			[]string{"16: " + network + `linuxDataplane: "eBPF" is none of BPF, Iptables, Nftables`}},
		{"a number", []string{"linuxDataplane: BPF", "linuxDataplane: 12"},
			[]string{"16: " + network + `linuxDataplane: "12" is none of BPF, Iptables, Nftables`}},
		{"a list", []string{"linuxDataplane: BPF", "linuxDataplane: [BPF]"},
			[]string{"16: " + network + `linuxDataplane: "[BPF]" is none of BPF, Iptables, Nftables`}},
		{"one that leaves Services to kube-proxy", []string{"linuxDataplane: BPF", "linuxDataplane: Nftables"},
			[]string{"16: " + network + `linuxDataplane: "Nftables" leaves Services to kube-proxy, and spec.expect.mode is calico; want BPF`}},
		{"which is expected", []string{"linuxDataplane: BPF", "linuxDataplane: Iptables", "mode: calico", "mode: iptables", "encoding: calico", "encoding: iptables", "[iptables, ", "["}, nil},
		{"and asks for nothing of eBPF", []string{
			"linuxDataplane: BPF", "linuxDataplane: Iptables", "            bpfNetworkBootstrap: Enabled\n            kubeProxyManagement: Enabled\n", "",
			"mode: calico", "mode: iptables", "encoding: calico", "encoding: iptables", "[iptables, ", "[",
		}, nil},

		{"no bootstrap", []string{"            bpfNetworkBootstrap: Enabled\n", ""},
			[]string{"16: " + network + "bpfNetworkBootstrap is missing; want Enabled"}},
		{"bootstrap disabled", []string{"bpfNetworkBootstrap: Enabled", "bpfNetworkBootstrap: Disabled"},
			[]string{"17: " + network + `bpfNetworkBootstrap: "Disabled" is not Enabled`}},
		{"bootstrap true", []string{"bpfNetworkBootstrap: Enabled", "bpfNetworkBootstrap: true"},
			[]string{"17: " + network + `bpfNetworkBootstrap: "true" is not Enabled`}},
		{"kube-proxy left alone", []string{"kubeProxyManagement: Enabled", "kubeProxyManagement: Disabled"},
			[]string{"18: " + network + `kubeProxyManagement: "Disabled" is not Enabled`}},
		{"kube-proxy not spoken of", []string{"            kubeProxyManagement: Enabled\n", ""},
			[]string{"16: " + network + "kubeProxyManagement is missing; want Enabled"}},
		{"neither", []string{"            bpfNetworkBootstrap: Enabled\n            kubeProxyManagement: Enabled\n", ""},
			[]string{"16: " + network + "bpfNetworkBootstrap is missing; want Enabled", "16: " + network + "kubeProxyManagement is missing; want Enabled"}},

		{"the pod subnet as one pool", pools(" [{cidr: 10.244.0.0/16}]"), nil},
		{"a small pool at its end", pools(" [{cidr: 10.244.255.192/26}]"), nil},
		{"the default of Calico's own manifests", pools(" [{cidr: 192.168.0.0/16}]"),
			[]string{`19: ` + pool + `0.cidr: "192.168.0.0/16` + outside}},
		{"a pool larger than the subnet, with its address", pools(" [{cidr: 10.244.0.0/15}]"),
			[]string{`19: ` + pool + `0.cidr: "10.244.0.0/15` + outside}},
		{"a pool larger than the subnet, with another address", pools(" [{cidr: 10.0.0.0/8}]"),
			[]string{`19: ` + pool + `0.cidr: "10.0.0.0/8` + outside}},
		{"a pool beside the subnet", pools(" [{cidr: 10.245.0.0/26}]"),
			[]string{`19: ` + pool + `0.cidr: "10.245.0.0/26` + outside}},
		{"a pool of the other family", pools(" [{cidr: 'fd00:10:244::/64'}]"),
			[]string{`19: ` + pool + `0.cidr: "fd00:10:244::/64` + outside}},
		{"one of several", pools("\n              - {cidr: 10.244.0.0/17}\n              - {cidr: 192.168.0.0/16}\n              - {cidr: 10.244.128.0/17}"),
			[]string{`21: ` + pool + `1.cidr: "192.168.0.0/16` + outside}},
		{"several of several", pools("\n              - {cidr: 172.16.0.0/16}\n              - {cidr: 10.244.0.0/17}\n              - {cidr: 192.168.0.0/16}"),
			[]string{`20: ` + pool + `0.cidr: "172.16.0.0/16` + outside, `22: ` + pool + `2.cidr: "192.168.0.0/16` + outside}},
		{"bits behind the prefix", pools(" [{cidr: 10.244.1.0/16}]"),
			[]string{`19: ` + pool + `0.cidr: "10.244.1.0/16" has bits set behind its prefix; want 10.244.0.0/16`}},
		{"an address", pools(" [{cidr: 10.244.0.0}]"),
			[]string{`19: ` + pool + `0.cidr: "10.244.0.0" is no subnet such as 10.244.0.0/16`}},
		{"a pool without a subnet", pools("\n              - {name: default-ipv4-ippool}\n              - {cidr: 10.244.0.0/16}"),
			[]string{"20: " + pool + "0.cidr is missing"}},
		{"of a subnet that is none", []string{"podSubnet: 10.244.0.0/16", "podSubnet: 10.244"},
			[]string{`7: spec.cluster.podSubnet: "10.244" is no subnet such as 10.244.0.0/16`}},
		{"of a subnet in IPv6", append(pools(" [{cidr: 'fd00:10:244::/64'}]"), "podSubnet: 10.244.0.0/16", "podSubnet: 'fd00:10:244::/56'", "serviceSubnet: 10.98.0.0/16", "serviceSubnet: 'fd00:10:98::/112'"), nil},

		{"no word of pools: the operator takes the pod subnet", []string{"            ipPools:" + twoPools + "\n", ""}, nil},
		{"no pools given", pools(" null"), nil},
		{"no pools at all", pools(" []"), []string{"19: " + noPools}},

		{"pools as text", pools(" text"), []string{"19: " + network + `ipPools: "text" is no list of pools`}},
		{"pools as a number", pools(" 12"), []string{"19: " + network + `ipPools: "12" is no list of pools`}},
		{"pools as empty text", pools(` ""`), []string{"19: " + network + "ipPools is no list of pools"}},
		{"one pool in the place of a list", pools("\n              cidr: 10.244.0.0/16"), []string{"20: " + network + `ipPools: "map[cidr:10.244.0.0/16]" is no list of pools`}},
		{"a pool as text", pools("\n              - 10.244.0.0/16\n              - {cidr: 192.168.0.0/16}"),
			[]string{"20: " + pool + "0.cidr is missing", `21: ` + pool + `1.cidr: "192.168.0.0/16` + outside}},
		{"a pool as a list", pools("\n              - [cidr]"), []string{"20: " + pool + "0.cidr is missing"}},
		{"an empty pool", pools("\n              - {cidr: 10.244.0.0/16}\n              -"), []string{"21: " + pool + "1 is empty"}},
		{"a subnet as a number", pools(" [{cidr: 10.244}]"), []string{`19: ` + pool + `0.cidr: "10.244" is no subnet such as 10.244.0.0/16`}},
		{"a subnet as a list", pools(" [{cidr: [10.244.0.0/16]}]"), []string{`19: ` + pool + `0.cidr: "[10.244.0.0/16]" is no subnet such as 10.244.0.0/16`}},
		{"a subnet of nothing", pools(" [{cidr: null}]"), []string{"19: " + pool + "0.cidr is missing"}},

		{"no values", []string{"\n      values:" + calicoValues, ""},
			[]string{"12: " + network + "linuxDataplane is missing; " + planes}},
		{"values of nothing", []string{calicoValues, ""},
			[]string{"13: " + network + "linuxDataplane is missing; " + planes}},
		{"values as text", []string{calicoValues, " text"}, []string{"13: want fields, found text `text`"}},
		{"values as a list", []string{calicoValues, " [installation]"}, []string{"13: want fields, found a list"}},
		{"an installation as text", []string{calicoValues, " {installation: text}"},
			[]string{"13: " + network + "linuxDataplane is missing; " + planes}},
		{"a network as text", []string{calicoValues, "\n        installation:\n          calicoNetwork: text"},
			[]string{"15: " + network + "linuxDataplane is missing; " + planes}},
		{"a network as a list", []string{calicoValues, "\n        installation:\n          calicoNetwork: [{linuxDataplane: BPF}]"},
			[]string{"15: " + network + "linuxDataplane is missing; " + planes}},
		{"fields that are numbers", []string{calicoValues, "\n        installation:\n          calicoNetwork: {1: 2}"},
			[]string{"15: " + network + "linuxDataplane is missing; " + planes}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			file := calicoFile
			for i := 0; i < len(test.changes); i += 2 {
				if strings.Count(file, test.changes[i]) != 1 {
					t.Fatalf("%q is not once in\n%s", test.changes[i], file)
				}
				file = strings.Replace(file, test.changes[i], test.changes[i+1], 1)
			}
			if got := faultsOf(t, file); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s\nin\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"), file)
			}
		})
	}
}

// TestCalicoVariant: a variant's pool is judged by the variant's subnet, and a
// mistake has the variant's line.
func TestCalicoVariant(t *testing.T) {
	const elsewhere = `variants:
  - metadata: {name: calico-a, title: Another subnet}
    spec:
      cluster: {podSubnet: 192.168.0.0/16}
`
	const pool = "spec.dataPlane.calico.values.installation.calicoNetwork.ipPools."
	const outside = " is not within spec.cluster.podSubnet 192.168.0.0/16: the operator refuses an IPPool that is not within the platform's configured pod network CIDR(s)"
	for _, test := range []struct {
		name, own string
		want      []string
	}{
		{"with the base's pools", "", []string{"20: " + pool + `0.cidr: "10.244.0.0/17"` + outside, "21: " + pool + `1.cidr: "10.244.128.0/17"` + outside}},
		{"with its own pool", "      dataPlane: {calico: {values: {installation: {calicoNetwork: {ipPools: [{cidr: 192.168.0.0/16}]}}}}}\n", nil},
		{"with another's", "      dataPlane: {calico: {values: {installation: {calicoNetwork: {ipPools: [{cidr: 10.1.0.0/16}]}}}}}\n", []string{"34: " + pool + `0.cidr: "10.1.0.0/16"` + outside}},
	} {
		if got := faultsOf(t, calicoFile+elsewhere+test.own); !slices.Equal(got, test.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// TestChart: what is installed for a data plane, under the names that
// charts/lock.yaml has for it.
func TestChart(t *testing.T) {
	for _, test := range []struct {
		plane         DataPlane
		name, version string
	}{
		{DataPlane{}, "", ""},
		{DataPlane{Cilium: &Cilium{Version: "1.20.2"}}, "cilium", "1.20.2"},
		{DataPlane{Calico: &Calico{Version: "v3.31.7"}}, "tigera-operator", "v3.31.7"},
	} {
		name, version := test.plane.Chart()
		if name != test.name || version != test.version {
			t.Errorf("%+v: %q %q, want %q %q", test.plane, name, version, test.name, test.version)
		}
		if _, pinned := testKnown.Charts.Chart(name, version); pinned != (test.name != "") {
			t.Errorf("%q %q is pinned: %v", name, version, pinned)
		}
	}
}

// calicoNetwork are values with that network.
func calicoNetwork(network any) *Calico {
	return &Calico{Values: map[string]any{"installation": map[string]any{"calicoNetwork": network}}}
}

func TestPools(t *testing.T) {
	for _, test := range []struct {
		name   string
		calico *Calico
		want   []string
	}{
		{"several, in their order", calicoNetwork(map[string]any{"ipPools": []any{
			map[string]any{"cidr": "10.244.128.0/17"}, map[string]any{"name": "a", "cidr": "10.244.0.0/17"},
		}}), []string{"10.244.128.0/17", "10.244.0.0/17"}},
		{"some without a subnet keep their places", calicoNetwork(map[string]any{"ipPools": []any{
			"text", nil, map[string]any{"cidr": nil}, map[string]any{"cidr": 12}, map[string]any{"cidr": "10.244.0.0/16"},
		}}), []string{"", "", "", "12", "10.244.0.0/16"}},
		{"an empty list", calicoNetwork(map[string]any{"ipPools": []any{}}), nil},
		{"text", calicoNetwork(map[string]any{"ipPools": "10.244.0.0/16"}), nil},
		{"a network as text", calicoNetwork("text"), nil},
		{"no network", calicoNetwork(nil), nil},
		{"an installation as text", &Calico{Values: map[string]any{"installation": "text"}}, nil},
		{"no values", &Calico{}, nil},
	} {
		if got := test.calico.Pools(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestCalicoKubeProxyReplacement(t *testing.T) {
	for _, test := range []struct {
		name   string
		calico *Calico
		want   bool
	}{
		{"BPF", calicoNetwork(map[string]any{"linuxDataplane": "BPF"}), true},
		{"another spelling", calicoNetwork(map[string]any{"linuxDataplane": "bpf"}), false},
		{"Iptables", calicoNetwork(map[string]any{"linuxDataplane": "Iptables", "kubeProxyManagement": "Enabled"}), false},
		{"a list", calicoNetwork(map[string]any{"linuxDataplane": []any{"BPF"}}), false},
		{"null", calicoNetwork(map[string]any{"linuxDataplane": nil}), false},
		{"elsewhere", &Calico{Values: map[string]any{"linuxDataplane": "BPF"}}, false},
		{"no values", &Calico{}, false},
	} {
		if got := test.calico.KubeProxyReplacement(); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
