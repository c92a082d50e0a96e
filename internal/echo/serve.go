package echo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"service-dataplane/pkg/collect/traffic"
)

const (
	// headerTimeout bounds a connection that sends no request.
	headerTimeout = 5 * time.Second
	// shutdownTimeout is shorter than the pod's termination grace period, so
	// that the server and not the kubelet ends it.
	shutdownTimeout = 3 * time.Second
)

// Answer is what the server says to GET /: who it is, and the two ends of the
// connection as its own socket has them.
type Answer struct {
	traffic.Identity
	RemoteAddress netip.Addr `json:"remoteAddress"`
	RemotePort    uint16     `json:"remotePort"`
	LocalAddress  netip.Addr `json:"localAddress"`
	LocalPort     uint16     `json:"localPort"`
}

// IdentityFromEnv reads POD_NAME, NODE_NAME and POD_IP, which the downward API
// sets. Outside a pod all three may be unset; a POD_IP that is not an address
// is an error.
func IdentityFromEnv(getenv func(string) string) (traffic.Identity, error) {
	self := traffic.Identity{Pod: getenv("POD_NAME"), Node: getenv("NODE_NAME")}
	if err := self.PodIP.UnmarshalText([]byte(getenv("POD_IP"))); err != nil {
		return traffic.Identity{}, fmt.Errorf("POD_IP: %w", err)
	}
	return self, nil
}

// Listen opens the server's listener on host:port.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	// Go listens with Multipath TCP where the kernel has it; the subject here
	// is plain TCP.
	config.SetMultipathTCP(false)
	return config.Listen(ctx, "tcp", address)
}

// Serve answers on the listener until ctx ends, then closes it and lets
// running requests finish. The error is nil after such an end, unless requests
// had to be cut off.
func Serve(ctx context.Context, listener net.Listener, self traffic.Identity) error {
	server := &http.Server{Handler: handler(self), ReadHeaderTimeout: headerTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	select {
	case err := <-served:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}

	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return errors.Join(
			fmt.Errorf("connections to %s cut off after %s: %w", listener.Addr(), shutdownTimeout, err),
			server.Close(),
		)
	}
	return nil
}

func handler(self traffic.Identity) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		answer, err := answerTo(r, self)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// A client that went away needs no answer.
		_ = json.NewEncoder(w).Encode(answer)
	})
	return mux
}

func answerTo(r *http.Request, self traffic.Identity) (Answer, error) {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return Answer{}, fmt.Errorf("remote address of the connection: %w", err)
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return Answer{}, errors.New("the connection has no local TCP address")
	}
	return Answer{
		Identity:      self,
		RemoteAddress: remote.Addr().Unmap(),
		RemotePort:    remote.Port(),
		LocalAddress:  local.AddrPort().Addr().Unmap(),
		LocalPort:     local.AddrPort().Port(),
	}, nil
}
