package report

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/iptables"
)

// writeLeftovers says what iptables still holds where no rule of it is a
// Service's: that there are chains KUBE-* is no finding.
func writeLeftovers(d *document, e collect.Evidence, raw fs.FS) error {
	if !hasPlane(e) {
		return nil
	}
	if err := writeFelixTables(d, e, raw); err != nil {
		return err
	}
	for _, s := range e.Kernel {
		if s.LiveIptables != iptables.LiveNone && s.LiveIptables != "" || len(s.IptablesRules) > 0 {
			return nil
		}
	}
	err := grouped(e, func(s collect.NodeState) (string, error) {
		l, err := leftoversIn(raw, s, leftoverFile)
		return l.inWords(proxys(e, s.Node)), err
	}, func(nodes []string, text string) {
		d.paragraph("What iptables still holds (%s) is no Service's, and so no finding: %s (%s).", escape(strings.Join(nodes, ", ")), text, link(collect.Ref{File: path.Join(nodes[0], leftoverFile)}))
	})
	if err != nil {
		return err
	}
	return grouped(e, func(s collect.NodeState) (string, error) {
		l, err := leftoversIn(raw, s, leftoverFile6)
		if len(l.proxy) == 0 {
			return "", err
		}
		return proxys(e, s.Node) + codes(distinct(l.proxy)), err
	}, func(nodes []string, text string) {
		d.paragraph("In IPv6 iptables still holds (%s) %s, and no Service either (%s).", escape(strings.Join(nodes, ", ")), text, link(collect.Ref{File: path.Join(nodes[0], leftoverFile6)}))
	})
}

// grouped tells once what is the same on several nodes, and nothing of those of
// which there is nothing to tell.
func grouped(e collect.Evidence, of func(collect.NodeState) (string, error), tell func(nodes []string, text string)) error {
	var failed error
	groups := perNode(e.Kernel, func(s collect.NodeState) string {
		text, err := of(s)
		failed = errors.Join(failed, err)
		return text
	})
	if failed != nil {
		return failed
	}
	for _, g := range groups {
		if g.value != "" {
			tell(g.nodes, g.value)
		}
	}
	return nil
}

// The dumps of rules through nf_tables, where the iptables of kubelet, kube-proxy
// and Cilium's image write: IPv4's, and IPv6's.
const (
	leftoverFile  = "iptables-nft-save.txt"
	leftoverFile6 = "ip6tables-nft-save.txt"
)

// leftover are the chains of a dump by whose they are.
type leftover struct {
	kubelet, proxy, cilium, felix, other []string
	rules                                int
	kube                                 int // lines with a name KUBE-*
}

// leftoversIn finds nothing in a dump whose rules for Services were not counted.
func leftoversIn(raw fs.FS, s collect.NodeState, name string) (leftover, error) {
	file := path.Join(s.Node, name)
	decoded := slices.ContainsFunc(s.Tables, func(t collect.NodeTable) bool { return t.File == file })
	if s.LiveIptables == "" && !decoded {
		return leftover{}, nil
	}
	data, err := optional(raw, file)
	if err != nil {
		return leftover{}, err
	}
	// Kubelet makes these with or without a kube-proxy
	// (pkg/kubelet/kubelet_network_linux.go of Kubernetes 1.35).
	kubelets := []string{"KUBE-FIREWALL", "KUBE-IPTABLES-HINT", "KUBE-KUBELET-CANARY"}
	// Kube-proxy makes these for all Services (pkg/proxy/iptables/proxier.go).
	proxys := []string{
		servicesChain, nodePortsChain, markChain, postroutingChain,
		"KUBE-EXTERNAL-SERVICES", "KUBE-FORWARD", "KUBE-PROXY-CANARY", "KUBE-PROXY-FIREWALL",
	}
	var found leftover
	for _, l := range linesOf(data) {
		if strings.Contains(comments.ReplaceAllString(l.Text, ""), "KUBE-") {
			found.kube++
		}
		chain, isChain := strings.CutPrefix(l.Text, ":")
		chain, _, _ = strings.Cut(chain, " ")
		switch {
		case ruleForm.MatchString(l.Text):
			found.rules++
		case !isChain:
		case slices.Contains(kubelets, chain):
			found.kubelet = append(found.kubelet, chain)
		case slices.Contains(proxys, chain):
			found.proxy = append(found.proxy, chain)
		case strings.HasPrefix(chain, "KUBE-"):
			found.other = append(found.other, chain)
		case strings.HasPrefix(chain, "CILIUM_"):
			found.cilium = append(found.cilium, chain)
		case strings.HasPrefix(chain, "cali-"):
			found.felix = append(found.felix, chain)
		}
	}
	return found, nil
}

// proxys says which kube-proxy's chains those are.
func proxys(e collect.Evidence, node string) string {
	if modeOn(e, node).Process.Value == collect.Absent {
		return "a former kube-proxy's "
	}
	return "kube-proxy's "
}

func (l leftover) inWords(proxys string) string {
	var parts []string
	if len(l.kubelet) > 0 {
		parts = append(parts, "kubelet's "+codes(distinct(l.kubelet)))
	}
	if len(l.proxy) > 0 {
		parts = append(parts, proxys+codes(distinct(l.proxy)))
	}
	if len(l.cilium) > 0 {
		parts = append(parts, fmt.Sprintf("%s `CILIUM_*` of the agent's own", plural(len(distinct(l.cilium)), "chain")))
	}
	if len(l.felix) > 0 {
		parts = append(parts, fmt.Sprintf("%s `cali-*` of Felix' own", plural(len(distinct(l.felix)), "chain")))
	}
	if len(l.other) > 0 {
		parts = append(parts, "beside them "+codes(distinct(l.other)))
	}
	if len(parts) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, %s in all", strings.Join(parts, ", "), plural(l.rules, "rule"))
	if len(l.proxy) > 0 {
		text += fmt.Sprintf("; `KUBE-` in %s says nothing of Services", plural(l.kube, "line"))
	}
	return text
}

// writeFelixTables tells whose the tables of nftables are that Felix keeps beside
// its eBPF programs.
func writeFelixTables(d *document, e collect.Evidence, raw fs.FS) error {
	if !hasCalico(e) {
		return nil
	}
	return grouped(e, func(s collect.NodeState) (string, error) {
		if t := s.Table("nftables"); t == nil || len(t.Frontends) > 0 {
			return "", nil
		}
		data, err := optional(raw, path.Join(s.Node, nftTextFile))
		var tables []string
		for _, l := range linesOf(data) {
			if name, opens := strings.CutSuffix(l.Text, " {"); opens && strings.HasPrefix(name, "table ") && strings.HasSuffix(name, " calico") {
				tables = append(tables, name)
			}
		}
		if len(tables) == 0 {
			return "", err
		}
		return codes(distinct(tables)), err
	}, func(nodes []string, text string) {
		d.paragraph("In nftables Felix has %s of its own (%s): policy, and what becomes of packets that its programs have marked; no Service is there (%s).", text, escape(strings.Join(nodes, ", ")), link(collect.Ref{File: path.Join(nodes[0], nftTextFile)}))
	})
}
