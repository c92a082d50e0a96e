package nftables

import (
	"regexp"

	"service-dataplane/pkg/collect"
)

// Commands lists the whole ruleset twice: as JSON for programs and as text for
// people, which is also all there is where nft was built without JSON. The
// whole ruleset, since a table that is not there is then simply not listed,
// and who else programs the node is part of the evidence.
func Commands() []collect.Command {
	return []collect.Command{
		{
			File:   "nft-ruleset.json",
			Argv:   []string{"nft", "-j", "list", "ruleset"},
			Absent: regexp.MustCompile(`JSON support not compiled`),
		},
		{
			File: "nft-ruleset.txt",
			Argv: []string{"nft", "list", "ruleset"},
		},
	}
}
