package dataplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"service-dataplane/internal/ciliumimage"
	"service-dataplane/internal/command"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
)

// Images of a data plane by the part they are for: agent, operator.
type Images map[string]imagebuild.Image

// ErrUnavailable is wrapped by errors that say why a data plane's images or its
// chart cannot be had on this host.
var ErrUnavailable = errors.New("what it is installed from is not to be had here")

// Resolve finds the images of a chart for a choice of imagebuild: it pulls or
// builds what is missing, with repo as the root of this project's tree.
func Resolve(ctx context.Context, choice, repo string, chart spec.Chart, show *progress.Reporter) (Images, error) {
	switch choice {
	case imagebuild.Source:
		return fromSource(ctx, repo, chart, show)
	case imagebuild.Registry:
		return fromRegistry(ctx, chart, show)
	case imagebuild.Auto, "":
	default:
		return nil, fmt.Errorf("--image-source %s: want %s, %s or %s", choice, imagebuild.Auto, imagebuild.Registry, imagebuild.Source)
	}
	reachable := error(nil)
	for _, reference := range chart.Images {
		if !imagebuild.Pulled(ctx, reference) && reachable == nil {
			reachable = imagebuild.Reachable(ctx, reference)
		}
	}
	switch {
	case reachable == nil:
		return fromRegistry(ctx, chart, show)
	case context.Cause(ctx) != nil:
		return nil, context.Cause(ctx)
	case chart.Source == "":
		return nil, fmt.Errorf("%w: no registry answers for %s %s, and this tree has no source to build it from", ErrUnavailable, chart.Name, chart.Version)
	}
	return fromSource(ctx, repo, chart, show)
}

func fromSource(ctx context.Context, repo string, chart spec.Chart, show *progress.Reporter) (Images, error) {
	if chart.Source == "" {
		return nil, fmt.Errorf("%w: %s %s cannot be built from source\n  → --image-source registry", ErrUnavailable, chart.Name, chart.Version)
	}
	return ciliumimage.Build(ctx, filepath.Join(repo, chart.Source), chart.Version, show)
}

// fromRegistry pulls the pinned images. An archive keeps no digest: an image that
// was pulled by one gets its tag as well. Of one that is not pinned the digest
// becomes part of its reference, for the record.
func fromRegistry(ctx context.Context, chart spec.Chart, show *progress.Reporter) (Images, error) {
	images := Images{}
	for part, reference := range chart.Images {
		image, err := imagebuild.Pull(ctx, reference, show)
		if err != nil {
			return nil, fmt.Errorf("%w: %w\n  → --image-source source builds what has a source", ErrUnavailable, err)
		}
		if tag := imagebuild.Tag(reference); tag != reference {
			_, err = command.Output(ctx, "docker", "tag", reference, tag)
		} else {
			image.Reference, err = imagebuild.WithDigest(ctx, reference)
		}
		if err != nil {
			return nil, err
		}
		images[part] = image
	}
	return images, nil
}

// InNodes is the name of each image in the nodes. Images of a registry keep
// theirs, since an operator that installs others knows no second one.
func (i Images) InNodes() map[string]string {
	names := map[string]string{}
	for part, image := range i {
		names[part] = imagebuild.Tag(image.Reference)
	}
	return names
}

// Save writes the images into an archive that nodes can import.
func (i Images) Save(ctx context.Context, file string) error {
	names := slices.Sorted(maps.Values(i.InNodes()))
	err := command.Run(ctx, command.Command{Argv: append([]string{"docker", "save", "--output", file}, names...)})
	if err != nil {
		os.Remove(file)
	}
	return err
}
