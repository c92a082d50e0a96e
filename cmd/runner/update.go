package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"service-dataplane/internal/lab"
)

func newUpdate(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "update DIR",
		Short: "Write what follows from raw files again, without a cluster",
		Long: `Decodes, checks and renders every result directory at and below DIR again and
writes what changed, as after a change of a decoder or of a page. Raw files and
run.yaml stay as they are; where they are not those of the run any more nothing
is written. "runner verify" is the twin that only compares.`,
		Example: "  runner update results",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			changed, err := lab.Update(args[0])
			if err != nil {
				return err
			}
			return s.print(cmd.OutOrStdout(), changed, func(w io.Writer) { printChanged(w, changed) })
		},
	}
}

func printChanged(w io.Writer, changed []string) {
	for _, file := range changed {
		fmt.Fprintln(w, "wrote", file)
	}
	if len(changed) == 0 {
		fmt.Fprintln(w, "nothing to change")
	}
}
