package cluster

import "testing"

func TestUnified(t *testing.T) {
	tests := []struct{ text, want string }{
		{"0::/docker/a4d4/init.scope\n", "/docker/a4d4/init.scope"},
		{"2:cpuset:/docker/a4d4\n1:name=systemd:/docker/a4d4/init.scope\n0::/docker/a4d4\n", "/docker/a4d4"},
		{"10::/not-the-unified-one\n", ""},
		{"", ""},
	}
	for _, test := range tests {
		if got, ok := unified(test.text); got != test.want || ok != (test.want != "") {
			t.Errorf("%q: %q, %v; want %q", test.text, got, ok, test.want)
		}
	}
}

func TestSharedCgroups(t *testing.T) {
	tests := []struct {
		name   string
		roots  map[string]string
		shared bool
	}{
		{"each its own", map[string]string{"worker": "/docker/a", "worker2": "/docker/b"}, false},
		{"names that begin alike", map[string]string{"worker": "/docker/a", "worker2": "/docker/ab"}, false},
		{"the same", map[string]string{"worker": "/docker/a", "worker2": "/docker/a"}, true},
		{"one within the other", map[string]string{"worker": "/docker", "worker2": "/docker/b"}, true},
		{"the host's", map[string]string{"worker": "/"}, true},
	}
	for _, test := range tests {
		if err := SharedCgroups(test.roots); (err != nil) != test.shared {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
