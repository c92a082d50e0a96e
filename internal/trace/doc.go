// Package trace walks one new connection through what a result directory has of a
// node's kernel: it says who the client is and which encodings its packet meets, in
// which order, and has each walked by its own package of pkg/collect.
//
// Addresses, pods and nodes are those of the decoded evidence; the way itself is
// read from the raw files and not from the service table.
package trace
