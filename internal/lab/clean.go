package lab

import (
	"context"
	"errors"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/results"
)

// Clean deletes every cluster of this project and the drafts that killed runs
// left below resultsDir, and returns what it deleted. It refuses while a run
// is under way.
func Clean(ctx context.Context, workDir, resultsDir string, show *progress.Reporter) ([]string, error) {
	unlock, err := lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	clusters, err := cluster.Clean(ctx, workDir, show)
	drafts, draftErr := results.RemoveDrafts(resultsDir)
	return append(clusters, drafts...), errors.Join(err, draftErr)
}
