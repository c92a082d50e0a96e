package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"service-dataplane/internal/nodeimage"
)

func newImage(s *settings) *cobra.Command {
	var choice string
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Pull or build the node image that a run would use",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			image, err := nodeimage.Resolve(cmd.Context(), choice, s.repo, reporter())
			if cause := context.Cause(cmd.Context()); cause != nil {
				return &exitError{exitIncomplete, cause}
			}
			if err != nil {
				return &exitError{exitHost, err}
			}
			return s.print(cmd.OutOrStdout(), image, func(w io.Writer) {
				fmt.Fprintf(w, "%s\n%s, %d MB\n", image.Reference, image.Origin, image.Bytes/1e6)
			})
		},
	}
	cmd.Flags().StringVar(&choice, "node-image", nodeimage.Auto, "auto, registry, source, or an image reference")
	return cmd
}
