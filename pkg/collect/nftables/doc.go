// Package nftables reads what kube-proxy's nftables mode programs on a node: a
// listing of the ruleset, in nft's JSON or text form, goes in; the service
// table, or the tables of the ruleset and who wrote them, comes out.
// It runs no command and must not know what the Service API asked for.
package nftables
