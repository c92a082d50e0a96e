package report

import (
	"regexp"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// natRule is an appended rule of the table nat in the form of iptables-save.
type natRule struct {
	chain, target string
	line          collect.Line
}

var (
	comments   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	ruleForm   = regexp.MustCompile(`^(?:\[\d+:\d+\] )?-A (\S+)`)
	targetForm = regexp.MustCompile(` -[jg] (\S+)`)
)

func natRules(lines []collect.Line) []natRule {
	var rules []natRule
	table := ""
	for _, l := range lines {
		if name, ok := strings.CutPrefix(l.Text, "*"); ok {
			table = name
		}
		plain := comments.ReplaceAllString(l.Text, `""`)
		chain := ruleForm.FindStringSubmatch(plain)
		if table != "nat" || chain == nil {
			continue
		}
		r := natRule{chain: chain[1], line: l}
		if target := targetForm.FindStringSubmatch(plain); target != nil {
			r.target = target[1]
		}
		rules = append(rules, r)
	}
	return rules
}

// kube-proxy's chains that all Services share.
const (
	servicesChain    = "KUBE-SERVICES"
	nodePortsChain   = "KUBE-NODEPORTS"
	markChain        = "KUBE-MARK-MASQ"
	postroutingChain = "KUBE-POSTROUTING"
	backendPrefix    = "KUBE-SEP-"
)

// iptablesPath follows the jumps from the rules that match the frontends.
func iptablesPath(lines []collect.Line, frontends []collect.Frontend) []stage {
	rules := natRules(lines)
	own := map[string]bool{}
	for _, r := range rules {
		matched := slices.ContainsFunc(frontends, func(f collect.Frontend) bool { return f.Line.Number == r.line.Number })
		if matched && r.target != "" {
			own[r.target] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, r := range rules {
			if own[r.chain] && strings.HasPrefix(r.target, "KUBE-") && r.target != markChain && !own[r.target] {
				own[r.target], grown = true, true
			}
		}
	}
	pick := func(keep func(natRule) bool) []quoted {
		var out []quoted
		for _, r := range rules {
			if keep(r) {
				out = append(out, quote(r.line)...)
			}
		}
		return out
	}
	return []stage{
		{what: "Hook: packets from outside and from local processes go through `KUBE-SERVICES`.", lines: pick(func(r natRule) bool { return r.target == servicesChain })},
		{what: "Match: the ClusterIP in `KUBE-SERVICES`, the node port in `KUBE-NODEPORTS`, which is asked last.", lines: pick(func(r natRule) bool {
			return (r.chain == servicesChain || r.chain == nodePortsChain) && (own[r.target] || r.target == nodePortsChain)
		})},
		{what: "Choose: rules are tried in their order; a rule with `--probability` takes that share of what reached it, the last one the rest.", lines: pick(func(r natRule) bool {
			return own[r.chain] && !strings.HasPrefix(r.chain, backendPrefix)
		})},
		{what: "Translate: DNAT to the endpoint. A pod that reaches itself is marked for masquerade.", lines: pick(func(r natRule) bool {
			return own[r.chain] && strings.HasPrefix(r.chain, backendPrefix)
		})},
		{what: "Masquerade: what carries the mark leaves with an address of the node.", lines: pick(func(r natRule) bool {
			return r.chain == markChain || r.chain == postroutingChain || r.target == postroutingChain
		})},
	}
}
