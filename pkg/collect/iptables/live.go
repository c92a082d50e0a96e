package iptables

import (
	"fmt"

	"service-dataplane/pkg/collect"
)

// Tally is a number of rules and the first of them, to be quoted.
type Tally struct {
	Rules int
	First collect.Line
}

// Counts is how many rules of each kind a dump holds.
type Counts struct {
	// Frontends match a Service's address or port, in KUBE-SERVICES,
	// KUBE-NODEPORTS and, in filter, KUBE-EXTERNAL-SERVICES.
	Frontends Tally
	// Services stand in the chains of one Service: KUBE-SVC-, KUBE-SVL-,
	// KUBE-EXT-, KUBE-FW-.
	Services Tally
	// Backends stand in KUBE-SEP- chains.
	Backends Tally
	// Other is every other rule in a KUBE- chain or with a jump to one. Kubelet
	// leaves some on every node, and kube-proxy's jumps outlive its rules: they
	// say nothing about who serves.
	Other Tally
}

// ServiceRules is how many rules exist for some Service; 0 means that this dump
// implements none.
func (c Counts) ServiceRules() int {
	return c.Frontends.Rules + c.Services.Rules + c.Backends.Rules
}

// Count counts kube-proxy's rules. It fails where Decode fails.
func Count(raw []byte) (Counts, error) {
	var c Counts
	if err := scan(raw, c.rule); err != nil {
		return Counts{}, err
	}
	return c, nil
}

func (c *Counts) rule(r *rule) {
	if tally := c.tally(r); tally != nil {
		if tally.Rules == 0 {
			tally.First = r.line
		}
		tally.Rules++
	}
}

func (c *Counts) tally(r *rule) *Tally {
	next := roleOf(r.table, r.value(jumpTo))
	switch role := roleOf(r.table, r.chain); {
	case role == foreign && next == foreign:
		return nil
	case role.leads():
		return &c.Services
	case role == backend:
		return &c.Backends
	case (role == services || role == nodePorts) && next.leads(),
		role == rejections && next == foreign:
		return &c.Frontends
	}
	return &c.Other
}

// The answers of Live.
const (
	LiveLegacy = "legacy"
	LiveNFT    = "nft"
	LiveBoth   = "both"
	LiveNone   = "none"
)

// Live says which of a node's dumps of one family, of iptables-legacy-save and
// iptables-nft-save, holds kube-proxy's service rules. The kernel obeys both at
// once, so LiveBoth is a fault: the rules of an earlier kube-proxy are left.
func Live(legacy, nft []byte) (which string, err error) {
	inLegacy, err := Count(legacy)
	if err != nil {
		return "", fmt.Errorf("legacy dump: %w", err)
	}
	inNFT, err := Count(nft)
	if err != nil {
		return "", fmt.Errorf("nft dump: %w", err)
	}
	return LiveOf(inLegacy, inNFT), nil
}

// LiveOf is Live of dumps that have been counted.
func LiveOf(legacy, nft Counts) (which string) {
	switch {
	case legacy.ServiceRules() > 0 && nft.ServiceRules() > 0:
		return LiveBoth
	case legacy.ServiceRules() > 0:
		return LiveLegacy
	case nft.ServiceRules() > 0:
		return LiveNFT
	}
	return LiveNone
}
