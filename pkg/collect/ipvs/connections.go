package ipvs

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// Connection is a row of /proc/net/ip_vs_conn: a connection that was given a
// real server. A closed one stays until it expires, of TCP 2 minutes in
// TIME_WAIT.
type Connection struct {
	// Protocol as printed: "TCP", "UDP", "SCTP" or another protocol's name.
	Protocol string
	// Client is the source of the first packet as IPVS met it: masquerade on the
	// same node comes later. Port 0 is that of a template, which session affinity
	// keeps for all connections of a client.
	Client netip.AddrPort
	// Virtual is the virtual service that was dialled, Server the real one.
	Virtual, Server netip.AddrPort
	// State is the protocol's own ("ESTABLISHED", "TIME_WAIT"), of a template
	// "NONE" or "ASSURED".
	State string
	// ExpiresSeconds until the row goes, unless a packet comes.
	ExpiresSeconds uint32
	Line           collect.Line
}

// connectionHeading is the first line of the file. The last two columns are
// there for a persistence engine alone; kube-proxy asks for none.
const connectionHeading = "Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData"

// Connections parses /proc/net/ip_vs_conn (ip_vs_conn_seq_show in the kernel's
// net/netfilter/ipvs/ip_vs_conn.c) in the order of the file, which a hash
// decides. Addresses are hex digits in network order, those of IPv6 in groups
// with colons and, unlike in /proc/net/ip_vs, without brackets. An error names
// the line whose form the kernel does not print.
func Connections(raw []byte) ([]Connection, error) {
	if first, _, _ := bytes.Cut(raw, []byte("\n")); string(first) != connectionHeading {
		return nil, lineError(ConnectionsFile, collect.Line{Number: 1, Text: string(first)},
			errors.New("not the heading of /proc/net/ip_vs_conn"))
	}
	var connections []Connection
	for line := range lines(raw) {
		if line.Number == 1 {
			continue
		}
		connection, err := parseConnection(strings.Fields(line.Text))
		if err != nil {
			return nil, lineError(ConnectionsFile, line, err)
		}
		connection.Line = line
		connections = append(connections, connection)
	}
	return connections, nil
}

func parseConnection(fields []string) (Connection, error) {
	if len(fields) < 9 {
		return Connection{}, fmt.Errorf("a connection of %d columns, not 9", len(fields))
	}
	connection := Connection{Protocol: fields[0], State: fields[7]}
	for i, end := range []*netip.AddrPort{&connection.Client, &connection.Virtual, &connection.Server} {
		address, err := parseBareAddress(fields[1+2*i])
		if err != nil {
			return Connection{}, err
		}
		port, err := parsePort(fields[2+2*i])
		if err != nil {
			return Connection{}, fmt.Errorf("port %q: %w", fields[2+2*i], err)
		}
		*end = netip.AddrPortFrom(address, port)
	}
	seconds, err := strconv.ParseUint(fields[8], 10, 32)
	if err != nil {
		return Connection{}, fmt.Errorf("expires: %w", err)
	}
	connection.ExpiresSeconds = uint32(seconds)
	return connection, nil
}

// parseBareAddress reads "0A600001" and "2001:0db8:…:0001".
func parseBareAddress(text string) (netip.Addr, error) {
	if !strings.Contains(text, ":") {
		address, err := parseIPv4(text)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("address %q: %w", text, err)
		}
		return address, nil
	}
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("address %q: not an IPv6 address", text)
	}
	return address, nil
}
