package nodeimage

import (
	"context"
	"fmt"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
)

// Resolve returns the node image for a choice: imagebuild's Auto, Registry,
// Source, or an image reference. It pulls or builds what is missing, with repo
// as the root of this project's tree.
func Resolve(ctx context.Context, choice, repo string, show *progress.Reporter) (imagebuild.Image, error) {
	pinned := defaults.Image
	switch choice {
	case imagebuild.Source:
		return fromSource(ctx, repo, show)
	case imagebuild.Registry:
		return fromRegistry(ctx, pinned, show)
	case imagebuild.Auto, "":
		if imagebuild.Present(ctx, pinned) || imagebuild.Reachable(ctx, pinned) == nil {
			return fromRegistry(ctx, pinned, show)
		}
		if err := context.Cause(ctx); err != nil {
			return imagebuild.Image{}, err
		}
		return fromSource(ctx, repo, show)
	default:
		if !imagebuild.Present(ctx, choice) {
			return imagebuild.Image{}, fmt.Errorf("node image %s is not in this engine; docker pull or docker load it first", choice)
		}
		return imagebuild.Inspect(ctx, choice, "reference", "")
	}
}

func fromRegistry(ctx context.Context, reference string, show *progress.Reporter) (imagebuild.Image, error) {
	image, err := imagebuild.Pull(ctx, reference, show)
	if err != nil {
		err = fmt.Errorf("%w\nno registry in reach? --node-image source builds the image on this machine", err)
	}
	return image, err
}
