package iptables

import (
	"strings"

	"service-dataplane/pkg/collect/internal/walk"
)

// clause is one condition of a rule, with the "!" in front of it.
type clause struct {
	// option is "-d", "--dport", … or, where a module is not known, "-m NAME" with
	// all that it says as values.
	option string
	values []string
	not    bool
}

// sentence is a rule taken apart for a walk: unlike rule it keeps every word and
// the order.
type sentence struct {
	clauses []clause
	// target is "" where the rule has none.
	target  string
	isGoto  bool
	options []clause // of the target
}

// arities are how many words follow an option that a walk knows, by the match
// module that has it; "" is iptables itself.
func arities() map[string]map[string]int {
	ports := map[string]int{"--dport": 1, "--sport": 1}
	return map[string]map[string]int{
		"":          {"-s": 1, "-d": 1, "-i": 1, "-o": 1, "-p": 1, "-c": 2},
		"comment":   {"--comment": 1},
		"tcp":       ports,
		"udp":       ports,
		"sctp":      ports,
		"addrtype":  {"--src-type": 1, "--dst-type": 1},
		"mark":      {"--mark": 1},
		"conntrack": {"--ctstate": 1},
		"set":       {"--match-set": 2},
		"statistic": {"--mode": 1, "--probability": 1},
		"recent": {
			"--rcheck": 0, "--update": 0, "--set": 0, "--reap": 0, "--rsource": 0,
			"--seconds": 1, "--name": 1, "--mask": 1,
		},
		"nfacct": {"--nfacct-name": 1},
	}
}

// words are a rule's, each with whether it was quoted.
func words(text string) (list []string, quoted []bool, err error) {
	for text != "" && err == nil {
		var word string
		q := text[0] == '"'
		word, text, err = nextWord(text)
		list, quoted = append(list, word), append(quoted, q)
	}
	return list, quoted, err
}

// parseSentence reads "-A CHAIN …" as iptables-save prints it: the options of
// iptables itself, then each module with its own, then the target. What a module
// says that is not known reaches to the next module or the target.
func parseSentence(text string, known map[string]map[string]int) (sentence, error) {
	if strings.HasPrefix(text, "[") {
		_, text, _ = strings.Cut(text, "] ")
	}
	list, quoted, err := words(text)
	if err != nil || len(list) < 2 || list[0] != "-A" {
		return sentence{}, walk.Stopf("not a rule of iptables-save")
	}
	p := parser{words: list[2:], quoted: quoted[2:], known: known}
	for len(p.words) > 0 && p.s.target == "" {
		if err := p.next(); err != nil {
			return sentence{}, err
		}
	}
	if p.s.target != "" {
		p.targetOptions()
	}
	return p.s, nil
}

type parser struct {
	words  []string
	quoted []bool
	known  map[string]map[string]int
	module string
	s      sentence
}

func (p *parser) take(n int) ([]string, bool) {
	if n > len(p.words) {
		return nil, false
	}
	taken := p.words[:n]
	p.words, p.quoted = p.words[n:], p.quoted[n:]
	return taken, true
}

// next reads one clause, a module's name or the target.
func (p *parser) next() error {
	first, _ := p.take(1)
	not := first[0] == "!"
	if not {
		if first, _ = p.take(1); first == nil {
			return walk.Stopf("nothing follows !")
		}
	}
	option := first[0]
	switch option {
	case "-m", "-j", "-g":
		value, ok := p.take(1)
		switch {
		case !ok || not:
			return walk.Stopf("no name follows %s", option)
		case option != "-m":
			p.s.target, p.s.isGoto = value[0], option == "-g"
			return nil
		}
		if p.module = value[0]; p.known[p.module] == nil {
			p.s.clauses = append(p.s.clauses, clause{option: "-m " + p.module, values: p.rest()})
		}
		return nil
	}
	arity, ok := p.known[p.module][option]
	if !ok {
		if arity, ok = p.known[""][option]; !ok {
			p.s.clauses = append(p.s.clauses, clause{option: option, values: p.rest(), not: not})
			return nil
		}
	}
	values, ok := p.take(arity)
	if !ok {
		return walk.Stopf("too little follows %s", option)
	}
	p.s.clauses = append(p.s.clauses, clause{option, values, not})
	return nil
}

// rest takes the words up to the next module or target.
func (p *parser) rest() []string {
	n := 0
	for n < len(p.words) && (p.quoted[n] || p.words[n] != "-m" && p.words[n] != "-j" && p.words[n] != "-g") {
		n++
	}
	values, _ := p.take(n)
	return values
}

// targetOptions reads what follows the target: options, each with the words up to
// the next one.
func (p *parser) targetOptions() {
	for i, word := range p.words {
		if last := len(p.s.options) - 1; strings.HasPrefix(word, "--") && !p.quoted[i] || last < 0 {
			p.s.options = append(p.s.options, clause{option: word})
		} else {
			p.s.options[last].values = append(p.s.options[last].values, word)
		}
	}
}
