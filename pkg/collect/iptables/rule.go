package iptables

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// option is a set of a rule's options, one bit each: those kube-proxy's service
// rules are made of. Every other word sets unknown.
type option uint32

const (
	source option = 1 << iota
	destination
	inInterface
	protocol
	destinationPort
	comment
	sourceType
	destinationType
	accounting
	connectionState
	statisticMode
	probability
	recentCheck
	recentSet
	recentSeconds
	recentReap
	recentName
	recentMask
	recentSource
	jumpTo
	toDestination
	rejectWith
	unknown

	flags = recentCheck | recentSet | recentReap | recentSource | unknown
	port  = protocol | destinationPort
)

// rule is one rule of a dump, taken apart.
type rule struct {
	table, chain string
	has          option // what the rule says
	not          option // what it says with "!"
	values       [23]string
	line         collect.Line
}

// syntax is how iptables-save spells what is known. A match module is known
// where all it does shows in its options.
type syntax struct {
	options map[string]option
	matches map[string]bool
}

func newSyntax() syntax {
	return syntax{
		options: map[string]option{
			"-s": source, "-d": destination, "-i": inInterface, "-p": protocol, "-j": jumpTo,
			"--dport": destinationPort, "--comment": comment, "--ctstate": connectionState,
			"--src-type": sourceType, "--dst-type": destinationType, "--nfacct-name": accounting,
			"--mode": statisticMode, "--probability": probability,
			"--rcheck": recentCheck, "--set": recentSet, "--seconds": recentSeconds, "--reap": recentReap,
			"--name": recentName, "--mask": recentMask, "--rsource": recentSource,
			"--to-destination": toDestination, "--reject-with": rejectWith,
		},
		matches: map[string]bool{
			"comment": true, "tcp": true, "udp": true, "sctp": true, "addrtype": true,
			"nfacct": true, "conntrack": true, "statistic": true, "recent": true,
		},
	}
}

// parse reads "-A CHAIN …", with counters before it ("[12:345]") or in it
// ("-c 12 345") or without. A word it does not know, such as
// "[unsupported revision]", is not an error: most rules of a node are not
// kube-proxy's.
func (r *rule) parse(text string, known syntax) (err error) {
	*r = rule{}
	if text[0] == '[' {
		_, text, _ = strings.Cut(text, "] ")
	}
	rest, ok := strings.CutPrefix(text, "-A ")
	if !ok {
		return errors.New("neither a rule nor a chain")
	}
	r.chain, rest, err = nextWord(rest)
	negated := false
	for err == nil && rest != "" {
		var word, value string
		word, rest, err = nextWord(rest)
		switch word {
		case "!":
			negated = true
			continue
		case "-m":
			if value, rest, err = nextWord(rest); !known.matches[value] {
				r.has |= unknown
			}
		case "-c":
			_, rest, _ = strings.Cut(rest, " ")
			_, rest, _ = strings.Cut(rest, " ")
		default:
			opt := known.options[word]
			if opt == 0 || r.has&opt != 0 {
				// Two of a kind are more than one value can hold.
				opt |= unknown
			}
			if opt&flags == 0 {
				if rest == "" {
					return fmt.Errorf("nothing follows %s", word)
				}
				r.values[bits.TrailingZeros32(uint32(opt))], rest, err = nextWord(rest)
			}
			r.has |= opt
			if negated {
				r.not |= opt
			}
		}
		negated = false
	}
	return err
}

// nextWord splits the first word off. A quoted word keeps its blanks, and a
// backslash in it stands for the byte that follows (xtables_save_string in
// libxtables). rest starts at the next word, however many blanks lie between.
func nextWord(s string) (word, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		word, rest, _ = strings.Cut(s, " ")
		return word, strings.TrimLeft(rest, " "), nil
	}
	escaped := false
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			word, rest = s[1:i], strings.TrimLeft(s[i+1:], " ")
			if escaped {
				word = unescape(word)
			}
			return word, rest, nil
		}
	}
	return "", "", errors.New("a quote is not closed")
}

func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}

func (r *rule) value(o option) string { return r.values[bits.TrailingZeros32(uint32(o))] }

// says reports whether the rule has every option of must, none outside must
// and may, and no negation.
func (r *rule) says(must, may option) bool { return r.saysNot(must, may, 0) }

// saysNot is says for a rule that negates exactly the options of not.
func (r *rule) saysNot(must, may, not option) bool {
	return r.has&(must|not) == must|not && r.has&^(must|may|not) == 0 && r.not == not
}

// frontend gives what the rule matches of a packet's destination: one port and,
// if one is named, one address.
func (r *rule) frontend() (collect.Frontend, bool) {
	number, err := strconv.ParseUint(r.value(destinationPort), 10, 16)
	f := collect.Frontend{
		Port: uint16(number), Protocol: r.protocol(),
		Masquerade: collect.MasqueradeNever, Backends: []collect.Backend{}, Line: r.line,
	}
	ok := err == nil && number != 0 && f.Protocol != ""
	if r.has&destination != 0 {
		f.Address, err = address(r.value(destination))
	}
	return f, ok && err == nil
}

func (r *rule) protocol() string {
	switch p := r.value(protocol); p {
	case "tcp", "udp", "sctp":
		return strings.ToUpper(p)
	}
	return ""
}

// address gives the only address of a prefix such as 10.96.0.1/32.
func address(prefix string) (netip.Addr, error) {
	p, err := netip.ParsePrefix(prefix)
	if err == nil && !p.IsSingleIP() {
		err = errors.New("more than one address")
	}
	return p.Addr(), err
}
