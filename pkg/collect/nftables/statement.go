package nftables

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// sentence is a rule while it is read, a word at a time, for one packet.
type sentence struct {
	*walker
	words   []string
	state   walk.State
	unknown []string
	note    string
	quotes  []collect.Hop
	// fails: some match is certain not to hold.
	fails bool
	// late: a match stands behind a change of the mark.
	late bool
	// effect is what the rule does if it holds.
	effect walk.Branch
	// branches are set where a verdict map spreads the packets.
	branches []walk.Branch
}

// meet is what a rule does to a packet. Every expression of it must be one that is
// known, unless a match before it fails.
func (w *walker) meet(r rule, state walk.State) (walk.Effect, error) {
	if r.text == "" {
		return walk.Effect{}, walk.Stopf("an expression of this rule is not understood")
	}
	s := &sentence{walker: w, words: words(r.text), state: state}
	for len(s.words) > 0 && !s.fails {
		if err := s.expression(); err != nil {
			return walk.Effect{}, err
		}
	}
	switch {
	case s.late:
		return walk.Effect{}, walk.Stopf("a match behind a change of the mark")
	case s.fails:
		return walk.Effect{Note: s.note}, nil
	}
	if s.branches == nil {
		s.effect.Part = collect.Whole()
		s.branches = []walk.Branch{s.effect}
	}
	e := walk.Effect{Branches: s.branches, Note: s.note, Quotes: s.quotes}
	if len(s.unknown) > 0 {
		e.Unknown = fmt.Sprintf("%q", strings.Join(s.unknown, " "))
	}
	return e, nil
}

// take is true where the next words are these, of which "*" is any and given
// back; they are then taken.
func (s *sentence) take(shape string) ([]string, bool) {
	want := strings.Fields(shape)
	if len(want) > len(s.words) {
		return nil, false
	}
	var at []string
	for i, word := range want {
		switch {
		case word == "*":
			at = append(at, s.words[i])
		case word == "IP" && s.words[i] == s.family:
		case word != s.words[i]:
			return nil, false
		}
	}
	s.words = s.words[len(want):]
	return at, true
}

// hold is a match that holds or not.
func (s *sentence) hold(holds bool) {
	s.fails = s.fails || !holds
	s.late = s.late || s.effect.Clear|s.effect.Flip != 0
}

// ask is a match on something that the evidence does not tell.
func (s *sentence) ask(what string) {
	s.unknown = append(s.unknown, what)
	s.hold(true)
}

// word takes one word and says whether it was there.
func (s *sentence) word(word string) bool {
	_, ok := s.take(word)
	return ok
}

// expression reads the next expression: a look-up first, which begins like a match.
func (s *sentence) expression() error {
	for _, read := range []func() (bool, error){s.lookup, s.address, s.protocol, s.connection, s.local, s.device, s.counter, s.mark, s.verdict} {
		if understood, err := read(); understood || err != nil {
			return err
		}
	}
	return walk.Stopf("%q is not understood", strings.Join(s.words, " "))
}

// address reads a match on source or destination.
func (s *sentence) address() (bool, error) {
	address := s.state.Destination.Addr()
	if _, ok := s.take("IP daddr"); !ok {
		if _, ok := s.take("IP saddr"); !ok {
			return false, nil
		}
		address = s.state.Packet.Source
	}
	not := s.word("!=")
	what, ok := s.take("*")
	if !ok {
		return false, nil
	}
	in, err := s.among(what[0], address)
	s.hold(in != not)
	return true, err
}

// among says whether an address is the one, in the prefix or in the set of a
// match.
func (s *sentence) among(what string, address netip.Addr) (bool, error) {
	if list, ok := items(what); ok {
		in := false
		for _, item := range list {
			one, err := contains(strings.TrimSpace(item), address)
			if err != nil {
				return false, err
			}
			in = in || one
		}
		return in, nil
	}
	name, isSet := strings.CutPrefix(what, "@")
	if !isSet {
		return contains(what, address)
	}
	if strings.HasPrefix(name, affinityPrefix) {
		s.note = "session affinity: a new client is not in the set; one that is goes this way"
		return false, nil
	}
	e, err := s.find(name, func(key []string) (bool, error) {
		if len(key) != 1 {
			return false, errNotKey
		}
		return contains(key[0], address)
	})
	if e != nil {
		s.quotes = append(s.quotes, s.hop("set "+name, e.src.line()))
	}
	return e != nil, err
}

func contains(what string, address netip.Addr) (bool, error) {
	if a, err := netip.ParseAddr(what); err == nil {
		return a == address, nil
	}
	p, err := netip.ParsePrefix(what)
	if err != nil {
		return false, walk.Stopf("%q is no address, prefix or set", what)
	}
	return p.Contains(address), nil
}

