// Package results keeps runs on disk: a run's directory appears whole or not
// at all, and everything in it but raw/ and run.yaml can be made again from
// those two. It knows nothing of clusters.
package results
