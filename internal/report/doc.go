// Package report tells what a run showed: evidence, checks and provenance go
// in, Markdown for a result directory or text for a terminal comes out. The
// same input gives the same bytes, so that a committed page can be verified.
//
// It judges nothing: every number and verdict on a page was in its input, and
// every quoted line in the raw files.
package report
