// Package ciliumimage builds the images of Cilium's agent and operator on this
// machine, from the Go module that images/cilium requires and Debian packages.
// Out comes their names in the engine and what is otherwise than in the
// published images. It knows nothing of clusters.
package ciliumimage
