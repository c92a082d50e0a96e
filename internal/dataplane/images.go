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

// ErrUnavailable is wrapped by errors that say why a data plane's images cannot
// be had on this host.
var ErrUnavailable = errors.New("its images are not to be had here")

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
		if !imagebuild.Present(ctx, reference) && reachable == nil {
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

// fromRegistry pulls the pinned images. An image that was pulled by its digest
// has no tag that an archive could keep: it gets one.
func fromRegistry(ctx context.Context, chart spec.Chart, show *progress.Reporter) (Images, error) {
	images := Images{}
	for part, reference := range chart.Images {
		image, err := imagebuild.Pull(ctx, reference, show)
		if err != nil {
			return nil, fmt.Errorf("%w: %w\n  → --image-source source builds what has a source", ErrUnavailable, err)
		}
		images[part] = image
		if _, err := command.Output(ctx, "docker", "tag", reference, local(chart, part)); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// local is the name a registry image has in the nodes.
func local(chart spec.Chart, part string) string {
	return fmt.Sprintf("localhost/service-dataplane/%s-%s:v%s-registry", chart.Name, part, chart.Version)
}

// InNodes is the name of each image in the nodes.
func (i Images) InNodes(chart spec.Chart) map[string]string {
	names := map[string]string{}
	for part, image := range i {
		names[part] = image.Reference
		if image.Origin == imagebuild.Registry {
			names[part] = local(chart, part)
		}
	}
	return names
}

// Save writes the images into an archive that nodes can import.
func (i Images) Save(ctx context.Context, chart spec.Chart, file string) error {
	names := slices.Sorted(maps.Values(i.InNodes(chart)))
	err := command.Run(ctx, command.Command{Argv: append([]string{"docker", "save", "--output", file}, names...)})
	if err != nil {
		os.Remove(file)
	}
	return err
}
