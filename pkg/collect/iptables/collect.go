package iptables

import (
	"regexp"
	"time"

	"service-dataplane/pkg/collect"
)

// dumpTimeout is for nodes with hundreds of thousands of rules, where printing
// them takes longer than the default allows.
const dumpTimeout = 2 * time.Minute

// Commands dump every table of both iptables variants and both families. All
// four are needed: the variant a node's own iptables uses need not be the one
// kube-proxy's image writes to. A variant that holds no table prints nothing
// and exits 0.
//
// None of them selects a table: "-t nat" would load the legacy module to show
// an empty table.
func Commands() []collect.Command {
	// libiptc's message, in iptables 1.8.9: the kernel has no such legacy table.
	noLegacy := regexp.MustCompile(`Cannot initialize: Table does not exist`)
	// iptables-nft without nfnetlink, and with nfnetlink but without nf_tables.
	noNFTables := regexp.MustCompile(`Failed to initialize nft: Protocol not supported|` +
		`Could not fetch rule set generation id: Invalid argument`)
	var commands []collect.Command
	for _, family := range []string{"iptables", "ip6tables"} {
		commands = append(commands,
			save(family+"-legacy-save", noLegacy),
			save(family+"-nft-save", noNFTables))
	}
	return commands
}

func save(program string, absent *regexp.Regexp) collect.Command {
	return collect.Command{File: program + ".txt", Argv: []string{program}, Timeout: dumpTimeout, Absent: absent}
}
