package cilium

import (
	"bytes"
	"testing"
)

func lbOf(r *Raw) *[]byte        { return &r.LB }
func frontendsOf(r *Raw) *[]byte { return &r.Frontends }
func statusOf(r *Raw) *[]byte    { return &r.Status }

// One thing changed in the worker's evidence must show in the table.
func TestDecodeShowsChange(t *testing.T) {
	const nodePort, dns = "172.18.0.3:30081/TCP", "10.97.0.10:53/UDP"
	const nodePortLine = nodePort + " (0): 0.0.0.0:0 (6) (0) [NodePort] # "
	const pods = " 10.245.1.86=active:0.5 10.245.2.76=active:0.5"
	const dnsPods = " 10.245.0.17=active:0.5 10.245.0.75=active:0.5"
	tests := []struct {
		name, endpoint string
		in             func(*Raw) *[]byte
		old, new       string
		want           string
		unparsed       []string
	}{
		{
			name: "a slot gone", endpoint: nodePort, in: lbOf,
			old: ",\n  \"" + nodePort + " (2)\": [\n    \"10.245.2.76:8080/TCP (6) (2)\"\n  ]", new: "",
			want: "NodePort " + nodePort + " random cluster 10.245.1.86=active:1",
			unparsed: []string{
				FrontendsFile + ":68: " + nodePort + " (2): 9 0[0] (6) [0x42 0x0] # not in " + LBFile,
				nodePortLine + FrontendsFile + " counts 2 active and 0 other slots, here are 1",
			},
		},
		{
			name: "a slot more", endpoint: nodePort, in: frontendsOf,
			old: "\"0 2[0] (6)", new: "\"0 1[0] (6)",
			want:     "NodePort " + nodePort + " random cluster 10.245.1.86=active:1 10.245.2.76=quarantined:0",
			unparsed: []string{nodePortLine + FrontendsFile + " counts 1 active and 0 other slots, here are 2"},
		},
		{
			name: "a backend quarantined", endpoint: nodePort, in: frontendsOf,
			old: "\"0 2[0] (6)", new: "\"0 1[1] (6)",
			want: "NodePort " + nodePort + " random cluster 10.245.1.86=active:1 10.245.2.76=quarantined:0",
		},
		{
			name: "a gap in the slots", endpoint: nodePort, in: lbOf,
			old: nodePort + " (2)\": [\n    \"10.245.2.76:8080/TCP (6) (2)", new: nodePort + " (3)\": [\n    \"10.245.2.76:8080/TCP (6) (3)",
			want: "NodePort " + nodePort + " random cluster 10.245.1.86=active:1 10.245.2.76=quarantined:0",
			unparsed: []string{
				FrontendsFile + ":68: " + nodePort + " (2): 9 0[0] (6) [0x42 0x0] # not in " + LBFile,
				nodePortLine + "slot 2 is missing",
			},
		},
		{
			name: "another number in the counts", endpoint: nodePort, in: frontendsOf,
			old: "\"0 2[0] (6)", new: "\"0 2[0] (9)",
			want:     "NodePort " + nodePort + " random cluster" + pods,
			unparsed: []string{nodePortLine + FrontendsFile + " has the number 9"},
		},
		{
			name: "no count", endpoint: nodePort, in: frontendsOf,
			old: "\"0 2[0] (6)", new: "\"many (6)",
			want: "NodePort " + nodePort + " random cluster" + pods,
			unparsed: []string{
				FrontendsFile + ":62: " + nodePort + " (0): many (6) [0x42 0x0] # not a row of the services map",
				nodePortLine + "not in " + FrontendsFile,
			},
		},
		{
			name: "traffic policy", endpoint: nodePort, in: lbOf,
			old: "(6) (0) [NodePort]", new: "(6) (0) [NodePort, Local]",
			want: "NodePort " + nodePort + " random local" + pods,
		},
		{
			name: "a flag from the future", endpoint: nodePort, in: lbOf,
			old: "(6) (0) [NodePort]", new: "(6) (0) [NodePort, sideways]",
			want:     "NodePort " + nodePort + " random cluster" + pods,
			unparsed: []string{nodePort + " (0): 0.0.0.0:0 (6) (0) [NodePort, sideways] # flag sideways is not known"},
		},
		{
			name: "quarantined is a slot's flag", endpoint: nodePort, in: lbOf,
			old: "(6) (0) [NodePort]", new: "(6) (0) [NodePort, quarantined]",
			want:     "NodePort " + nodePort + " random cluster" + pods,
			unparsed: []string{nodePort + " (0): 0.0.0.0:0 (6) (0) [NodePort, quarantined] # flag quarantined is not known"},
		},
		{
			name: "no kind", endpoint: dns, in: lbOf,
			old: "(2) (0) [ClusterIP, ", new: "(2) (0) [",
			unparsed: []string{
				dns + " (0): 0.0.0.0:0 (2) (0) [non-routable] # not a known kind of frontend",
				dns + " (1): 10.245.0.17:53/UDP (2) (1) # not a known kind of frontend",
				dns + " (2): 10.245.0.75:53/UDP (2) (2) # not a known kind of frontend",
			},
		},
		{
			name: "affinity without a time", endpoint: dns, in: lbOf,
			old: "(2) (0) [ClusterIP, ", new: "(2) (0) [ClusterIP, sessionAffinity, ",
			want:     "ClusterIP " + dns + " random cluster" + dnsPods,
			unparsed: []string{dns + " (0): 0.0.0.0:0 (2) (0) [ClusterIP, sessionAffinity, non-routable] # the time of session affinity is not known"},
		},
		{
			name: "a time without affinity", endpoint: nodePort, in: frontendsOf,
			old: "\"0 2[0] (6)", new: "\"60 2[0] (6)",
			want:     "NodePort " + nodePort + " random cluster" + pods,
			unparsed: []string{nodePortLine + "the time of session affinity is not known"},
		},
		{
			name: "an algorithm from the future", endpoint: nodePort, in: frontendsOf,
			old: "\"0 2[0] (6)", new: "\"2147483648 2[0] (6)",
			want:     "NodePort " + nodePort + " cluster" + pods,
			unparsed: []string{nodePortLine + "algorithm 128 is not known"},
		},
		{
			name: "Maglev at a node port", endpoint: nodePort, in: statusOf,
			old: `"algorithm": "Random"`, new: `"algorithm": "Maglev"`,
			want: "NodePort " + nodePort + " maglev cluster" + pods,
		},
		{
			name: "Maglev leaves a ClusterIP alone", endpoint: dns, in: statusOf,
			old: `"algorithm": "Random"`, new: `"algorithm": "Maglev"`,
			want: "ClusterIP " + dns + " random cluster" + dnsPods,
		},
		{
			name: "a slot of another frontend", endpoint: dns, in: lbOf,
			old: "10.245.0.75:53/UDP (2) (2)", new: "10.245.0.75:53/UDP (3) (2)",
			want:     "ClusterIP " + dns + " random cluster 10.245.0.17=active:1",
			unparsed: []string{dns + " (2): 10.245.0.75:53/UDP (3) (2) # the frontend has the number 2"},
		},
		{
			name: "a slot with another number", endpoint: dns, in: lbOf,
			old: "10.245.0.75:53/UDP (2) (2)", new: "10.245.0.75:53/UDP (2) (1)",
			want:     "ClusterIP " + dns + " random cluster 10.245.0.17=active:1",
			unparsed: []string{dns + " (2): 10.245.0.75:53/UDP (2) (1) # slot 2 of key and slot 1 of value differ"},
		},
		{
			name: "a slot with another protocol", endpoint: dns, in: lbOf,
			old: "10.245.0.75:53/UDP (2) (2)", new: "10.245.0.75:53/TCP (2) (2)",
			want:     "ClusterIP " + dns + " random cluster 10.245.0.17=active:1",
			unparsed: []string{dns + " (2): 10.245.0.75:53/TCP (2) (2) # another protocol than the frontend's"},
		},
		{
			name: "a backend of another cluster", endpoint: dns, in: lbOf,
			old: "10.245.0.75:53/UDP (2) (2)", new: "10.245.0.75@3:53/UDP (2) (2)",
			want:     "ClusterIP " + dns + " random cluster 10.245.0.17=active:1",
			unparsed: []string{dns + " (2): 10.245.0.75@3:53/UDP (2) (2) # not a backend"},
		},
		{
			name: "a key twice", endpoint: dns, in: lbOf,
			old: `"10.97.0.10:9153/TCP (2)"`, new: `"10.97.0.10:53/UDP (2)"`,
			want: "ClusterIP " + dns + " random cluster" + dnsPods,
			unparsed: []string{
				FrontendsFile + ":38: 10.97.0.10:9153/TCP (2): 4 0[0] (3) [0x0 0x0] # not in " + LBFile,
				"10.97.0.10:9153/TCP (0): 0.0.0.0:0 (3) (0) [ClusterIP, non-routable] # " + FrontendsFile + " counts 2 active and 0 other slots, here are 1",
				dns + " (2): 10.245.0.75:9153/TCP (3) (2) # listed before",
			},
		},
		{
			name: "two entries under a key", endpoint: dns, in: lbOf,
			old: `"10.245.0.75:53/UDP (2) (2)"`, new: `"10.245.0.75:53/UDP (2) (2)", "10.245.0.75:53/UDP (2) (2)"`,
			want:     "ClusterIP " + dns + " random cluster" + dnsPods,
			unparsed: []string{dns + " (2): 10.245.0.75:53/UDP (2) (2) # listed before"},
		},
		{
			name: "no entry under a key", endpoint: dns, in: lbOf,
			old: `"10.245.0.75:53/UDP (2) (2)"`, new: "",
			want:     "ClusterIP " + dns + " random cluster 10.245.0.17=active:1",
			unparsed: []string{dns + " (2): [] # not a backend"},
		},
		{
			name: "a broken key", endpoint: dns, in: lbOf,
			old: `"10.97.0.10:53/UDP (2)"`, new: `"10.97.0.10:53/UDP"`,
			want: "ClusterIP " + dns + " random cluster 10.245.0.17=active:1",
			unparsed: []string{
				FrontendsFile + ":29: " + dns + " (2): 3 0[0] (2) [0x0 0x0] # not in " + LBFile,
				dns + " (0): 0.0.0.0:0 (2) (0) [ClusterIP, non-routable] # " + FrontendsFile + " counts 2 active and 0 other slots, here are 1",
				dns + ": 10.245.0.75:53/UDP (2) (2) # not a key of the services map",
			},
		},
		{
			name: "a wildcard with a number", endpoint: dns, in: lbOf,
			old: "\"10.97.0.10:0/ANY (0)\": [\n    \"0.0.0.0:0 (0)", new: "\"10.97.0.10:0/ANY (0)\": [\n    \"0.0.0.0:0 (4)",
			want:     "ClusterIP " + dns + " random cluster" + dnsPods,
			unparsed: []string{"10.97.0.10:0/ANY (0): 0.0.0.0:0 (4) (0) [ClusterIP, non-routable] # a row for unknown ports with a number of its own"},
		},
		{
			name: "a port of any protocol", endpoint: "10.97.0.1:443/ANY", in: lbOf,
			old: "10.97.0.1:443/TCP (0)", new: "10.97.0.1:443/ANY (0)",
			unparsed: []string{
				FrontendsFile + ":44: 10.97.0.1:443/TCP (0): 0 1[0] (4) [0x0 0x0] # not in " + LBFile,
				"10.97.0.1:443/ANY (0): 0.0.0.0:0 (4) (0) [ClusterIP, non-routable] # not a port of a Service",
				"10.97.0.1:443/ANY (0): 0.0.0.0:0 (4) (0) [ClusterIP, non-routable] # not in " + FrontendsFile,
				"10.97.0.1:443/TCP (1): 172.18.0.4:6443/TCP (4) (1) # a slot without a frontend",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := evidence(t, "worker")
			file := tt.in(&raw)
			if !bytes.Contains(*file, []byte(tt.old)) {
				t.Fatalf("the fixture has no %q", tt.old)
			}
			*file = bytes.Replace(*file, []byte(tt.old), []byte(tt.new), 1)
			table, err := Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range table.Frontends {
				if f.Endpoint() == tt.endpoint {
					got = summary(f)
				}
			}
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			compare(t, texts(table.Unparsed), tt.unparsed)
		})
	}
}
