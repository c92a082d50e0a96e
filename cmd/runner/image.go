package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/guest"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/nodeimage"
)

func newImage(s *settings) *cobra.Command {
	var choice, source string
	var guests bool
	cmd := &cobra.Command{
		Use:   "image [SCENARIO...]",
		Short: "Pull or build the images that runs would use",
		Long: `Pulls or builds the node image, the images of the data planes that the
scenarios install, and with --guest that of guests. A run does the same first;
this is for doing it ahead.`,
		Example: "  runner image cilium",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			images, err := s.images(cmd.Context(), args, choice, source)
			if err == nil && guests {
				var image imagebuild.Image
				image, err = guest.Resolve(cmd.Context(), s.repo, reporter())
				images = append(images, image)
			}
			if cause := context.Cause(cmd.Context()); cause != nil {
				return &exitError{exitIncomplete, cause}
			}
			if err != nil {
				return err
			}
			return s.print(cmd.OutOrStdout(), images, func(w io.Writer) {
				for _, image := range images {
					fmt.Fprintf(w, "%s\n%s, %d MB\n", image.Reference, image.Origin, image.Bytes/1e6)
				}
			})
		},
	}
	cmd.Flags().StringVar(&choice, "node-image", imagebuild.Auto, "auto, registry, source, or an image reference")
	cmd.Flags().StringVar(&source, "image-source", imagebuild.Auto, "images of data planes: auto, registry or source")
	cmd.Flags().BoolVar(&guests, "guest", false, "also the image of guests, for kernels that lack a feature")
	return cmd
}

func (s *settings) images(ctx context.Context, scenarios []string, choice, source string) ([]imagebuild.Image, error) {
	chosen, lock, err := s.scenarios(scenarios)
	if err := errors.Join(err, imageSource(source)); err != nil {
		return nil, err
	}
	show := reporter()
	node, err := nodeimage.Resolve(ctx, choice, s.repo, show)
	if err != nil {
		return nil, &exitError{exitHost, err}
	}
	images := []imagebuild.Image{node}
	if len(scenarios) == 0 {
		return images, nil
	}
	var failed []error
	seen := map[string]bool{}
	for _, scenario := range chosen {
		name, version := scenario.Spec.DataPlane.Chart()
		chart, pinned := lock.Chart(name, version)
		if !pinned || seen[name+version] {
			continue
		}
		seen[name+version] = true
		found, err := dataplane.Resolve(ctx, source, s.repo, chart, show)
		if err != nil {
			failed = append(failed, err)
		}
		for _, part := range slices.Sorted(maps.Keys(found)) {
			images = append(images, found[part])
		}
	}
	if len(failed) > 0 {
		return nil, &exitError{exitHost, errors.Join(failed...)}
	}
	return images, nil
}

// imageSource says whether a value of --image-source is one.
func imageSource(value string) error {
	if !slices.Contains([]string{imagebuild.Auto, imagebuild.Registry, imagebuild.Source}, value) {
		return fmt.Errorf("--image-source %s: want %s, %s or %s", value, imagebuild.Auto, imagebuild.Registry, imagebuild.Source)
	}
	return nil
}
