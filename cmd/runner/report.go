package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"service-dataplane/internal/lab"
	"service-dataplane/internal/report"
)

func newReport(s *settings) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Tell what the runs of DIR showed, in a form that CI systems show",
		Long: `Derives every result directory at and below DIR from its raw files and writes to
stdout a page for $GITHUB_STEP_SUMMARY, or JUnit's XML: a suite a run, a case a
check, with the raw lines that decided it and the run's provenance as properties.
A check that is inconclusive is an error there. The exit code is 0 whatever the
checks say; "runner verify" is for that.`,
		Example: `  runner report results >>"$GITHUB_STEP_SUMMARY"
  runner report results -o junit >junit.xml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			if form != "summary" && form != "junit" {
				return fmt.Errorf("--output %s: want summary or junit", form)
			}
			runs, err := lab.Runs(args[0])
			if err != nil {
				return err
			}
			page := report.StepSummary(runs)
			if form == "junit" {
				if page, err = report.JUnit(runs); err != nil {
					return err
				}
			}
			_, err = cmd.OutOrStdout().Write(page)
			return err
		},
	}
	cmd.Flags().StringVarP(&form, "output", "o", "summary", "form of the report on stdout: summary or junit")
	return cmd
}
