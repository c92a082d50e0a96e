package nftables

import (
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// Owner is what wrote a table, as far as the listing shows.
type Owner string

// The owners told apart.
const (
	// OwnerKubeProxy: kube-proxy's nftables mode made the table, now or at
	// some earlier time; see Programmed.
	OwnerKubeProxy Owner = "kube-proxy"
	// OwnerIPTables: iptables-nft made the table, on behalf of any number of
	// programs: kubelet, kube-proxy's iptables mode, Cilium, the container
	// engine.
	OwnerIPTables Owner = "iptables-nft"
	OwnerCalico   Owner = "calico"
	OwnerCilium   Owner = "cilium"
	OwnerOther    Owner = "other"
)

// Table is one table of a ruleset.
type Table struct {
	Family string `json:"family"`
	Name   string `json:"name"`
	Owner  Owner  `json:"owner"`
	// ServiceIPs is how many elements kube-proxy's map service-ips has.
	ServiceIPs int          `json:"serviceIPs,omitempty"`
	Line       collect.Line `json:"line"`
}

// Tables reads the tables of a ruleset, in either form, in its order. An error
// is as of Decode.
func Tables(raw []byte) ([]Table, error) {
	read := readText
	if isJSON(raw) {
		read = readJSON
	}
	r, err := read(raw)
	if err != nil {
		return nil, err
	}
	out := []Table{}
	for _, t := range r.tables {
		out = append(out, Table{
			Family:     t.family,
			Name:       t.name,
			Owner:      owner(t),
			ServiceIPs: len(t.elements("service-ips")),
			Line:       t.src.line(),
		})
	}
	return out, nil
}

// Programmed says whether kube-proxy's nftables mode programs Services on the
// node. That there are nft tables says nothing, and neither does an empty
// kube-proxy table: one is made for each address family, in use or not.
func Programmed(tables []Table) bool {
	return slices.ContainsFunc(tables, func(t Table) bool {
		return t.Owner == OwnerKubeProxy && t.ServiceIPs > 0
	})
}

func owner(t *table) Owner {
	switch {
	case t.isKubeProxy():
		return OwnerKubeProxy
	case t.name == "calico" || strings.HasPrefix(t.name, "calico-"):
		return OwnerCalico
	case strings.HasPrefix(t.name, "cilium"):
		return OwnerCilium
	case isIPTables(t):
		return OwnerIPTables
	}
	return OwnerOther
}

// isIPTables says whether a table has the names iptables-nft gives: every base
// chain one of iptables' own, and chains in upper case. A table "filter" that
// someone wrote for nft has "chain input".
func isIPTables(t *table) bool {
	iptables := []string{"filter", "nat", "mangle", "raw", "security"}
	builtin := []string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}
	if t.family != "ip" && t.family != "ip6" || !slices.Contains(iptables, t.name) {
		return false
	}
	upper := false
	for _, c := range t.chains {
		if c.base != "" && !slices.Contains(builtin, c.name) {
			return false
		}
		upper = upper || c.name != "" && c.name[0] >= 'A' && c.name[0] <= 'Z'
	}
	return upper
}
