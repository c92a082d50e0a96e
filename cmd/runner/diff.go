package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"service-dataplane/internal/diff"
	"service-dataplane/internal/lab"
	"service-dataplane/internal/report"
)

func newDiff(s *settings) *cobra.Command {
	var allowMissing bool
	cmd := &cobra.Command{
		Use:   "diff BASE NEW",
		Short: "What two trees of results, or two results, show differently",
		Long: `Derives the results at and below BASE and NEW from their raw files, as "runner
verify" does, and names what differs, a line each: mode, service tables, source
addresses, places of translation, objects and checks. Addresses, times and
counters do not count; versions are provenance and no regression. Runs are
compared by experiment and scenario, and two directories that are one result
each whatever they are called.

Exit code 0 where nothing regressed. 1 where NEW shows something else than BASE,
a check that passed does not, or NEW lacks a run (see --allow-missing). A check
that passes now is an improvement; a run that only NEW has is named.`,
		Example: `  runner diff results /tmp/results --allow-missing
  runner diff results/service-path/iptables results/service-path/nftables`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.resolve("markdown"); err != nil {
				return err
			}
			found, err := lab.Diff(args[0], args[1], allowMissing)
			if err != nil {
				return err
			}
			show := report.DiffTable
			if s.output == "markdown" {
				show = report.DiffMarkdown
			}
			if err := s.print(cmd.OutOrStdout(), found, func(w io.Writer) { show(w, found) }); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), found.Summary())
			if len(found.Of(diff.Regression)) > 0 {
				return &exitError{code: exitFailed}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&allowMissing, "allow-missing", false, "a run that only BASE has is no regression")
	return cmd
}
