package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	"service-dataplane/pkg/collect/traffic"
)

func TestRun(t *testing.T) {
	refused := closedPort(t)
	tests := []struct {
		name   string
		args   string
		code   int
		lines  int
		stderr string
	}{
		{"nothing", "", 2, 0, "usage:"},
		{"help", "--help", 0, 0, "usage:"},
		{"help of a command", "dial -h", 0, 0, "usage:"},
		{"unknown command", "shout", 2, 0, `unknown command "shout"`},
		{"unknown flag", "dial --hold", 2, 0, "-hold"},
		{"no target", "dial", 2, 0, "target"},
		{"surplus argument", "idle forever", 2, 0, `unexpected argument "forever"`},
		{"failed attempts are a result", "dial --count 3 --target " + refused, 0, 3, ""},
		{"address that cannot be listened on", "serve --listen 192.0.2.1:0", 1, 0, "listen"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), strings.Fields(test.args), &stdout, &stderr); code != test.code {
				t.Errorf("exit code is %d, want %d", code, test.code)
			}
			attempts, err := traffic.Parse(stdout.Bytes())
			if err != nil || len(attempts) != test.lines {
				t.Errorf("%d attempts on stdout, %v, want %d", len(attempts), err, test.lines)
			}
			if !strings.Contains(stderr.String(), test.stderr) || (test.stderr == "" && stderr.Len() > 0) {
				t.Errorf("stderr is %q, want %q in it", stderr.String(), test.stderr)
			}
		})
	}
}

func TestStopped(t *testing.T) {
	for args, want := range map[string]int{
		"idle":                           0,
		"serve --listen 127.0.0.1:0":     0,
		"dial --target " + closedPort(t): 1,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var stdout, stderr bytes.Buffer
		if code := run(ctx, strings.Fields(args), &stdout, &stderr); code != want {
			t.Errorf("%s: exit code is %d, want %d: %s", args, code, want, stderr.String())
		}
	}
}

// closedPort is an address on loopback where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
