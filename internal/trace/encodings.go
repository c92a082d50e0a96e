package trace

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/iptables"
	"service-dataplane/pkg/collect/ipvs"
	"service-dataplane/pkg/collect/nftables"
)

// node reads the raw files of one node.
type node struct {
	files Files
	role  string
	err   error
}

// file is what a command printed on the node; an error is kept.
func (n *node) file(name string) []byte {
	raw, err := n.files.Of(path.Join(n.role, name))
	n.err = errors.Join(n.err, err)
	return raw
}

// encoding is one way in which a node's kernel can hold Services.
type encoding struct {
	name string
	// programs says whether it holds any.
	programs func(*node, collect.Packet) (bool, error)
	trace    func(*node, collect.Packet) (collect.Trace, error)
}

// encodings are in the order in which a packet meets them: programs at the socket
// and the pod's interface, then netfilter.
func encodings() []encoding {
	return []encoding{
		{cilium.Encoding, ciliumPrograms, traceCilium},
		{calico.Encoding, calicoPrograms, traceCalico},
		{"ipvs", ipvsPrograms, traceIPVS},
		{"nftables", nftablesPrograms, traceNFTables},
		{"iptables", iptablesPrograms, traceIPTables},
	}
}

// met are the encodings that a packet meets on a node. Two of kube-proxy's are one
// too many: how one changes what the other sees is not known.
func met(n *node, p collect.Packet, only string) ([]encoding, error) {
	var found []encoding
	var proxies []string
	for _, e := range encodings() {
		if only != "" && e.name != only {
			continue
		}
		programs, err := e.programs(n, p)
		if err = errors.Join(n.err, err); err != nil {
			return nil, err
		}
		if !programs {
			continue
		}
		found = append(found, e)
		if slices.Contains([]string{"ipvs", "nftables", "iptables"}, e.name) {
			proxies = append(proxies, e.name)
		}
	}
	switch {
	case len(proxies) > 1:
		return nil, fmt.Errorf("%s holds Services as %s, and what one does changes what the other sees; --encoding walks one alone", n.role, strings.Join(proxies, " and "))
	case len(found) == 0 && only != "":
		return nil, fmt.Errorf("%s holds no Services as %s", n.role, only)
	case len(found) == 0:
		return nil, fmt.Errorf("%s holds no Services in any encoding that is known here", n.role)
	}
	return found, nil
}

func ciliumPrograms(n *node, _ collect.Packet) (bool, error) {
	raw := n.file(cilium.LBFile)
	return len(raw) > 0, nil
}

func traceCilium(n *node, p collect.Packet) (collect.Trace, error) {
	raw := cilium.Raw{LB: n.file(cilium.LBFile), Frontends: n.file(cilium.FrontendsFile), Status: n.file(cilium.StatusFile)}
	if n.err != nil {
		return collect.Trace{}, n.err
	}
	return cilium.Trace(raw, p)
}

func calicoPrograms(n *node, _ collect.Packet) (bool, error) {
	raw := calicoMaps(n)
	return raw.NAT != nil || len(raw.NATText) > 0, nil
}

// calicoMaps are JSON, or text where calico-node writes no JSON. One that wrote
// nothing at all could not read the maps.
func calicoMaps(n *node) (raw calico.Raw) {
	if raw.NAT = n.file(calico.NATFile); raw.NAT == nil {
		raw.NATText = n.file(calico.NATTextFile)
	}
	return raw
}

func traceCalico(n *node, p collect.Packet) (collect.Trace, error) {
	raw := calicoMaps(n)
	cgroup := n.file(calico.CgroupFile)
	if n.err != nil {
		return collect.Trace{}, n.err
	}
	return calico.Trace(raw, cgroup, p)
}

func ipvsPrograms(n *node, _ collect.Packet) (bool, error) {
	raw := n.file(ipvs.ServicesFile)
	if len(raw) == 0 {
		return false, nil
	}
	services, err := ipvs.Services(raw)
	return len(services) > 0, err
}

func traceIPVS(n *node, p collect.Packet) (collect.Trace, error) {
	raw := ipvs.Raw{IPVS: n.file(ipvs.ServicesFile), IPSet: n.file(ipvs.IPSetFile)}
	rules := n.rules(p)
	if n.err != nil {
		return collect.Trace{}, n.err
	}
	return ipvs.Trace(raw, rules, p)
}

// ruleset is the listing of nft, of the two forms the one that has lines.
func (n *node) ruleset() (file string, raw []byte) {
	for _, file = range []string{"nft-ruleset.txt", "nft-ruleset.json"} {
		if raw = n.file(file); len(raw) > 0 {
			return file, raw
		}
	}
	return "", nil
}

func nftablesPrograms(n *node, _ collect.Packet) (bool, error) {
	_, raw := n.ruleset()
	tables, err := nftables.Tables(raw)
	return nftables.Programmed(tables), err
}

func traceNFTables(n *node, p collect.Packet) (collect.Trace, error) {
	file, raw := n.ruleset()
	return nftables.Trace(file, raw, p)
}

// rules are the dumps of iptables of the packet's family.
func (n *node) rules(p collect.Packet) iptables.Raw {
	family := "iptables"
	if p.Destination.Addr().Is6() {
		family = "ip6tables"
	}
	return iptables.Raw{Family: family, NFT: n.file(family + "-nft-save.txt"), Legacy: n.file(family + "-legacy-save.txt")}
}

func iptablesPrograms(n *node, p collect.Packet) (bool, error) {
	raw := n.rules(p)
	nft, err := iptables.Count(raw.NFT)
	legacy, legacyErr := iptables.Count(raw.Legacy)
	return nft.ServiceRules()+legacy.ServiceRules() > 0, errors.Join(err, legacyErr)
}

func traceIPTables(n *node, p collect.Packet) (collect.Trace, error) {
	return iptables.Trace(n.rules(p), p)
}
