package evidence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/conntrack"
	"service-dataplane/pkg/collect/iptables"
	"service-dataplane/pkg/collect/ipvs"
	"service-dataplane/pkg/collect/nftables"
)

// TableFiles are the raw files that an encoding of a node is read from.
func TableFiles(role, encoding string) []string {
	var commands []collect.Command
	switch encoding {
	case "iptables":
		commands = iptables.Commands()
	case "nftables":
		commands = nftables.Commands()
	case "ipvs":
		return []string{
			onNode(role, ipvs.ServicesFile), onNode(role, ipvs.IPSetFile), onNode(role, ipvs.DummyFile), onNode(role, ipvs.TimerListFile),
		}
	case cilium.Encoding:
		return []string{onNode(role, cilium.LBFile), onNode(role, cilium.FrontendsFile), onNode(role, cilium.StatusFile)}
	case cilium.AgentEncoding:
		return []string{onNode(role, cilium.ServicesFile)}
	case calico.Encoding:
		return []string{onNode(role, calico.NATFile), onNode(role, calico.NATTextFile), onNode(role, calico.AffinityFile)}
	}
	var files []string
	for _, c := range commands {
		files = append(files, onNode(role, c.File))
	}
	return files
}

func (s *source) kernel(role string, service collect.Service) collect.NodeState {
	state := collect.NodeState{Node: role}
	for _, encoding := range []string{"iptables", "nftables", "ipvs"} {
		for _, file := range TableFiles(role, encoding) {
			s.optional(file) // also those that nothing below reads
		}
	}
	s.optional(onNode(role, ipvs.StatsFile))
	state.LiveIptables = bothFamilies(s.iptables(role, "iptables", &state), s.iptables(role, "ip6tables", &state))
	s.nftables(role, &state)
	s.ipvs(role, &state)
	if s.cilium {
		s.ciliumTables(role, &state)
	}
	if s.calico {
		s.calicoTable(role, &state)
	}
	if s.refusal {
		state.Translations = []collect.Translation{}
		return state
	}
	state.Translations = s.translations(role, service)
	state.Scheduled = s.scheduled(role, service)
	s.captured(onNode(role, conntrack.StatsFile))
	return state
}

// iptables decodes both dumps of one family, the live one first, and says
// which that is; "" where it cannot.
func (s *source) iptables(role, family string, state *collect.NodeState) string {
	counted := map[string]iptables.Counts{}
	var tables []collect.NodeTable
	for _, variant := range []string{iptables.LiveNFT, iptables.LiveLegacy} {
		file := onNode(role, fmt.Sprintf("%s-%s-save.txt", family, variant))
		raw, ok := s.optional(file)
		if !ok {
			continue
		}
		table, counts, err := iptables.Read(raw)
		if err != nil {
			s.problem(file, "%v", err)
			continue
		}
		counted[variant] = counts
		tables = append(tables, collect.NodeTable{File: file, ServiceTable: table})
		if counts.ServiceRules() > 0 {
			first := cmp.Or(counts.Frontends.First, counts.Services.First, counts.Backends.First)
			state.IptablesRules = append(state.IptablesRules, collect.Observation{
				Value: fmt.Sprintf("%d rules for Services", counts.ServiceRules()),
				Ref:   collect.Ref{File: file, Line: first},
			})
		}
	}
	live := ""
	if len(counted) == 2 {
		live = iptables.LiveOf(counted[iptables.LiveLegacy], counted[iptables.LiveNFT])
	}
	if live == iptables.LiveLegacy {
		slices.Reverse(tables)
	}
	state.Tables = append(state.Tables, tables...)
	return live
}

// bothFamilies says which back end holds rules, of IPv4 or of IPv6.
func bothFamilies(ipv4, ipv6 string) string {
	switch {
	case ipv4 == "" || ipv6 == "":
		return ""
	case ipv4 == iptables.LiveNone:
		return ipv6
	case ipv6 == iptables.LiveNone || ipv4 == ipv6:
		return ipv4
	}
	return iptables.LiveBoth
}

// nftables prefers the JSON form; the text is there for people, and for nodes
// whose nft knows no JSON.
func (s *source) nftables(role string, state *collect.NodeState) {
	for _, file := range TableFiles(role, "nftables") {
		raw, ok := s.optional(file)
		if !ok || s.records[file].Outcome == collect.NotThere {
			continue
		}
		table, err := nftables.Decode(raw)
		if err != nil {
			s.problem(file, "%v", err)
			continue
		}
		state.Tables = append(state.Tables, collect.NodeTable{File: file, ServiceTable: table})
		return
	}
}

// ipvs needs the virtual services; the other files only explain them. A kernel
// without IPVS has none.
func (s *source) ipvs(role string, state *collect.NodeState) {
	file := onNode(role, ipvs.ServicesFile)
	services, ok := s.optional(file)
	raw := ipvs.Raw{IPVS: services}
	raw.IPSet, _ = s.optional(onNode(role, ipvs.IPSetFile))
	raw.DummyAddrs, _ = s.optional(onNode(role, ipvs.DummyFile))
	raw.TimerList, _ = s.optional(onNode(role, ipvs.TimerListFile))
	if !ok {
		return
	}
	table, err := collect.ServiceTable{Encoding: "ipvs", Frontends: []collect.Frontend{}}, error(nil)
	if s.records[file].Outcome == collect.Captured {
		table, err = ipvs.Decode(raw)
	}
	if err != nil {
		s.problem(file, "%v", err)
		return
	}
	state.Tables = append(state.Tables, collect.NodeTable{File: file, ServiceTable: table})
}

// addresses reads the output of "ip -j addr show": every address of every
// interface, sorted, each once.
func (s *source) addresses(role string) []netip.Addr {
	file := onNode(role, AddressesFile)
	addresses := []netip.Addr{}
	raw, ok := s.captured(file)
	if !ok {
		return addresses
	}
	var interfaces []struct {
		Addresses []struct {
			Local netip.Addr `json:"local"`
		} `json:"addr_info"`
	}
	if err := json.Unmarshal(raw, &interfaces); err != nil {
		s.problem(file, "%v", err)
		return addresses
	}
	for _, i := range interfaces {
		for _, a := range i.Addresses {
			if a.Local.IsValid() {
				addresses = append(addresses, a.Local)
			}
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return slices.Compact(addresses)
}
