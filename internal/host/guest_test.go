package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

// TestInspectGuest: each thing that a guest needs is named with its cure where it
// is not there, and nothing else stands in the way.
func TestInspectGuest(t *testing.T) {
	const enough = "MemAvailable:   16777216 kB\n"
	tests := []struct {
		name    string
		arch    string
		uid     int
		lacks   string // a program that is not installed
		meminfo string
		kvm     bool
		state   State
		text    string
	}{
		{"emulation", "amd64", 0, "", enough, false, OK, "QEMU emulator version 7.2.22, emulated"},
		{"kvm", "amd64", 0, "", enough, true, OK, "on /dev/kvm"},
		{"another processor", "arm64", 0, "", enough, false, Missing, "this host is arm64"},
		{"no root", "amd64", 1000, "", enough, false, Missing, "without root"},
		{"no QEMU", "amd64", 0, "qemu-system-x86_64", enough, false, Missing, "without QEMU"},
		{"no mke2fs", "amd64", 0, "mke2fs", enough, false, Missing, "without mke2fs"},
		{"little memory", "amd64", 0, "", "MemAvailable:   4194304 kB\n", false, Missing, "without 12.0 GiB of memory (4.0 GiB available)"},
	}
	for _, test := range tests {
		files := fstest.MapFS{"proc/meminfo": {Data: []byte(test.meminfo)}}
		if test.kvm {
			files["dev/kvm"] = &fstest.MapFile{}
		}
		sys := System{Files: files, UID: test.uid, Arch: test.arch, Run: func(_ context.Context, argv ...string) (string, error) {
			if argv[0] == test.lacks {
				return "", errors.New("not found")
			}
			return "QEMU emulator version 7.2.22 (Debian 1:7.2)\nCopyright", nil
		}}
		got := InspectGuest(t.Context(), sys)
		if got.State != test.state || !strings.Contains(got.Text, test.text) {
			t.Errorf("%s: %+v, want %s, %q", test.name, got, test.state, test.text)
		}
		if (got.State == Missing) != (got.Cure != "") {
			t.Errorf("%s: cure %q", test.name, got.Cure)
		}
	}
}
