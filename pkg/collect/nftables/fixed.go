package nftables

import (
	"fmt"
	"slices"

	"service-dataplane/pkg/collect"
)

// How a packet is looked up in a map: by destination address, protocol and
// port; by the last two, at the addresses that take NodePorts; or at any
// address but the loopback's.
const (
	lookupService = "IP daddr . meta l4proto . th dport vmap "
	lookupListed  = "IP daddr @nodeport-ips meta l4proto . th dport vmap "
	lookupAny     = "IP daddr != * meta l4proto . th dport vmap "
)

// fixedChain is a chain that kube-proxy makes whatever Services there are.
type fixedChain struct {
	base   string
	shapes []shape
}

// fixedChains are those that setupNFTables in pkg/proxy/nftables/proxier.go of
// Kubernetes 1.35 makes, with every rule that it may put there.
func fixedChains() map[string]fixedChain {
	chain := func(base string, rules ...string) fixedChain {
		c := fixedChain{base: base}
		for _, words := range rules {
			c.shapes = append(c.shapes, shape{words: words})
		}
		return c
	}
	const (
		firewall  = "ct state new jump firewall-check"
		services  = "ct state new jump service-endpoints-check"
		nodePorts = "ct state new jump nodeport-endpoints-check"
		unused    = "ct state new jump cluster-ips-check"
	)
	return map[string]fixedChain{
		"filter-prerouting-pre-dnat": chain("filter prerouting accept", firewall),
		"filter-output-pre-dnat":     chain("filter output accept", firewall),
		"filter-input":               chain("filter input accept", nodePorts, services),
		"filter-forward":             chain("filter forward accept", services, unused),
		"filter-output":              chain("filter output accept", services, unused),
		"nat-prerouting":             chain("nat prerouting accept", "jump services"),
		"nat-output":                 chain("nat output accept", "jump services"),
		"nat-postrouting":            chain("nat postrouting accept", "jump masquerading"),

		"services": chain("",
			lookupService+"@service-ips",
			lookupListed+"@service-nodeports",
			"fib daddr type local "+lookupAny+"@service-nodeports"),
		"service-endpoints-check": chain("", lookupService+"@no-endpoint-services"),
		"nodeport-endpoints-check": chain("",
			lookupListed+"@no-endpoint-nodeports",
			lookupAny+"@no-endpoint-nodeports"),
		"firewall-check":    chain("", lookupService+"@firewall-ips"),
		"cluster-ips-check": chain("", "IP daddr @cluster-ips reject", "IP daddr * drop"),
		"reject-chain":      chain("", "reject"),

		"mark-for-masquerade": chain("", "meta mark set meta mark | *"),
		"masquerading": chain("",
			"meta mark & * == * return",
			"meta mark set meta mark ^ *",
			"masquerade fully-random"),
	}
}

// knownSets are the sets and maps that kube-proxy makes.
func knownSets() []string {
	return []string{
		"cluster-ips", "nodeport-ips", "service-ips", "service-nodeports",
		"no-endpoint-services", "no-endpoint-nodeports", "firewall-ips",
	}
}

// checkReached reports a map that has elements and that packets do not get to,
// because a rule is missing that leads there.
func (d *decoder) checkReached() {
	for _, way := range []struct{ mapName, chain, to string }{
		{"service-ips", "nat-prerouting", "services"},
		{"service-ips", "nat-output", "services"},
		{"service-ips", "services", "@service-ips"},
		{"service-nodeports", "nat-prerouting", "services"},
		{"service-nodeports", "nat-output", "services"},
		{"service-nodeports", "services", "@service-nodeports"},
		{"no-endpoint-services", "filter-input", "service-endpoints-check"},
		{"no-endpoint-services", "filter-forward", "service-endpoints-check"},
		{"no-endpoint-services", "filter-output", "service-endpoints-check"},
		{"no-endpoint-services", "service-endpoints-check", "@no-endpoint-services"},
		{"no-endpoint-nodeports", "filter-input", "nodeport-endpoints-check"},
		{"no-endpoint-nodeports", "nodeport-endpoints-check", "@no-endpoint-nodeports"},
		{"firewall-ips", "filter-prerouting-pre-dnat", "firewall-check"},
		{"firewall-ips", "filter-output-pre-dnat", "firewall-check"},
		{"firewall-ips", "firewall-check", "@firewall-ips"},
	} {
		if len(d.elements(way.mapName)) > 0 && !d.leads(way.chain, way.to) {
			d.skip(source{text: collect.Line{
				Number: d.src.line().Number,
				Text: fmt.Sprintf("%v: no rule of chain %s leads to %s, so map %s is not looked up",
					d.table, way.chain, way.to, way.mapName),
			}})
		}
	}
}

// leads says whether a rule of a chain ends in the name of a chain or map.
func (d *decoder) leads(chain, to string) bool {
	c := d.chainNamed[chain]
	return c != nil && slices.ContainsFunc(c.rules, func(r rule) bool {
		w := words(r.text)
		return len(w) > 0 && w[len(w)-1] == to
	})
}
