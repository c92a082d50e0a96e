package nftables

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// Decode reads the output of "nft -j list ruleset" or of "nft list ruleset",
// whichever it is, into a service table. It reads the tables ip kube-proxy and
// ip6 kube-proxy as kube-proxy of Kubernetes 1.35 writes them; a ruleset that
// has neither gives a table without frontends. An error names the line, or the
// byte, from which on the listing is broken.
//
// Whatever else these two tables hold goes to Unparsed. So does, in words of
// this package, a rule that is missing and without which the kernel never
// looks into a map that has elements.
//
// What the kernel state says, and what it does not:
//
//   - A ClusterIP leads straight to a service-… or local-… chain, everything
//     else through external-…. Without endpoints there is no chain: then an
//     address in the set cluster-ips is a ClusterIP, which is wrong for an
//     external IP equal to some other Service's ClusterIP.
//   - An external IP and a load balancer's IP are programmed alike. Only one
//     that is also in firewall-ips (loadBalancerSourceRanges) is certainly
//     LoadBalancer; the rest are called ExternalIP.
//   - Backends of a frontend with policy local are those a connection from
//     outside gets. Pods and the node itself get any endpoint of the Service,
//     and the node's own connections are marked for masquerade.
//   - "drop" is what policy Local without an endpoint on this node gives, so
//     such a frontend has policy local; "reject", what a Service without
//     endpoints gives, leaves the policy unknown.
func Decode(raw []byte) (collect.ServiceTable, error) {
	if isJSON(raw) {
		return DecodeJSON(raw)
	}
	return DecodeText(raw)
}

// DecodeJSON is Decode for the JSON form. There are no lines in it: the Line
// of a frontend or backend holds the JSON it was read from.
func DecodeJSON(raw []byte) (collect.ServiceTable, error) {
	r, err := readJSON(raw)
	if err != nil {
		return collect.ServiceTable{}, err
	}
	return decode(r), nil
}

// DecodeText is Decode for the text form. An empty ruleset is no text at all.
func DecodeText(raw []byte) (collect.ServiceTable, error) {
	r, err := readText(raw)
	if err != nil {
		return collect.ServiceTable{}, err
	}
	return decode(r), nil
}

func isJSON(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

func decode(r ruleset) collect.ServiceTable {
	out := collect.ServiceTable{Encoding: "nftables", Frontends: []collect.Frontend{}}
	for _, family := range []string{"ip", "ip6"} {
		if t := r.find(family, "kube-proxy"); t != nil {
			out.Frontends = append(out.Frontends, t.decode()...)
			out.Unparsed = append(out.Unparsed, t.unparsed...)
		}
	}
	// One rule may fail more than one frontend.
	seen := map[collect.Line]bool{}
	out.Unparsed = slices.DeleteFunc(out.Unparsed, func(l collect.Line) bool {
		again := seen[l]
		seen[l] = true
		return again
	})
	slices.SortStableFunc(out.Unparsed, func(a, b collect.Line) int { return cmp.Compare(a.Number, b.Number) })
	out.Sort()
	return out
}

// decoder reads one table: every chain by itself, then the maps that lead from
// addresses to chains.
type decoder struct {
	*table
	policies  map[string]policyChain
	externals map[string]externalChain
	endpoints map[string]endpointChain

	frontends []collect.Frontend
	index     map[frontendKey]int // into frontends
}

func (t *table) decode() []collect.Frontend {
	d := decoder{
		table:     t,
		policies:  map[string]policyChain{},
		externals: map[string]externalChain{},
		endpoints: map[string]endpointChain{},
		index:     map[frontendKey]int{},
	}
	fixed := fixedChains()
	for _, c := range t.chains {
		d.chain(c, fixed)
	}
	for _, s := range t.sets {
		if !strings.HasPrefix(s.name, affinityPrefix) && !slices.Contains(knownSets(), s.name) {
			d.skip(s.src)
		}
	}
	d.checkReached()
	d.readMaps()
	return d.frontends
}

// address reads an address of the table's family.
func (d *decoder) address(s string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(s)
	return addr, err == nil && addr.Zone() == "" && addr.Is4() == (d.family == "ip")
}

// addresses reads a set of addresses.
func (d *decoder) addresses(set string) []netip.Addr {
	var out []netip.Addr
	for _, e := range d.elements(set) {
		addr, ok := d.address(e.key)
		if !ok || e.verdict != "" {
			d.skip(e.src)
			continue
		}
		out = append(out, addr)
	}
	return out
}

// frontendKey is what a packet is looked up by. addr is the zero Addr for any
// address of the node.
type frontendKey struct {
	addr     netip.Addr
	protocol string
	port     uint16
	nodePort bool
}

// portKey reads "tcp . 30081".
func portKey(s string) (frontendKey, bool) {
	name, number, _ := strings.Cut(s, " . ")
	port, err := strconv.ParseUint(number, 10, 16)
	k := frontendKey{protocol: protocol(name), port: uint16(port)}
	return k, err == nil && port > 0 && k.protocol != ""
}

// protocol is the API's name of what nft prints for a protocol: the number
// where the image has no /etc/protocols. It is "" for any other.
func protocol(s string) string {
	switch s {
	case "tcp", "6":
		return "TCP"
	case "udp", "17":
		return "UDP"
	case "sctp", "132":
		return "SCTP"
	}
	return ""
}
