package iptables

import (
	"errors"
	"fmt"
	"strings"

	"service-dataplane/pkg/collect"
)

// scan reads a dump as iptables-save prints it (iptables/iptables-save.c): for
// each table a line "*nat", its chains, its rules, COMMIT. It calls visit with
// every rule; the rule is valid during the call only.
//
// What iptables-save cannot have printed is an error that names the line, and so
// is a table that it says it left out.
func scan(raw []byte, visit func(*rule)) error {
	return scanAll(raw, func(declaration) {}, visit)
}

// declaration is a line ":INPUT ACCEPT [0:0]"; the policy of a chain that is not
// the kernel's own is "-".
type declaration struct {
	table, chain, policy string
	line                 collect.Line
}

// scanAll is scan that calls declare with every chain, before its rules.
func scanAll(raw []byte, declare func(declaration), visit func(*rule)) error {
	s := scanner{known: newSyntax(), tables: map[string]bool{}, declare: declare, visit: visit}
	line := collect.Line{}
	for rest := string(raw); rest != ""; {
		line.Text, rest, _ = strings.Cut(rest, "\n")
		line.Number++
		if err := s.line(line); err != nil {
			return fmt.Errorf("line %s: %w", line, err)
		}
	}
	if s.table != "" {
		return fmt.Errorf("line %s: the dump ends inside table %s, without COMMIT; collect it again", line, s.table)
	}
	return nil
}

type scanner struct {
	known  syntax
	tables map[string]bool
	table  string          // "" between tables
	chains map[string]bool // of table

	declare func(declaration)
	visit   func(*rule)
	rule    rule
}

func (s *scanner) line(line collect.Line) error {
	text := line.Text
	switch {
	case text == "":
	case text[0] == '#':
		// iptables-nft prints this instead of a table that nft has changed
		// beyond what iptables can say, and exits 0.
		if strings.HasPrefix(text, "# Table `nat' is incompatible") || strings.HasPrefix(text, "# Table `filter' is incompatible") {
			return errors.New("the table is left out; read it with nft")
		}
	case text[0] == '*':
		if s.table != "" {
			return fmt.Errorf("table %s has no COMMIT", s.table)
		}
		if s.tables[text] {
			return errors.New("the second table of this name; is this more than one dump?")
		}
		s.table, s.chains, s.tables[text] = text[1:], map[string]bool{}, true
	case s.table == "":
		return errors.New("stands outside a table")
	case text == "COMMIT":
		s.table = ""
	case text[0] == ':':
		name, rest, _ := strings.Cut(text[1:], " ")
		policy, _, _ := strings.Cut(rest, " ")
		s.chains[name] = true
		s.declare(declaration{s.table, name, policy, line})
	default:
		r := &s.rule
		if err := r.parse(text, s.known); err != nil {
			return err
		}
		// Targets of other names may be extensions.
		for _, name := range [...]string{r.chain, r.value(jumpTo)} {
			if !s.chains[name] && (name == r.chain || strings.HasPrefix(name, kubePrefix)) {
				return fmt.Errorf("table %s declares no chain %q", s.table, name)
			}
		}
		r.table, r.line = s.table, line
		s.visit(r)
	}
	return nil
}
