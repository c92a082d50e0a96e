package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"service-dataplane/internal/bundle"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/lab"
)

func newBundle(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Pack images and charts for a machine that reaches no registry",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBundleCreate(s))
	return cmd
}

func newBundleCreate(s *settings) *cobra.Command {
	var options lab.Options
	var scenarios []string
	var target string
	cmd := &cobra.Command{
		Use:   "create --scenario NAMES -o FILE.tar",
		Short: "Write a bundle for scenarios",
		Long: `Pulls or builds what runs of the scenarios need, and writes it into one file
with an index of digests: the node image, the workload, and images and charts
of data planes. "runner run --bundle FILE.tar" takes all of it from there.`,
		Example: "  runner bundle create --scenario nftables,cilium -o bundle.tar",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			chosen, lock, err := s.scenarios(scenarios)
			if err := errors.Join(err, imageSource(options.ImageSource)); err != nil {
				return err
			}
			if info, err := os.Stat(filepath.Dir(target)); err != nil || !info.IsDir() {
				return fmt.Errorf("--output %s: there is no such directory", target)
			}
			if info, err := os.Stat(target); err == nil && info.IsDir() {
				return fmt.Errorf("--output %s: is a directory", target)
			}
			if err := os.MkdirAll(s.workDir, 0o755); err != nil {
				return err
			}
			options.Repo, options.WorkDir, options.Scenarios, options.Lock = s.repo, s.workDir, chosen, lock
			index, err := lab.CreateBundle(cmd.Context(), options, target, reporter())
			switch {
			case context.Cause(cmd.Context()) != nil:
				return &exitError{exitIncomplete, context.Cause(cmd.Context())}
			case errors.Is(err, lab.ErrHost):
				return &exitError{exitHost, err}
			case err != nil:
				return &exitError{exitIncomplete, err}
			}
			return s.print(cmd.OutOrStdout(), index, func(w io.Writer) { printBundle(w, target, index) })
		},
	}
	cmd.Flags().StringSliceVar(&scenarios, "scenario", nil, "scenarios to pack for, by name (default: all)")
	// In the place of the form of what goes to stdout, as cp and tar mean it.
	cmd.Flags().StringVarP(&target, "output", "o", "bundle.tar", "the file to write")
	cmd.Flags().StringVar(&options.NodeImage, "node-image", imagebuild.Auto, "auto, registry, source, or an image reference")
	cmd.Flags().StringVar(&options.ImageSource, "image-source", imagebuild.Auto, "images of data planes: auto, registry or source")
	return cmd
}

func printBundle(w io.Writer, target string, index bundle.Index) {
	row := func(e bundle.Entry, what string) {
		fmt.Fprintf(w, "  %-28s %6d MB  %s\n", e.File, e.Bytes/1e6, what)
	}
	fmt.Fprintln(w, target)
	row(index.Node.Archive, index.Node.Image.Reference)
	row(index.Echo.Archive, index.Echo.Reference)
	for _, p := range index.Planes {
		for _, archive := range p.Archives {
			row(archive, fmt.Sprintf("%d images", len(p.Images)))
		}
		row(p.Chart, p.ChartFrom)
	}
}
