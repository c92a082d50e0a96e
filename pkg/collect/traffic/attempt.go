package traffic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
)

// Attempt is one connection as the client, the kernel and the server saw it:
// one line of the output of "echo dial". An address that did not become known
// is the zero AddrPort, in JSON "". IPv4 addresses are never written in their
// IPv4-mapped IPv6 form.
type Attempt struct {
	// Sequence counts the attempts of one dial from 1.
	Sequence int `json:"sequence"`
	// Entry is the caller's name for the way in ("cluster-ip"); may be "".
	Entry string `json:"entry"`
	// Target is host:port as given.
	Target string `json:"target"`
	// DialedAddress is what was passed to connect(2), after name resolution.
	DialedAddress netip.AddrPort `json:"dialedAddress"`
	// LocalAddress is the client's end of the connection.
	LocalAddress netip.AddrPort `json:"localAddress"`
	// Peername is the answer of getpeername(2) for the connected socket. A
	// hook in the kernel may rewrite it.
	Peername netip.AddrPort `json:"peername"`
	// KernelRemote is the socket's remote address in /proc/net/tcp or tcp6.
	// It differs from DialedAddress where connect(2) itself was translated.
	KernelRemote netip.AddrPort `json:"kernelRemote"`
	// Backend is the server that answered.
	Backend Identity `json:"backend"`
	// SourceSeen is the client's address as the server saw it.
	SourceSeen netip.AddrPort `json:"sourceSeen"`
	// ConnectMicroseconds is how long connecting took to succeed or to fail,
	// without name resolution; 0 if it was not tried.
	ConnectMicroseconds int64 `json:"connectMicroseconds"`
	// Error is "" if everything above became known. An attempt that was
	// answered but whose socket could not be read has both Backend and Error.
	Error string `json:"error"`
}

// Identity names one server.
type Identity struct {
	Pod   string     `json:"pod"`
	Node  string     `json:"node"`
	PodIP netip.Addr `json:"podIP"`
}

// Parse decodes the whole output of one dial. A line that is not
// exactly one Attempt, or whose sequence number does not follow the one before,
// is an error that names the line. Output that ends early on a line boundary
// cannot be told from a shorter dial: compare the length with the count asked
// for.
func Parse(raw []byte) ([]Attempt, error) {
	var attempts []Attempt
	for line := range bytes.Lines(raw) {
		want := len(attempts) + 1
		a, err := parseAttempt(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %.200q", want, err, line)
		}
		if a.Sequence != want {
			return nil, fmt.Errorf("line %d: sequence is %d, want %d: lines are missing or out of order", want, a.Sequence, want)
		}
		attempts = append(attempts, a)
	}
	return attempts, nil
}

func parseAttempt(line []byte) (Attempt, error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	var a Attempt
	if err := decoder.Decode(&a); err != nil {
		return Attempt{}, fmt.Errorf("not an attempt: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return Attempt{}, fmt.Errorf("more than one value")
	}
	return a, nil
}
