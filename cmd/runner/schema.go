package main

import (
	"io"

	"github.com/spf13/cobra"

	"service-dataplane/internal/lab"
)

func newSchema(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "schema DIR",
		Short: "Write JSON Schemas of result, scenario and experiment files",
		Long: `Writes the JSON Schemas (2020-12) of evidence.json, normalized.json and the files
of scenarios/ and experiments/ to DIR, from this tree's Go types and their
comments. A schema says what a field may hold; "runner list" also says what does
not fit together. The tests compare docs/schema with what this writes.`,
		Example: "  runner schema docs/schema",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			changed, err := lab.WriteSchemas(s.repo, args[0])
			if err != nil {
				return err
			}
			return s.print(cmd.OutOrStdout(), changed, func(w io.Writer) { printChanged(w, changed) })
		},
	}
}
