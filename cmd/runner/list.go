package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// listed is one line of the list.
type listed struct {
	Kind  string `json:"kind" yaml:"kind"`
	Name  string `json:"name" yaml:"name"`
	Title string `json:"title" yaml:"title"`
}

func newList(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the experiments and scenarios of the tree",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			experiments, err := s.experiments(nil)
			scenarios, _, scenarioErr := s.scenarios(nil)
			if err := errors.Join(err, scenarioErr); err != nil {
				return err
			}
			var all []listed
			for _, e := range experiments {
				all = append(all, listed{"experiment", e.Metadata.Name, e.Metadata.Title})
			}
			for _, sc := range scenarios {
				all = append(all, listed{"scenario", sc.Metadata.Name, sc.Metadata.Title})
			}
			return s.print(cmd.OutOrStdout(), all, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
				for _, l := range all {
					fmt.Fprintf(table, "%s\t%s\t%s\n", l.Kind, l.Name, l.Title)
				}
				table.Flush()
			})
		},
	}
}
