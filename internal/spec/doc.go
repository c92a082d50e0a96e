// Package spec reads scenario and experiment files: strictly, with all the
// mistakes of a file reported at once, each by its line. Only what stands in a
// list or section that cannot be decoded waits for that to be mended. What the
// fields mean is the business of the packages that use them.
package spec
