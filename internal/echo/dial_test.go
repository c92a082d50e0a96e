package echo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"service-dataplane/pkg/collect/traffic"
)

// Nothing translates addresses on loopback, so all views of a connection agree.
func TestDial(t *testing.T) {
	tests := []struct {
		name   string
		listen string
		// dial maps the listener's address to the target.
		dial func(netip.AddrPort) string
	}{
		{"IPv4", "127.0.0.1:0", netip.AddrPort.String},
		{"IPv6", "[::1]:0", netip.AddrPort.String},
		{"IPv4 to a dual-stack listener", ":0", func(a netip.AddrPort) string {
			return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), a.Port()).String()
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const count = 12
			target := test.dial(netip.MustParseAddrPort(start(t, test.listen)))
			attempts := dial(t, Plan{Target: target, Entry: "loopback", Count: count, Timeout: 10 * time.Second})
			if len(attempts) != count {
				t.Fatalf("%d attempts, want %d", len(attempts), count)
			}
			locals := map[netip.AddrPort]bool{}
			for _, a := range attempts {
				if a.Error != "" {
					t.Fatalf("attempt %d failed: %s", a.Sequence, a.Error)
				}
				want := netip.MustParseAddrPort(target)
				if a.DialedAddress != want || a.Peername != want || a.KernelRemote != want {
					t.Errorf("dialled %s, peername %s, kernel remote %s, want %s for all", a.DialedAddress, a.Peername, a.KernelRemote, want)
				}
				if a.SourceSeen != a.LocalAddress {
					t.Errorf("server saw %s, want the local address %s", a.SourceSeen, a.LocalAddress)
				}
				if a.Backend != testIdentity || a.Entry != "loopback" || a.Target != target {
					t.Errorf("backend, entry, target are %+v, %q, %q", a.Backend, a.Entry, a.Target)
				}
				if a.ConnectMicroseconds <= 0 {
					t.Errorf("connecting took %d µs, want more than 0", a.ConnectMicroseconds)
				}
				locals[a.LocalAddress] = true
			}
			if len(locals) != count {
				t.Errorf("%d distinct local addresses, want %d: connections were reused", len(locals), count)
			}
		})
	}
}

func TestDialRefused(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()

	attempts := dial(t, Plan{Target: address, Count: 2, Timeout: 10 * time.Second})
	if len(attempts) != 2 {
		t.Fatalf("%d attempts, want 2", len(attempts))
	}
	for _, a := range attempts {
		if !strings.Contains(a.Error, "connection refused") {
			t.Errorf("error is %q, want connection refused", a.Error)
		}
		if a.DialedAddress.String() != address {
			t.Errorf("dialled %s, want %s", a.DialedAddress, address)
		}
		if a.LocalAddress.IsValid() || a.Peername.IsValid() || a.KernelRemote.IsValid() || a.Backend != (traffic.Identity{}) {
			t.Errorf("there was no connection, yet %+v", a)
		}
	}
}

// The connection stands, in the backlog, but nobody ever answers on it.
func TestDialDeadline(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	start := time.Now()
	a := dial(t, Plan{Target: listener.Addr().String(), Count: 1, Timeout: 200 * time.Millisecond})[0]
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the attempt took %s with a timeout of 200ms", took)
	}
	if !strings.Contains(a.Error, "i/o timeout") {
		t.Errorf("error is %q, want a timeout", a.Error)
	}
	if a.KernelRemote != a.DialedAddress || a.Peername != a.DialedAddress || !a.LocalAddress.IsValid() {
		t.Errorf("what was known before the deadline is missing: %+v", a)
	}
}

func TestDialStranger(t *testing.T) {
	tests := []struct {
		name   string
		answer func(http.ResponseWriter)
		want   string
	}{
		{"error page", func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, "503"},
		{"text", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "hello") }, "not an echo server's"},
		{"other JSON", func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"pod":"other"}`) }, "not an echo server's"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { test.answer(w) }))
			defer server.Close()
			a := dial(t, Plan{Target: server.Listener.Addr().String(), Count: 1, Timeout: 10 * time.Second})[0]
			if !strings.Contains(a.Error, test.want) {
				t.Errorf("error is %q, want %q in it", a.Error, test.want)
			}
			if a.Backend != (traffic.Identity{}) || a.SourceSeen.IsValid() {
				t.Errorf("a stranger's answer was taken over: %+v", a)
			}
		})
	}
}

func TestDialStopped(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	// Stopped while the first attempt waits for its answer.
	go func() {
		if _, err := listener.Accept(); err == nil {
			cancel()
		}
	}()

	var out bytes.Buffer
	err = Plan{Target: listener.Addr().String(), Count: 3, Timeout: time.Minute}.Run(ctx, &out)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want canceled", err)
	}
	attempts, err := traffic.Parse(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(attempts) != 1 || attempts[0].Error == "" {
		t.Errorf("attempts are %+v, want the first, failed", attempts)
	}
}

func TestPlanValidate(t *testing.T) {
	good := Plan{Target: "echo-server:80", Count: 12, Timeout: time.Second}
	if err := good.Validate(); err != nil {
		t.Errorf("a good plan is refused: %v", err)
	}
	tests := []struct {
		name  string
		spoil func(*Plan)
	}{
		{"no target", func(p *Plan) { p.Target = "" }},
		{"no port", func(p *Plan) { p.Target = "echo-server" }},
		{"no host", func(p *Plan) { p.Target = ":80" }},
		{"port 0", func(p *Plan) { p.Target = "echo-server:0" }},
		{"port too large", func(p *Plan) { p.Target = "echo-server:65536" }},
		{"port by name", func(p *Plan) { p.Target = "echo-server:http" }},
		{"IPv6 without brackets", func(p *Plan) { p.Target = "fd00::1:80" }},
		{"no attempts", func(p *Plan) { p.Count = 0 }},
		{"no time", func(p *Plan) { p.Timeout = 0 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := good
			test.spoil(&plan)
			if err := plan.Validate(); err == nil {
				t.Errorf("%+v is accepted", plan)
			}
		})
	}
}

func dial(t *testing.T, plan Plan) []traffic.Attempt {
	t.Helper()
	var out bytes.Buffer
	if err := plan.Run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	attempts, err := traffic.Parse(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return attempts
}
