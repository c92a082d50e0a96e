package check

import (
	"reflect"
	"strings"
	"testing"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

func TestNotRecorded(t *testing.T) {
	at := func(file, text string) collect.Finding {
		return collect.Finding{Node: "worker", Text: text, Ref: collect.Ref{File: file}}
	}
	never := func(file string) collect.Finding { return at(file, evidence.NeverCollected) }
	problems := []collect.Problem{
		{File: "worker/failed.txt", Text: "ps: exit code 1"},
	}
	for _, file := range []string{"a", "b", "c", "d"} {
		problems = append(problems, collect.Problem{Node: "worker", File: "worker/" + file, Text: evidence.NeverCollected})
	}
	tests := []struct {
		name     string
		verdict  collect.Verdict
		findings []collect.Finding
		skipped  string
	}{
		{"one file", collect.Inconclusive, []collect.Finding{never("worker/a")}, "not recorded: worker/a"},
		{"a file that two nodes need", collect.Inconclusive, []collect.Finding{never("worker/a"), never("worker/a")}, "not recorded: worker/a"},
		{"as many as are named", collect.Inconclusive, []collect.Finding{never("worker/c"), never("worker/a"), never("worker/b")}, "not recorded: worker/c, worker/a, worker/b"},
		{"more", collect.Inconclusive, []collect.Finding{never("worker/a"), never("worker/b"), never("worker/c"), never("worker/d")}, "not recorded: worker/a, worker/b, worker/c (and 1 more)"},
		{"a command that failed", collect.Inconclusive, []collect.Finding{at("worker/failed.txt", "ps: exit code 1")}, ""},
		{"one that failed beside them", collect.Inconclusive, []collect.Finding{never("worker/a"), at("worker/failed.txt", "ps: exit code 1"), never("worker/b")}, ""},
		{"something else about such a file", collect.Inconclusive, []collect.Finding{at("worker/a", "does not say the version")}, ""},
		{"such words about a file that was recorded", collect.Inconclusive, []collect.Finding{never("worker/recorded.txt")}, ""},
		{"undecided without a finding", collect.Inconclusive, nil, ""},
		{"a contradiction beside them", collect.Fail, []collect.Finding{at("worker/recorded.txt", "a kube-proxy is running"), never("worker/a")}, ""},
		{"a pass", collect.Pass, []collect.Finding{at("worker/recorded.txt", "no process is kube-proxy")}, ""},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			before := collect.Check{ID: "mode.sole", Statement: "Alone.", Verdict: test.verdict, Reason: "as it was", Findings: test.findings}
			want := before
			if test.skipped != "" {
				want.Verdict, want.Reason, want.Findings = collect.Skip, test.skipped, nil
			}
			checks := []collect.Check{before}
			if got := NotRecorded(checks, problems); !reflect.DeepEqual(got, []collect.Check{want}) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if !reflect.DeepEqual(checks[0], before) {
				t.Errorf("the checks it was given have become %+v", checks)
			}
		})
	}
}

// TestWhatWasFoundCounts: a file that is missing hides nothing that another one
// shows.
func TestWhatWasFoundCounts(t *testing.T) {
	tests := []struct {
		name     string
		scenario string
		change   func(r *recorded)
		id       string
		file     string
	}{
		{"rules for Services in one of four dumps", "cilium", func(r *recorded) {
			r.forget("worker/ip6tables-legacy-save.txt")
			r.replace("worker/iptables-nft-save.txt", `^(\*nat\n)`, "$1:KUBE-SERVICES - [0:0]\n:KUBE-SVC-A - [0:0]\n-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 443 -j KUBE-SVC-A\n")
		}, "mode.sole", "worker/iptables-nft-save.txt"},
		{"a line that is not understood", "nftables", func(r *recorded) {
			r.forget("worker/ip6tables-legacy-save.txt")
			r.replace("worker/iptables-nft-save.txt", `^(\*nat\n)`, "$1:KUBE-SERVICES - [0:0]\n-A KUBE-SERVICES -m weather --fine -j ACCEPT\n")
		}, "kernel.unparsed", "worker/iptables-nft-save.txt"},
		{"a connection translated to a stranger", "iptables", func(r *recorded) {
			r.forget("worker2/conntrack-nodeport.txt")
			r.replace("worker2/conntrack-clusterip.txt", `(src=\S+ dst=\S+ sport=\d+ dport=\d+ (?:\[\w+\] )?src=)\S+`, "${1}10.244.9.9")
		}, "kernel.conntrack", "worker2/conntrack-clusterip.txt"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			r := record(t, test.scenario)
			test.change(r)
			c := r.judge()[test.id]
			if c.Verdict != collect.Fail || !(turn{file: test.file}).found(c) {
				t.Errorf("%s is %s: %s %+v", test.id, c.Verdict, c.Reason, c.Findings)
			}
		})
	}
}
