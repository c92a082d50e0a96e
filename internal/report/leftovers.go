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
	if !hasAgents(e) {
		return nil
	}
	for _, s := range e.Kernel {
		if s.LiveIptables != iptables.LiveNone || len(s.IptablesRules) > 0 {
			return nil
		}
	}
	var failed error
	groups := perNode(e.Kernel, func(s collect.NodeState) string {
		text, err := leftovers(raw, s.Node)
		failed = errors.Join(failed, err)
		return text
	})
	if failed != nil {
		return failed
	}
	for _, g := range groups {
		if g.value != "" {
			d.paragraph("What iptables still holds (%s) is no Service's, and so no finding: %s (%s).", escape(strings.Join(g.nodes, ", ")), g.value, link(collect.Ref{File: path.Join(g.nodes[0], leftoverFile)}))
		}
	}
	return nil
}

// leftoverFile is the dump of IPv4's rules through nf_tables, where the iptables
// of kubelet and of Cilium's image write.
const leftoverFile = "iptables-nft-save.txt"

func leftovers(raw fs.FS, node string) (string, error) {
	data, err := fs.ReadFile(raw, path.Join(node, leftoverFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	// Kubelet makes these with or without a kube-proxy
	// (pkg/kubelet/kubelet_network_linux.go of Kubernetes 1.35).
	kubelets := []string{"KUBE-FIREWALL", "KUBE-IPTABLES-HINT", "KUBE-KUBELET-CANARY"}
	var kubelet, cilium, other []string
	rules := 0
	for _, l := range linesOf(data) {
		chain, isChain := strings.CutPrefix(l.Text, ":")
		chain, _, _ = strings.Cut(chain, " ")
		switch {
		case ruleForm.MatchString(l.Text):
			rules++
		case !isChain:
		case slices.Contains(kubelets, chain):
			kubelet = append(kubelet, chain)
		case strings.HasPrefix(chain, "KUBE-"):
			other = append(other, chain)
		case strings.HasPrefix(chain, "CILIUM_"):
			cilium = append(cilium, chain)
		}
	}
	var parts []string
	if len(kubelet) > 0 {
		parts = append(parts, "kubelet's "+codes(distinct(kubelet)))
	}
	if len(cilium) > 0 {
		parts = append(parts, fmt.Sprintf("%s `CILIUM_*` of the agent's own", plural(len(distinct(cilium)), "chain")))
	}
	if len(other) > 0 {
		parts = append(parts, "beside them "+codes(distinct(other)))
	}
	if len(parts) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s, %s in all", strings.Join(parts, ", "), plural(rules, "rule")), nil
}
