// Package e2e is the regression suite on real clusters: every scenario this
// host can run, compared with the committed results, and what happens when a
// run is interrupted. It needs a Docker engine: make e2e.
package e2e
