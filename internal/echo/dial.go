package echo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"service-dataplane/pkg/collect/traffic"
)

// maxAnswer bounds the body read from whoever answers, in bytes.
const maxAnswer = 64 << 10

// Plan is one dial: Count new connections to one target, one after another.
type Plan struct {
	// Target is host:port; the port is a number.
	Target string
	// Entry is copied into every Attempt.
	Entry string
	// Count of attempts, at least 1.
	Count int
	// Timeout bounds one attempt: resolving, connecting and the answer.
	Timeout time.Duration
}

// Validate says what cannot be dialled.
func (p Plan) Validate() error {
	if _, _, err := splitTarget(p.Target); err != nil {
		return err
	}
	if p.Count < 1 {
		return fmt.Errorf("count is %d, want at least 1", p.Count)
	}
	if p.Timeout <= 0 {
		return fmt.Errorf("timeout is %s, want more than 0", p.Timeout)
	}
	return nil
}

// Run writes one attempt a line, as each ends. A failed attempt is a line like
// any other; an error means that lines are missing: ctx ended, or out could not
// be written.
func (p Plan) Run(ctx context.Context, out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for sequence := 1; sequence <= p.Count; sequence++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped before attempt %d of %d: %w", sequence, p.Count, err)
		}
		if err := encoder.Encode(p.attempt(ctx, sequence)); err != nil {
			return fmt.Errorf("write attempt %d of %d: %w", sequence, p.Count, err)
		}
	}
	return nil
}

func (p Plan) attempt(ctx context.Context, sequence int) traffic.Attempt {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	a := traffic.Attempt{Sequence: sequence, Entry: p.Entry, Target: p.Target}
	if err := connect(ctx, &a); err != nil {
		a.Error = err.Error()
	}
	return a
}

// connect connects and asks once, and fills in what becomes known on the way.
func connect(ctx context.Context, a *traffic.Attempt) error {
	var err error
	a.DialedAddress, err = resolve(ctx, a.Target)
	if err != nil {
		return err
	}

	// Keep-alive probes would be traffic of our own on the connection.
	dialer := net.Dialer{KeepAlive: -1}
	start := time.Now()
	conn, err := dialer.DialContext(ctx, "tcp", a.DialedAddress.String())
	a.ConnectMicroseconds = time.Since(start).Microseconds()
	if err != nil {
		return err
	}
	defer conn.Close()
	// One way out of a blocked read for the deadline and for an interrupt.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	// The request is sent even if the socket cannot be read: which backend
	// answers is worth knowing in any case.
	return errors.Join(observe(a, conn.(*net.TCPConn)), ask(ctx, a, conn))
}

// observe reads both ends of the open connection from the kernel.
func observe(a *traffic.Attempt, conn *net.TCPConn) error {
	a.LocalAddress = unmap(conn.LocalAddr().(*net.TCPAddr).AddrPort())
	s, err := socketOf(conn)
	if err != nil {
		return err
	}
	a.Peername = s.peername
	a.KernelRemote, err = s.kernelRemote()
	return err
}

// ask sends one HTTP request over conn and reads the server's answer.
func ask(ctx context.Context, a *traffic.Attempt, conn net.Conn) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.Target+"/", nil)
	if err != nil {
		return err
	}
	request.Close = true
	if err := request.Write(conn); err != nil {
		return fmt.Errorf("send the request: %w", err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return fmt.Errorf("wait for the answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %q, want 200", response.Status)
	}
	var answer Answer
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer); err != nil {
		return fmt.Errorf("the answer is not an echo server's: %w", err)
	}
	if !answer.RemoteAddress.IsValid() {
		return errors.New("the answer is not an echo server's: it names no remoteAddress")
	}
	a.Backend = answer.Identity
	a.SourceSeen = netip.AddrPortFrom(answer.RemoteAddress, answer.RemotePort)
	return nil
}

// resolve gives the first address of the target. Every attempt resolves anew:
// a name may change between two of them.
func resolve(ctx context.Context, target string) (netip.AddrPort, error) {
	host, port, err := splitTarget(target)
	if err != nil {
		return netip.AddrPort{}, err
	}
	resolver := net.Resolver{PreferGo: true}
	addresses, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.AddrPortFrom(addresses[0].Unmap(), port), nil
}

func splitTarget(target string) (host string, port uint16, err error) {
	host, service, err := net.SplitHostPort(target)
	if err != nil {
		return "", 0, fmt.Errorf("target %q: want host:port", target)
	}
	number, err := strconv.ParseUint(service, 10, 16)
	if host == "" || err != nil || number == 0 {
		return "", 0, fmt.Errorf("target %q: want host:port with a port from 1 to 65535", target)
	}
	return host, uint16(number), nil
}

func unmap(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
