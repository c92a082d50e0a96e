package report

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/ipvs"
)

// ipvsPath finds the frontends' virtual services by their lines and says what
// the hexadecimal addresses are.
func ipvsPath(lines []collect.Line, frontends []collect.Frontend) []stage {
	var data strings.Builder
	for _, l := range lines {
		data.WriteString(l.Text + "\n")
	}
	services, err := ipvs.Services([]byte(data.String()))
	if err != nil {
		return nil // the decoder has said so
	}
	row := func(l collect.Line, to netip.AddrPort) quoted {
		q := quoted{Line: l, note: to.String(), key: l.Text}
		// The last two columns count connections.
		if fields := strings.Fields(l.Text); fields[0] == "->" {
			q.key = strings.Join(fields[:len(fields)-2], " ")
		}
		return q
	}
	var rows, idle []quoted
	for _, service := range services {
		if !slices.ContainsFunc(frontends, func(f collect.Frontend) bool { return f.Line.Number == service.Line.Number }) {
			continue
		}
		rows = append(rows, row(service.Line, service.Address))
		for _, server := range service.RealServers {
			to := row(server.Line, server.Address)
			if server.Weight == 0 {
				to.note += " behind " + service.Address.String()
				idle = append(idle, to)
			} else {
				rows = append(rows, to)
			}
		}
	}
	return []stage{
		{what: "Match, choose and translate: one virtual service a frontend, below it its backends. The address and port are hexadecimal, decoded at the right; after them the scheduler, and for a backend how it is reached, its weight and its connections.", lines: rows},
		{what: "Take no new connections: real servers of weight 0. kube-proxy leaves an endpoint that is gone at that weight until its last connection ends.", lines: idle},
	}
}

// ipsetPath finds the set members that iptables asks whom to masquerade.
func ipsetPath(lines []collect.Line, frontends []collect.Frontend) []stage {
	var members []collect.Line
	for _, l := range lines {
		fields := strings.Fields(l.Text)
		if len(fields) < 3 || fields[0] != "add" {
			continue
		}
		if slices.ContainsFunc(frontends, func(f collect.Frontend) bool {
			if f.Kind == collect.NodePort {
				return strings.HasPrefix(fields[1], "KUBE-NODE-PORT") && fields[2] == fmt.Sprint(f.Port)
			}
			return fields[2] == fmt.Sprintf("%s,%s:%d", f.Address, strings.ToLower(f.Protocol), f.Port)
		}) {
			members = append(members, l)
		}
	}
	return []stage{{what: "Masquerade: iptables rules ask these sets whether a connection is to be marked.", lines: quote(members...)}}
}

// masqueradeRules are the rules of iptables that ask the sets, and what becomes of
// the connections they mark.
func masqueradeRules(lines []collect.Line, _ []collect.Frontend) []stage {
	var rules []quoted
	for _, r := range natRules(lines) {
		asks := strings.Contains(r.line.Text, " --match-set KUBE-") && r.target == markChain
		if asks || r.chain == markChain || r.chain == postroutingChain || r.target == postroutingChain {
			rules = append(rules, quote(r.line)...)
		}
	}
	return []stage{{what: "These rules ask them; what carries the mark leaves with an address of the node.", lines: rules}}
}
