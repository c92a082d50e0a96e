package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// block is a chain, map or set in the output of nft list.
type block struct {
	name  string // "chain services"
	lines []collect.Line
}

// nftBlocks are the blocks of kube-proxy's table of a family, ip or ip6.
func nftBlocks(lines []collect.Line, family string) []block {
	var blocks []block
	inside := false
	for _, l := range lines {
		if l.Text == "" {
			continue
		}
		depth := len(l.Text) - len(strings.TrimLeft(l.Text, "\t"))
		head, opens := strings.CutSuffix(strings.TrimSpace(l.Text), " {")
		switch {
		case depth == 0:
			inside = head == "table "+family+" kube-proxy"
		case !inside:
		case depth == 1 && opens:
			blocks = append(blocks, block{head, []collect.Line{l}})
		case len(blocks) > 0:
			last := &blocks[len(blocks)-1]
			last.lines = append(last.lines, l)
		}
	}
	return blocks
}

var verdictForm = regexp.MustCompile(`\b(?:goto|jump) ([^\s,;]+)`)

// nftablesPath follows the verdicts from the map elements of the frontends.
func nftablesPath(lines []collect.Line, frontends []collect.Frontend) []stage {
	family := "ip"
	if slices.ContainsFunc(frontends, func(f collect.Frontend) bool { return f.Address.Is6() }) {
		family = "ip6"
	}
	blocks := nftBlocks(lines, family)
	var elements []collect.Line
	own := map[string]bool{}
	follow := func(l collect.Line) {
		for _, match := range verdictForm.FindAllStringSubmatch(l.Text, -1) {
			own[match[1]] = own[match[1]] || match[1] != "mark-for-masquerade"
		}
	}
	for _, b := range blocks {
		if !strings.HasPrefix(b.name, "map ") {
			continue
		}
		head := b.lines[:1]
		for _, l := range b.lines {
			if slices.ContainsFunc(frontends, func(f collect.Frontend) bool { return isElement(l.Text, f) }) {
				elements = append(append(elements, head...), l)
				head = nil
				follow(l)
			}
		}
	}
	for known := -1; known != len(own); {
		known = len(own)
		for _, b := range blocks {
			if name, ok := strings.CutPrefix(b.name, "chain "); ok && own[name] {
				for _, l := range b.lines {
					follow(l)
				}
			}
		}
	}
	pick := func(keep func(name string) bool) []quoted {
		var out []quoted
		for _, b := range blocks {
			if keep(b.name) {
				out = append(out, quote(b.lines...)...)
			}
		}
		return out
	}
	named := func(names ...string) []quoted {
		return pick(func(name string) bool { return slices.Contains(names, name) })
	}
	backend := func(name string) bool { return strings.HasPrefix(name, "chain endpoint-") }
	ownChain := func(name string) bool {
		chain, ok := strings.CutPrefix(name, "chain ")
		return ok && own[chain]
	}
	return []stage{
		{what: "Hook: packets from outside and from local processes go through the chain `services`.", lines: named("chain nat-prerouting", "chain nat-output", "chain services")},
		{what: "Match: one look-up in a verdict map, however many Services there are. Node ports are served at the addresses of `nodeport-ips` only.", lines: append(named("set nodeport-ips"), quote(elements...)...)},
		{what: "Choose: a number at random, and a map from it to the endpoint.", lines: pick(func(name string) bool { return ownChain(name) && !backend(name) })},
		{what: "Translate: DNAT to the endpoint. A pod that reaches itself is marked for masquerade.", lines: pick(func(name string) bool { return ownChain(name) && backend(name) })},
		{what: "Masquerade: what carries the mark leaves with an address of the node.", lines: named("chain mark-for-masquerade", "chain nat-postrouting", "chain masquerading")},
	}
}

// isElement says whether a line of a verdict map is a frontend's.
func isElement(text string, f collect.Frontend) bool {
	key := fmt.Sprintf("%s . %d :", strings.ToLower(f.Protocol), f.Port)
	if f.Kind != collect.NodePort {
		key = f.Address.String() + " . " + key
	}
	text = strings.TrimSpace(text)
	text = strings.TrimPrefix(text, "elements = { ")
	return strings.HasPrefix(text, key)
}
