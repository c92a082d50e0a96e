// Package evidence decodes what a run recorded: the raw directory goes in,
// collect.Evidence comes out. It works from the files alone, so that a result
// can be decoded again without its cluster.
//
// It must not know what the evidence has to look like: a file that cannot be
// used is a Problem, and whether that matters is the check's business.
package evidence
