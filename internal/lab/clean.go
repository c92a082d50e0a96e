package lab

import (
	"context"
	"errors"
	"slices"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/guest"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/results"
)

// Clean deletes every cluster of this project, the drafts that killed runs left
// below resultsDir and the files of their guests, and returns what it deleted. It refuses while a run
// is under way.
func Clean(ctx context.Context, workDir, resultsDir string, show *progress.Reporter) ([]string, error) {
	unlock, err := lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	clusters, err := cluster.Clean(ctx, workDir, show)
	drafts, draftErr := results.RemoveDrafts(resultsDir)
	scratch, scratchErr := guest.RemoveScratch()
	return slices.Concat(clusters, drafts, scratch), errors.Join(err, draftErr, scratchErr)
}
