package calico

import (
	"strings"
	"testing"
)

// One thing changed in the worker's text must show in the table.
func TestDecodeShowsChange(t *testing.T) {
	const nodePort = "172.18.0.6 port 30081 proto 6 id 5 count 2 local 1"
	const second = nodePort + "\n\t5:0\t 10.244.95.133:8080\n\t5:1\t 10.244.146.67:8080\n"
	const good = "NodePort 172.18.0.6:30081/TCP random cluster 10.244.95.133=0.5 10.244.146.67=0.5"
	tests := []struct {
		name, old, new, want string
		unparsed             []string
	}{
		{name: "as it is", want: good},
		{
			name: "a backend is missing", old: second, new: nodePort + "\n\t5:0\t 10.244.95.133:8080\n\t5:1\t is missing\n",
			want:     "NodePort 172.18.0.6:30081/TCP random cluster 10.244.95.133=0.5",
			unparsed: []string{"5:1 is missing # not in the backend map: connections that choose it are refused"},
		},
		{
			name: "a backend line is cut off", old: second, new: nodePort + "\n\t5:0\t 10.244.95.133:8080\n",
			want:     "NodePort 172.18.0.6:30081/TCP random cluster 10.244.95.133=0.5",
			unparsed: []string{nodePort + " # counts 2 backends, here are 1"},
		},
		{
			name: "cut off in a backend line", old: second, new: nodePort + "\n\t5:0\t 10.244.95.133:8080\n\t5:1\t 10.244",
			want: "NodePort 172.18.0.6:30081/TCP random cluster 10.244.95.133=0.5",
			unparsed: []string{
				nodePort + " # counts 2 backends, here are 1",
				"5:1 10.244 # not an ip:port",
			},
		},
		{
			name: "cut off in a frontend", old: second, new: "172.18.0.6 port 300",
			want:     "",
			unparsed: []string{"172.18.0.6 port 300 # not a row of nat dump: want ADDRESS port N proto N id N count N local N"},
		},
		{
			name: "a blackhole", old: second, new: "172.18.0.6 port 30081 proto 6 id 5 count -1 local 0\n",
			want: "NodePort 172.18.0.6:30081/TCP cluster drop",
		},
		{
			name: "no backends", old: second, new: "172.18.0.6 port 30081 proto 6 id 5 count 0 local 0\n",
			want: "NodePort 172.18.0.6:30081/TCP cluster reject",
		},
		{
			name: "local policy without a local backend", old: nodePort, new: "172.18.0.6 port 30081 proto 6 id 5 count 2 local 0 flags external-local",
			want: "NodePort 172.18.0.6:30081/TCP local reject",
		},
		{
			name: "a port of its own number", old: second, new: strings.NewReplacer("id 5", "id 9", "5:0", "9:0", "5:1", "9:1").Replace(second),
			want: "ClusterIP 172.18.0.6:30081/TCP random cluster 10.244.95.133=0.5 10.244.146.67=0.5",
		},
		{
			name: "a backend of another number", old: second, new: strings.Replace(second, "5:1", "6:1", 1),
			want: "NodePort 172.18.0.6:30081/TCP random cluster 10.244.95.133=0.5",
			unparsed: []string{
				nodePort + " # counts 2 backends, here are 1",
				"6:1 10.244.146.67:8080 # 5:1 is due here",
			},
		},
		{
			name: "a backend too many", old: second, new: second + "\t5:2\t 10.244.146.99:8080\n",
			want: good, unparsed: []string{"5:2 10.244.146.99:8080 # the frontend counts 2 backends"},
		},
		{
			name: "numbers too large", old: second, new: "172.18.0.6 port 70000 proto 600 id 5 count 0 local 0\n\t5:0\t 10.244.95.133:8080\n",
			unparsed: []string{
				"172.18.0.6 port 70000 proto 600 id 5 count 0 local 0 # not a row of nat dump: " +
					`strconv.ParseUint: parsing "70000": value out of range`,
				"5:0 10.244.95.133:8080 # a backend without a frontend",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := string(read(t, "worker", NATTextFile))
			if !strings.Contains(raw, tt.old) {
				t.Fatalf("the fixture has no %q", tt.old)
			}
			table := decode(t, Raw{NATText: []byte(strings.Replace(raw, tt.old, tt.new, 1))})
			got := ""
			for _, f := range table.Frontends {
				if f.Endpoint() == "172.18.0.6:30081/TCP" {
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

// In the JSON form an element that is not understood is kept whole.
func TestDecodeJSONElements(t *testing.T) {
	const good = `{"frontend": {"addr": "10.96.0.1", "port": 80, "proto": 6, "id": 0, "count": 1, "local": 0}, "backends": [{"addr": "10.244.0.1", "port": 8080}]}`
	tests := []struct{ name, old, new, want string }{
		{"a new member of a frontend", `"local": 0`, `"local": 0, "affinity": 10800`, `unknown field "affinity"`},
		{"a new member of a backend", `"port": 8080`, `"port": 8080, "weight": 1`, `unknown field "weight"`},
		{"a new member beside", `"backends"`, `"via": 1, "backends"`, `unknown member "via"`},
		{"the grouped form", `"frontend": {`, `"frontends": {`, `unknown member "frontends"`},
		{"no backends", `, "backends": [{"addr": "10.244.0.1", "port": 8080}]`, "", "want a frontend and its backends"},
		{"no address", `"addr": "10.96.0.1", `, "", "unable to parse IP"},
		{"a name for an address", "10.244.0.1", "echo", "unable to parse IP"},
		{"a count below the blackhole's", `"count": 1`, `"count": -2`, "count -2"},
		{"a word for a port", `"port": 80,`, `"port": "http",`, "cannot unmarshal"},
		{"a source that is none", `"id": 0`, `"src_cidr": "everybody", "id": 0`, "no '/'"},
		{"a number", good, "7", "7 where { is due"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("the element has no %q", tt.old)
			}
			table := decode(t, Raw{NAT: []byte("[" + good + ",\n" + strings.Replace(good, tt.old, tt.new, 1) + "]")})
			if len(table.Frontends) != 1 || len(table.Unparsed) != 1 {
				t.Fatalf("%d frontends, unparsed %v", len(table.Frontends), table.Unparsed)
			}
			if line := table.Unparsed[0]; line.Number != 2 || !strings.Contains(line.Text, tt.want) {
				t.Errorf("unparsed %q, want line 2 with %q", line, tt.want)
			}
		})
	}
}
