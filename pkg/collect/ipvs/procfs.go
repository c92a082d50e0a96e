package ipvs

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// VirtualService is a row of /proc/net/ip_vs that does not begin with "->".
type VirtualService struct {
	// Protocol as printed: "TCP", "UDP", "SCTP", another protocol's name, or
	// FirewallMark.
	Protocol string
	// Hex is the address and port, or the mark, as printed.
	Hex string
	// Address is Hex decoded; the zero AddrPort for a firewall mark.
	Address netip.AddrPort
	// Scheduler is the module's name without "ip_vs_"; "none" without one.
	Scheduler string
	// OnePacket: every UDP packet is scheduled anew ("ops").
	OnePacket bool
	// PersistentTicks is the timeout of session affinity; 0 is none. The
	// kernel prints it in ticks of its own clock, where ipvsadm divides by the
	// tick rate and shows seconds.
	PersistentTicks int
	// UnknownFlags are words after the scheduler that no kernel known here
	// prints.
	UnknownFlags []string
	RealServers  []RealServer
	Line         collect.Line
}

// FirewallMark is the Protocol of a virtual service that matches a mark instead
// of an address. kube-proxy makes none.
const FirewallMark = "FWM"

// RealServer is a row that begins with "->".
type RealServer struct {
	// Hex is the address and port as printed.
	Hex     string
	Address netip.AddrPort
	// Forward is how packets get there: ForwardMasq, "Local", "Tunnel",
	// "Route" or a name unknown here.
	Forward string
	// Weight 0 takes no new connections.
	Weight int
	// ActiveConns and InactiveConns count the connections in the table now.
	ActiveConns, InactiveConns int
	Line                       collect.Line
}

// ForwardMasq is the only forwarding method that rewrites the destination, and
// the only one that kube-proxy asks for.
const ForwardMasq = "Masq"

// Headings below the version line.
const (
	serviceHeading = "Prot LocalAddress:Port Scheduler Flags"
	serverHeading  = "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn"
)

// Services parses /proc/net/ip_vs (ip_vs_info_seq_show in the kernel's
// net/netfilter/ipvs/ip_vs_ctl.c) in the order of the file. An error names the
// line whose form the kernel does not print.
func Services(raw []byte) ([]VirtualService, error) {
	if _, _, err := Kernel(raw); err != nil {
		return nil, err
	}
	// Room for all: the rows of a virtual service's real servers follow it, so that
	// one list serves all of them.
	rows, arrows := bytes.Count(raw, []byte("\n")), bytes.Count(raw, []byte("\n  ->"))
	services, servers, first := make([]VirtualService, 0, 1+rows-arrows), make([]RealServer, 0, arrows), 0
	for line := range lines(raw) {
		if line.Number == 1 || line.Text == serviceHeading || line.Text == serverHeading {
			continue
		}
		fields := strings.Fields(line.Text)
		if len(fields) > 0 && fields[0] == "->" {
			server, err := parseServer(fields)
			if err != nil {
				return nil, lineError(ServicesFile, line, err)
			}
			if len(services) == 0 {
				return nil, lineError(ServicesFile, line, errors.New("a real server above every virtual service"))
			}
			server.Line = line
			servers = append(servers, server)
			services[len(services)-1].RealServers = servers[first:len(servers):len(servers)]
			continue
		}
		service, err := parseService(fields)
		if err != nil {
			return nil, lineError(ServicesFile, line, err)
		}
		service.Line = line
		services, first = append(services, service), len(servers)
	}
	return services, nil
}

// Kernel reads the first line of /proc/net/ip_vs: IPVS's own version ("1.2.1")
// and the size of its connection table.
func Kernel(raw []byte) (version, tableSize string, err error) {
	first, _, _ := bytes.Cut(raw, []byte("\n"))
	form := regexp.MustCompile(`^IP Virtual Server version (\d+\.\d+\.\d+) \(size=(\d+)\)$`)
	m := form.FindSubmatch(first)
	if m == nil {
		return "", "", lineError(ServicesFile, collect.Line{Number: 1, Text: string(first)},
			errors.New("not the version line of /proc/net/ip_vs"))
	}
	return string(m[1]), string(m[2]), nil
}

