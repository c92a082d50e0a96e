package echo

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"service-dataplane/pkg/collect/traffic"
)

var testIdentity = traffic.Identity{Pod: "echo-server-7c9d", Node: "worker", PodIP: netip.MustParseAddr("10.245.2.76")}

// start serves on address until the test ends and returns where.
func start(t *testing.T, address string) string {
	t.Helper()
	listener, err := Listen(t.Context(), address)
	if err != nil && strings.HasPrefix(address, "[::1]") {
		t.Skipf("no IPv6 here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, listener, testIdentity) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("server ended with: %v", err)
		}
		if conn, err := net.Dial("tcp", listener.Addr().String()); err == nil {
			conn.Close()
			t.Error("the listener is still open after the end")
		}
	})
	return listener.Addr().String()
}

func TestServe(t *testing.T) {
	address := netip.MustParseAddrPort(start(t, "127.0.0.1:0"))
	tests := []struct {
		method, path string
		status       int
	}{
		{"GET", "/", 200},
		{"GET", "/healthz", 200},
		{"GET", "/other", 404},
		{"POST", "/", 405},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			status, _ := request(t, test.method, "http://"+address.String()+test.path)
			if status != test.status {
				t.Errorf("status is %d, want %d", status, test.status)
			}
		})
	}

	t.Run("field names", func(t *testing.T) {
		_, body := request(t, "GET", "http://"+address.String()+"/")
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		port, _ := got["remotePort"].(float64)
		if port == 0 {
			t.Errorf("no remotePort in %s", body)
		}
		want := map[string]any{
			"pod": "echo-server-7c9d", "node": "worker", "podIP": "10.245.2.76",
			"remoteAddress": "127.0.0.1", "remotePort": port,
			"localAddress": "127.0.0.1", "localPort": float64(address.Port()),
		}
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s is %v, want %v", name, got[name], want[name])
			}
		}
		if len(got) != len(want) {
			t.Errorf("answer is %s, want only %v", body, want)
		}
	})
}

func TestIdentityFromEnv(t *testing.T) {
	env := map[string]string{"POD_NAME": "echo-server-7c9d", "NODE_NAME": "worker", "POD_IP": "10.245.2.76"}
	getenv := func(name string) string { return env[name] }
	if got, err := IdentityFromEnv(getenv); err != nil || got != testIdentity {
		t.Errorf("identity is %+v, %v, want %+v", got, err, testIdentity)
	}
	env["POD_IP"] = "10.245.2"
	if got, err := IdentityFromEnv(getenv); err == nil {
		t.Errorf("identity is %+v, want an error about POD_IP", got)
	}
	clear(env)
	if got, err := IdentityFromEnv(getenv); err != nil || got != (traffic.Identity{}) {
		t.Errorf("identity without environment is %+v, %v, want none and no error", got, err)
	}
}

func request(t *testing.T, method, url string) (status int, body []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}
