package iptables

import "testing"

func TestParseRule(t *testing.T) {
	type values map[option]string
	for _, test := range []struct {
		name, text, chain string
		has, not          option
		values            values
	}{
		{
			name: "jump", text: "-A KUBE-EXT-A -j KUBE-SVC-A", chain: "KUBE-EXT-A",
			has: jumpTo, values: values{jumpTo: "KUBE-SVC-A"},
		},
		{
			name: "quoted comment keeps blanks", text: `-A A -m comment --comment "a -j b" -j C`, chain: "A",
			has: comment | jumpTo, values: values{comment: "a -j b", jumpTo: "C"},
		},
		{
			name: "backslashes in quotes", text: `-A A -m comment --comment "it\'s a \"quoted\" back\\slash" -j C`, chain: "A",
			has: comment | jumpTo, values: values{comment: `it's a "quoted" back\slash`, jumpTo: "C"},
		},
		{
			name: "comment of one plain word", text: "-A A -m comment --comment plain -j C", chain: "A",
			has: comment | jumpTo, values: values{comment: "plain", jumpTo: "C"},
		},
		{
			name: "empty comment", text: `-A A -m comment --comment "" -j C`, chain: "A",
			has: comment | jumpTo, values: values{comment: "", jumpTo: "C"},
		},
		{
			name: "counters before", text: "[12:345] -A A -j C", chain: "A",
			has: jumpTo, values: values{jumpTo: "C"},
		},
		{
			name: "counters within", text: "-A A -c 12 345 -j C", chain: "A",
			has: jumpTo, values: values{jumpTo: "C"},
		},
		{
			name: "negation", text: "-A A ! -s 10.244.0.0/16 -d 10.96.0.1/32 -j C", chain: "A",
			has: source | destination | jumpTo, not: source, values: values{source: "10.244.0.0/16", destination: "10.96.0.1/32"},
		},
		{
			name: "negation after the module", text: "-A A -m conntrack ! --ctstate NEW -j C", chain: "A",
			has: connectionState | jumpTo, not: connectionState, values: values{connectionState: "NEW"},
		},
		{
			name: "two blanks", text: "-A A -m nfacct --nfacct-name  counter -j C", chain: "A",
			has: accounting | jumpTo, values: values{accounting: "counter", jumpTo: "C"},
		},
		{
			name: "options without a value", text: "-A A -m recent --rcheck --seconds 10800 --reap --name N --mask 255.255.255.255 --rsource -j C", chain: "A",
			has:    recentCheck | recentSeconds | recentReap | recentName | recentMask | recentSource | jumpTo,
			values: values{recentSeconds: "10800", recentName: "N", jumpTo: "C"},
		},
		{
			name: "unsupported revision", text: "-A A -p tcp -m tcp -j DNAT [unsupported revision]", chain: "A",
			has: protocol | jumpTo | unknown, values: values{jumpTo: "DNAT"},
		},
		{
			name: "unknown option", text: "-A A -m mark --mark 0x1 -j C", chain: "A",
			has: jumpTo | unknown, values: values{jumpTo: "C"},
		},
		{
			name: "module without options", text: "-A A -m socket -j C", chain: "A",
			has: jumpTo | unknown, values: values{jumpTo: "C"},
		},
		{
			name: "two of one option", text: "-A A --ctstate NEW --ctstate INVALID -j C", chain: "A",
			has: connectionState | jumpTo | unknown, values: values{connectionState: "NEW", jumpTo: "C"},
		},
		{
			name: "no target", text: `-A A -m comment --comment "remark"`, chain: "A",
			has: comment, values: values{comment: "remark", jumpTo: ""},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r rule
			if err := r.parse(test.text, newSyntax()); err != nil {
				t.Fatal(err)
			}
			if r.chain != test.chain || r.has != test.has || r.not != test.not {
				t.Errorf("chain %s has %b not %b, want %s %b %b", r.chain, r.has, r.not, test.chain, test.has, test.not)
			}
			for option, want := range test.values {
				if got := r.value(option); got != want {
					t.Errorf("option %b is %q, want %q", option, got, want)
				}
			}
		})
	}
}
