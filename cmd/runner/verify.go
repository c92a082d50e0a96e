package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"service-dataplane/internal/lab"
	"service-dataplane/internal/report"
)

func newVerify(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Check results again from their raw files, without a cluster",
		Long: `Decodes, checks and renders every result directory at and below DIR again,
from its raw files and run.yaml alone, and compares with what is there. Exit
code 1 where a check fails or a file differs; both are named.`,
		Example: "  runner verify results",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			verified, err := lab.Verify(args[0])
			if err != nil {
				return err
			}
			err = s.print(cmd.OutOrStdout(), verified, func(w io.Writer) { printVerified(w, verified) })
			if err != nil {
				return err
			}
			for _, v := range verified {
				if v.Failed() {
					return &exitError{code: exitFailed}
				}
			}
			return nil
		},
	}
}

func printVerified(w io.Writer, verified []lab.Verified) {
	for _, v := range verified {
		verdict := "verified"
		if v.Failed() {
			verdict = "NOT verified"
		}
		fmt.Fprintf(w, "%s: %s\n", v.Dir, verdict)
		for _, d := range v.Differences {
			fmt.Fprintf(w, "  %s: %s\n", d.File, d.Text)
		}
		if len(v.Checks) > 0 {
			report.Table(w, v.Checks)
		}
		fmt.Fprintln(w)
	}
}
