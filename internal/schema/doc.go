// Package schema writes JSON Schema (2020-12) for the files that people and
// programs read and write here: Go types go in, with the sources that have their
// comments, and one schema a file comes out.
//
// It knows what a type can hold and no more: that two subnets overlap, or that
// there is no such chart, is for package spec to say.
package schema
