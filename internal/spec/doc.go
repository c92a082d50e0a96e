// Package spec reads scenario and experiment files: strictly, with every
// mistake of a file reported at once by its line. What they mean is the
// business of the packages that use them.
package spec
