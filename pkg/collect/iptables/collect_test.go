package iptables

import (
	"slices"
	"testing"
)

func TestCommands(t *testing.T) {
	var files []string
	for _, c := range Commands() {
		files = append(files, c.File)
		if c.Argv[0]+".txt" != c.File || c.Timeout <= 0 {
			t.Errorf("%s runs %q within %s", c.File, c.Argv, c.Timeout)
		}
	}
	want := []string{"iptables-legacy-save.txt", "iptables-nft-save.txt", "ip6tables-legacy-save.txt", "ip6tables-nft-save.txt"}
	if !slices.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}
}

// Messages of iptables 1.8: what the kernel lacks is an answer, anything else a
// failure.
func TestAbsent(t *testing.T) {
	for _, test := range []struct {
		stderr      string
		legacy, nft bool
	}{
		{"iptables-save v1.8.9 (legacy): Cannot initialize: Table does not exist (do you need to insmod?)", true, false},
		{"iptables-save/1.8.2 Failed to initialize nft: Protocol not supported", false, true},
		{"ip6tables-nft-save v1.8.7 (nf_tables): Could not fetch rule set generation id: Invalid argument", false, true},
		{"iptables-save v1.8.9 (nf_tables): Could not fetch rule set generation id: Permission denied (you must be root)", false, false},
		{"Failed to list table names in /proc/net/ip_tables_names: Permission denied", false, false},
		{`exec: "iptables-legacy-save": executable file not found in $PATH`, false, false},
		{"# Warning: iptables-legacy tables present, use iptables-legacy-save to see them", false, false},
	} {
		for i, c := range Commands() {
			want := test.legacy
			if i%2 == 1 {
				want = test.nft
			}
			if got := c.Absent.MatchString(test.stderr); got != want {
				t.Errorf("%s: %q is absence: %t, want %t", c.Argv[0], test.stderr, got, want)
			}
		}
	}
}
