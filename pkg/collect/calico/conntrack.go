package calico

import (
	"fmt"
	"net/netip"
	"strings"

	"service-dataplane/pkg/collect"
)

// Types of a flow.
const (
	// FlowNormal is a connection that no NAT map translated on this node. Where
	// connect() did, its first packet has the backend's address already.
	FlowNormal = "normal"
	// FlowNAT is a connection to a frontend. The file tells it by its reverse
	// entry; the forward entry, which says the same, is left out of it.
	FlowNAT = "nat"
)

// Flow is one connection of Calico's own connection tracking. The kernel's has
// none for it.
type Flow struct {
	// Type is FlowNormal or FlowNAT.
	Type string
	// Protocol is "TCP", "UDP", "ICMP", "ICMP6" or, for all others, SCTP too,
	// "UNKNOWN".
	Protocol string
	// Source has sent the first packet. Its port is the one the backend sees.
	Source netip.AddrPort
	// OriginalPort is the source port before it was changed because the port was
	// taken (flag "host-psnat"); else 0.
	OriginalPort uint16
	// Service is the address that was dialled, where the flow is a FlowNAT.
	Service netip.AddrPort
	// Destination is the backend or, in a FlowNormal, whatever was dialled.
	Destination netip.AddrPort
	// Tunnel is the other node of a connection that entered the cluster on one
	// node and has its backend on another: the backend's on the first (flag
	// "np-fwd"), the first on the backend's ("ext-local"). Else it is the zero Addr.
	Tunnel netip.Addr
	// Flags in the order of felix/bpf/conntrack/v4/map.go, FlagNames.
	Flags []string
	// State is "SYN-SENT", "ESTABLISHED", "RESET" or "CLOSED"; "" but for TCP.
	State string
	Line  collect.Line
}

// flowJSON is an element of the file.
type flowJSON struct {
	Type     string   `json:"type"`
	Protocol string   `json:"proto"`
	Source   string   `json:"src"`
	Backend  string   `json:"dst"`
	Service  string   `json:"orig_dst"`
	Tunnel   string   `json:"tunnel_ip"`
	Port     uint16   `json:"orig_src_port"`
	Flags    []string `json:"flags"`
	State    string   `json:"tcp_state"`
}

// DecodeConntrack reads the output of `calico-node -bpf conntrack dump --json`
// (Calico v3.31.7, felix/cmd/calico-bpf/commands/conntrack.go, ctConnectionJSON).
// null is no flows. An error names the line; --raw prints another form and is one.
func DecodeConntrack(raw []byte) ([]Flow, error) {
	whole, err := parseJSON(ConntrackFile, raw)
	if err != nil {
		return nil, err
	}
	elements, err := whole.ElementsOrNull()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ConntrackFile, err)
	}
	var flows []Flow
	for _, element := range elements {
		var f flowJSON
		err := element.Decode(&f)
		var flow Flow
		if err == nil {
			flow, err = f.flow()
			if err != nil {
				err = element.Errorf("%w", err)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ConntrackFile, err)
		}
		flow.Line = collect.Line{Number: element.LineOf("src"), Text: f.String()}
		flows = append(flows, flow)
	}
	return flows, nil
}

func (f flowJSON) flow() (Flow, error) {
	flow := Flow{Type: f.Type, Protocol: f.Protocol, OriginalPort: f.Port, Flags: f.Flags, State: f.State}
	switch {
	case f.Type != FlowNormal && f.Type != FlowNAT:
		return Flow{}, fmt.Errorf("type %q is not known", f.Type)
	case (f.Type == FlowNAT) != (f.Service != ""):
		return Flow{}, fmt.Errorf("type %q and orig_dst %q do not fit", f.Type, f.Service)
	case f.Protocol == "":
		return Flow{}, fmt.Errorf("no proto")
	}
	var err error
	if flow.Source, err = parseAddrPort(f.Source); err != nil {
		return Flow{}, fmt.Errorf("src: %w", err)
	}
	if flow.Destination, err = parseAddrPort(f.Backend); err != nil {
		return Flow{}, fmt.Errorf("dst: %w", err)
	}
	if f.Service != "" {
		if flow.Service, err = parseAddrPort(f.Service); err != nil {
			return Flow{}, fmt.Errorf("orig_dst: %w", err)
		}
	}
	if f.Tunnel != "" {
		if flow.Tunnel, err = parseAddr(f.Tunnel); err != nil {
			return Flow{}, fmt.Errorf("tunnel_ip: %w", err)
		}
	}
	return flow, nil
}

// String is the text form's row, without the time since the last packet.
func (f flowJSON) String() string {
	words := []string{f.Protocol, f.Source, "->"}
	if f.Service != "" {
		words = append(words, f.Service, "->")
	}
	words = append(words, f.Backend)
	if f.Tunnel != "" {
		words = append(words, "external client, service forwarded to/from", f.Tunnel)
	}
	if f.Port != 0 {
		words = append(words, fmt.Sprintf("source port changed from %d", f.Port))
	}
	if f.State != "" {
		words = append(words, f.State)
	}
	return strings.Join(words, " ")
}
