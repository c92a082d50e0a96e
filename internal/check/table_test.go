package check

import (
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

// TestCiliumTable changes one of the two accounts of a node's table, or what the
// API asks for. The findings say what the other account has.
func TestCiliumTable(t *testing.T) {
	const dns = "10\\.97\\.0\\.10:53/UDP"
	drop := func(file, pattern string) func(*recorded) {
		return func(r *recorded) { r.replace(file, pattern, "") }
	}
	row := func(key string) string { return `^ *"` + key + `": \[\s*"[^"]*"\s*\],\n` }
	tests := []struct {
		name   string
		change func(r *recorded)
		want   collect.Verdict
		says   string
	}{
		{"as recorded", func(*recorded) {}, collect.Pass, ""},
		{"a row missing in the map", drop("worker/"+lbList, row(dns+` \(2\)`)), collect.Fail,
			"worker: ClusterIP 10.97.0.10:53/UDP of kube-system/kube-dns:dns: backend 10.245.0.75:53 is missing in the BPF map, the agent's list has it"},
		{"a backend missing in the agent's list", func(r *recorded) {
			r.replace("worker/"+agentList, `(?s)("realized": \{\s*"backend-addresses": \[\s*)\{[^}]*"ip": "10\.245\.1\.86".*?\},`, "$1")
		}, collect.Fail, "backend 10.245.1.86:8080 is missing in the agent's list, the BPF map has it"},
		{"a frontend missing in the agent's list", func(r *recorded) {
			for range 2 { // specified and realized
				r.replace("worker2/"+agentList, `("frontend-address": \{\s*"ip": "10\.97\.0\.10",\s*"port": )9153`, "${1}9154")
			}
		}, collect.Fail, "missing in the agent's list, the BPF map has it: ClusterIP 10.97.0.10:9153/TCP of kube-system/kube-dns:metrics"},
		{"a backend more in the map", func(r *recorded) {
			r.replace("worker/"+lbList, `("`+dns+` \(2\)": \[\s*")10\.245\.0\.75`, "${1}10.245.9.9")
		}, collect.Fail, "backend 10.245.0.75:53 is missing in the BPF map, the agent's list has it"},
		{"a frontend more in the map", func(r *recorded) {
			r.replace("worker/"+lbList, `\A\{`, `{"10.97.7.7:80/TCP (0)": ["0.0.0.0:0 (9) (0) [ClusterIP, non-routable] "],`)
			r.replace("worker/"+lbFrontends, `\A\{`, `{"10.97.7.7:80/TCP (0)": ["0 0[0] (9) [0x0 0x0]"],`)
		}, collect.Fail, "worker: extra in the BPF map, the agent's list lacks it: ClusterIP 10.97.7.7:80/TCP"},
		{"an endpoint neither has", func(r *recorded) {
			r.replace(slicesJSON, `"10\.245\.0\.75"`, `"10.245.9.9"`)
		}, collect.Fail, "backend 10.245.9.9:53 is missing in the BPF map, the agent's list lacks it too"},
		{"local policy in the map", func(r *recorded) {
			r.replace("worker/"+lbList, `("172\.18\.0\.3:30081/TCP \(0\)": \[\s*"[^\[]*\[NodePort)`, "$1, Local")
		}, collect.Fail, "NodePort 172.18.0.3:30081/TCP of service-dataplane/echo-server:http: policy in the BPF map is local, want cluster"},
		{"another Service in the agent's list", func(r *recorded) {
			for range 2 {
				r.replace("worker/"+agentList, `"name": "kube-dns"`, `"name": "other"`)
			}
		}, collect.Fail, "service in the agent's list is kube-system/other, want kube-system/kube-dns"},
		{"Maglev", func(r *recorded) {
			r.replace("worker/"+agentStatus, `"algorithm": "Random"`, `"algorithm": "Maglev"`)
		}, collect.Fail, "selection in the BPF map is maglev, want random"},
		{"a row that is not understood", func(r *recorded) {
			r.replace("worker/"+lbList, `\A\{`, `{"10.97.7.7:80/TCP (0)": ["strange"],`)
		}, collect.Inconclusive, "worker: 1 lines are not understood"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			in := partial(t, test.change)
			got, says := verdict(table, in)
			if got != test.want || !strings.Contains(says, test.says) {
				t.Errorf("%s: %q, want %s: %q", got, says, test.want, test.says)
			}
			// Only what nobody understands is left to that check.
			if rest, says := verdict(unparsed, in); (rest == collect.Pass) != (test.want != collect.Inconclusive) {
				t.Errorf("kernel.unparsed is %s: %q", rest, says)
			}
		})
	}
}

// TestDumpsDiffer: what package cilium says of two dumps that differ is taken
// for that, whichever of them lacks a row.
func TestDumpsDiffer(t *testing.T) {
	// All frontends and slots in turn.
	for _, file := range []string{lbList, lbFrontends} {
		for _, key := range []string{`10\.97\.0\.10:53/UDP \(0\)`, `10\.97\.0\.10:53/UDP \(1\)`, `10\.97\.0\.10:53/UDP \(2\)`, `10\.97\.0\.10:0/ANY \(0\)`} {
			in := partial(t, func(r *recorded) {
				r.replace("worker/"+file, `^ *"`+key+`": \[\s*"[^"]*"\s*\],\n`, "")
			})
			for _, line := range in.state("worker").Table("cilium").Unparsed {
				if !contradictory("cilium", line) {
					t.Errorf("%s without %s: %s passes for a line that is not understood", file, key, line)
				}
			}
		}
	}
	for _, line := range []string{
		"10.97.7.7:80/TCP (0): strange # not the row of a frontend",
		"10.97.7.7:80/TCP (0): … # HostPort is no frontend of a Service",
		"a slot without a frontend",
	} {
		if contradictory("cilium", collect.Line{Text: line}) {
			t.Errorf("%s passes for a difference of two dumps", line)
		}
	}
}

// TestCiliumAffinity compares session affinity as far as it is told.
func TestCiliumAffinity(t *testing.T) {
	in := partial(t, func(*recorded) {})
	for i := range in.Objects.Expected.Frontends {
		in.Objects.Expected.Frontends[i].AffinitySeconds = 10800
	}
	got, says := verdict(table, in)
	if want := "affinity in seconds in the BPF map is 0, want 10800"; got != collect.Fail || !strings.Contains(says, want) {
		t.Errorf("%s: %q, want %q", got, says, want)
	}
	var j judgement
	table(in, &j)
	for _, f := range j.against {
		if strings.Contains(f.Text, "agent's list") {
			t.Errorf("the agent's list does not tell affinity: %s", f.Text)
		}
	}
}
