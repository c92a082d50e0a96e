package walk

import (
	"net/netip"

	"service-dataplane/pkg/collect"
)

// Table is the chains of one table of one file.
type Table struct {
	// Name stands before a chain's in what a hop says.
	Name   string
	File   string
	Chains map[string]*Chain
	// Marks says that a mark set here is the one for masquerade.
	Marks bool
}

// Chain is a list of rules.
type Chain struct {
	Name  string
	Rules []Rule
	// Policy of a base chain is what becomes of a packet at its end: Accept, Drop.
	Policy Verdict
	// Line declares the chain.
	Line collect.Line
}

// Rule says what it does to a packet that meets it. An error stops the walk.
type Rule struct {
	Line collect.Line
	Meet func(State) (Effect, error)
}

// Effect is what a rule does.
type Effect struct {
	// Branches are the ways a packet can take; none where the rule does not
	// match. What they leave over meets the next rule.
	Branches []Branch
	// Unknown says what the rule asks that the evidence does not tell. Branches
	// are then what it does if it matches.
	Unknown string
	// Note says more than the rule's text does; without branches, why a rule that
	// would take some packets does not take this one.
	Note string
	// Quotes are elements and members that the rule asked for, elsewhere.
	Quotes []collect.Hop
}

// Branch is a part of the packets that meet a rule.
type Branch struct {
	Part    collect.Share
	Verdict Verdict
	// Chain that Jump and Goto lead to.
	Chain string
	// To is where Translate sends.
	To netip.AddrPort
	// The packet's mark becomes mark &^ Clear ^ Flip.
	Clear, Flip uint32
	// Note is of this branch alone.
	Note string
}

// Verdict is what a branch does.
type Verdict int

// The verdicts. Translate and Masquerade end the way through a base chain, as
// Accept does.
const (
	Continue Verdict = iota
	Accept
	Drop
	Reject
	Return
	Jump
	Goto
	Translate
	Masquerade
)