// protocol reads a match on the protocol.
func (s *sentence) protocol() (bool, error) {
	if len(s.words) > 2 && s.words[2] == "." {
		return false, nil // of a look-up
	}
	at, ok := s.take("meta l4proto *")
	if !ok {
		return false, nil
	}
	name := protocol(at[0])
	if name == "" {
		return false, walk.Stopf("protocol %q is not known", at[0])
	}
	s.hold(name == s.state.Packet.Protocol)
	return true, nil
}

// connection reads a match on the state of the connection, which is new.
func (s *sentence) connection() (bool, error) {
	at, ok := s.take("ct state *")
	if !ok {
		return false, nil
	}
	states := at
	for s.word(",") {
		more, _ := s.take("*")
		states = append(states, more...)
	}
	for _, state := range states {
		if !slices.Contains([]string{"new", "established", "related", "invalid", "untracked"}, state) {
			return false, walk.Stopf("ct state %s is not understood", state)
		}
	}
	s.hold(slices.Contains(states, "new"))
	return true, nil
}

// local reads a match on an address being one of the node.
func (s *sentence) local() (bool, error) {
	if _, ok := s.take("fib daddr type local"); ok {
		s.hold(s.state.Packet.IsLocal(s.state.Destination.Addr()))
		return true, nil
	}
	if _, ok := s.take("fib saddr type local"); ok {
		s.hold(s.state.Packet.IsLocal(s.state.Packet.Source))
		return true, nil
	}
	return false, nil
}

// device reads a match on an interface, which no listing tells.
func (s *sentence) device() (bool, error) {
	for _, name := range []string{"iifname", "oifname"} {
		if !s.word(name) {
			continue
		}
		what := name
		if s.word("!=") {
			what += " !="
		}
		value, ok := s.take("*")
		if ok {
			s.ask(what + " " + value[0])
		}
		return ok, nil
	}
	return false, nil
}

// counter reads what only counts.
func (s *sentence) counter() (bool, error) {
	_, ok := s.take("counter packets * bytes *")
	return ok, nil
}

// mark reads what asks for the packet's mark and what sets it.
func (s *sentence) mark() (bool, error) {
	if at, ok := s.take("meta mark set meta mark * *"); ok {
		value, err := strconv.ParseUint(at[1], 0, 32)
		bits := uint32(value)
		switch {
		case err != nil:
		case at[0] == "|":
			s.effect.Clear, s.effect.Flip = bits, bits
			return true, nil
		case at[0] == "^":
			s.effect.Flip = bits
			return true, nil
		case at[0] == "&":
			s.effect.Clear = ^bits
			return true, nil
		}
		return false, walk.Stopf("meta mark %s %s is not understood", at[0], at[1])
	}
	at, ok := s.take("meta mark & * * *")
	if !ok {
		return false, nil
	}
	mask, err := strconv.ParseUint(at[0], 0, 32)
	value, valueErr := strconv.ParseUint(at[2], 0, 32)
	if err != nil || valueErr != nil || at[1] != "==" && at[1] != "!=" {
		return false, walk.Stopf("meta mark & %s %s %s is not understood", at[0], at[1], at[2])
	}
	s.hold((s.state.Mark&uint32(mask) == uint32(value)) == (at[1] == "=="))
	return true, nil
}

// verdict reads what ends a rule, and what it remembers.
func (s *sentence) verdict() (bool, error) {
	if at, ok := s.take("update * *"); ok {
		if !strings.HasPrefix(at[0], "@"+affinityPrefix) {
			return false, walk.Stopf("update of %s is not understood", at[0])
		}
		s.note = "session affinity: the client is put in the set"
		return true, nil
	}
	if at, ok := s.take("dnat to *"); ok {
		to, err := netip.ParseAddrPort(at[0])
		if err != nil || len(s.words) > 0 {
			return false, walk.Stopf("dnat to %s is not one address and port", strings.Join(append(at, s.words...), " "))
		}
		s.effect.Verdict, s.effect.To = walk.Translate, to
		return true, nil
	}
	b, ok := simple(s.words)
	if !ok {
		return false, nil
	}
	s.effect.Verdict, s.effect.Chain, s.words = b.Verdict, b.Chain, nil
	return true, nil
}

// simple reads a verdict that is all there is left.
func simple(words []string) (walk.Branch, bool) {
	alone := map[string]walk.Verdict{"accept": walk.Accept, "drop": walk.Drop, "return": walk.Return, "reject": walk.Reject, "masquerade": walk.Masquerade}
	to := map[string]walk.Verdict{"jump": walk.Jump, "goto": walk.Goto}
	switch {
	case len(words) == 0:
		return walk.Branch{}, false
	case len(words) == 2 && to[words[0]] != 0:
		return walk.Branch{Verdict: to[words[0]], Chain: words[1]}, true
	case words[0] == "reject" || words[0] == "masquerade":
		return walk.Branch{Verdict: alone[words[0]]}, true // the rest says how
	}
	v, ok := alone[words[0]]
	return walk.Branch{Verdict: v}, ok && len(words) == 1
}
