package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/lab"
)

func newClean(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Delete every cluster of this project and what killed runs left behind",
		Long: `Finds clusters by their name (` + cluster.Prefix + `…), whoever left them behind,
and makes sure that none of their nodes is left; removes the drafts of results
and the disks of guests of killed runs. Images, results and the engine stay;
other kind clusters are not touched.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			cleaned, err := lab.Clean(cmd.Context(), s.workDir, filepath.Join(s.repo, "results"), reporter())
			if err != nil {
				return &exitError{exitIncomplete, err}
			}
			return s.print(cmd.OutOrStdout(), cleaned, func(w io.Writer) {
				for _, name := range cleaned {
					fmt.Fprintln(w, "deleted", name)
				}
				if len(cleaned) == 0 {
					fmt.Fprintln(w, "nothing to clean")
				}
			})
		},
	}
}