func parseService(fields []string) (VirtualService, error) {
	if len(fields) < 3 {
		return VirtualService{}, errors.New("neither a virtual service nor a real server")
	}
	service := VirtualService{Protocol: fields[0], Hex: fields[1], Scheduler: fields[2]}
	var err error
	if service.Protocol == FirewallMark {
		_, err = strconv.ParseUint(service.Hex, 16, 32)
	} else {
		service.Address, err = parseAddress(service.Hex)
	}
	if err != nil {
		return VirtualService{}, err
	}
	for flags := fields[3:]; len(flags) > 0; {
		switch flags[0] {
		case "ops":
			service.OnePacket = true
			flags = flags[1:]
		case "persistent":
			if len(flags) < 3 {
				return VirtualService{}, errors.New(`"persistent" without timeout and netmask`)
			}
			if service.PersistentTicks, err = parseCount(flags[1]); err != nil {
				return VirtualService{}, fmt.Errorf("persistence timeout: %w", err)
			}
			flags = flags[3:]
		default:
			service.UnknownFlags = append(service.UnknownFlags, flags[0])
			flags = flags[1:]
		}
	}
	return service, nil
}

func parseServer(fields []string) (RealServer, error) {
	if len(fields) != 6 {
		return RealServer{}, fmt.Errorf("a real server of %d columns, not 6", len(fields))
	}
	server := RealServer{Hex: fields[1], Forward: fields[2]}
	var err error
	if server.Address, err = parseAddress(server.Hex); err != nil {
		return RealServer{}, err
	}
	for i, column := range []*int{&server.Weight, &server.ActiveConns, &server.InactiveConns} {
		if *column, err = parseCount(fields[3+i]); err != nil {
			return RealServer{}, err
		}
	}
	return server, nil
}

// parseAddress reads "0A600001:01BB" and "[2001:0db8:…:0001]:0050": port and
// IPv4 address are hex digits in network order.
func parseAddress(text string) (netip.AddrPort, error) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return netip.AddrPort{}, fmt.Errorf("address %q: want a port of four hex digits", text)
	}
	port, err := parsePort(text[colon+1:])
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("address %q: %w", text, err)
	}
	host := text[:colon]
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		address, err := netip.ParseAddr(inner)
		if !ok || err != nil || !address.Is6() || address.Zone() != "" {
			return netip.AddrPort{}, fmt.Errorf("address %q: not an IPv6 address in brackets", text)
		}
		return netip.AddrPortFrom(address, port), nil
	}
	address, err := parseIPv4(host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("address %q: %w", text, err)
	}
	return netip.AddrPortFrom(address, port), nil
}

// parseIPv4 reads eight hex digits in network order.
func parseIPv4(text string) (netip.Addr, error) {
	octets, err := hex.DecodeString(text)
	if err != nil || len(octets) != 4 {
		return netip.Addr{}, errors.New("want eight hex digits")
	}
	return netip.AddrFrom4([4]byte(octets)), nil
}

// parsePort reads four hex digits.
func parsePort(text string) (uint16, error) {
	if len(text) != 4 {
		return 0, errors.New("want a port of four hex digits")
	}
	port, err := strconv.ParseUint(text, 16, 16)
	return uint16(port), err
}

// parseCount reads what the kernel prints with %d and never makes negative.
func parseCount(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

// lines yields the lines of a file, numbered from 1.
func lines(raw []byte) iter.Seq[collect.Line] {
	return func(yield func(collect.Line) bool) {
		number := 0
		for text := range strings.Lines(string(raw)) {
			number++
			if !yield(collect.Line{Number: number, Text: strings.TrimSuffix(text, "\n")}) {
				return
			}
		}
	}
}

func lineError(file string, line collect.Line, err error) error {
	return fmt.Errorf("%s line %d: %q: %w", file, line.Number, line.Text, err)
}
