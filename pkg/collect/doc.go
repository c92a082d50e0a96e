// Package collect holds the evidence of one run as data: the commands run on
// each node and their raw output, and the service table every kernel encoding
// decodes into, and the trace of one connection through each. Its subpackages read
// one encoding each: what to run on a node, a pure function from the bytes to the
// table, and another, which does not ask the table, to the trace.
//
// Nothing here creates a cluster, judges evidence or writes files.
package collect
