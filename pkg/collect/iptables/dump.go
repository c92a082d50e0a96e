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
	rest := string(raw)
	s := scanner{
		known: newSyntax(), tables: map[string]bool{}, declare: declare, visit: visit,
		chains: make(map[string]struct{}, strings.Count(rest, "\n:")), // room for all, a large map grows slowly
	}
	line := collect.Line{}
	for rest != "" {
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
	table  string              // "" between tables
	chains map[string]struct{} // of table
	last   string              // where the last rule stood; "" at the table's first

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
		clear(s.chains)
		s.table, s.last, s.tables[text] = text[1:], "", true
	case s.table == "":
		return errors.New("stands outside a table")
	case text == "COMMIT":
		s.table = ""
	case text[0] == ':':
		name, rest, _ := strings.Cut(text[1:], " ")
		policy, _, _ := strings.Cut(rest, " ")
		s.chains[name] = struct{}{}
		s.declare(declaration{s.table, name, policy, line})
	default:
		r := &s.rule
		if err := r.parse(text, s.known); err != nil {
			return err
		}
		// Targets of other names may be extensions.
		next := r.value(jumpTo)
		switch {
		case (r.chain != s.last || s.last == "") && !s.declared(r.chain):
			return s.undeclared(r.chain)
		case strings.HasPrefix(next, kubePrefix) && !s.declared(next):
			return s.undeclared(next)
		}
		s.last = r.chain
		r.table, r.line = s.table, line
		s.visit(r)
	}
	return nil
}

func (s *scanner) declared(chain string) bool {
	_, ok := s.chains[chain]
	return ok
}

func (s *scanner) undeclared(chain string) error {
	return fmt.Errorf("table %s declares no chain %q", s.table, chain)
}
