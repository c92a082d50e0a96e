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
code 1 where a check fails or a file differs, both named; 4 where a check could
not be decided. "runner update" is the twin that writes the files.`,
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
			return verifyError(verified)
		},
	}
}

// verifyError is the error that has the exit code for what was found.
func verifyError(verified []lab.Verified) error {
	code := exitPassed
	for _, v := range verified {
		switch {
		case v.Failed():
			return &exitError{code: exitFailed}
		case v.Undecided():
			code = exitIncomplete
		}
	}
	if code != exitPassed {
		return &exitError{code: code}
	}
	return nil
}

func printVerified(w io.Writer, verified []lab.Verified) {
	for _, v := range verified {
		verdict := "verified"
		switch {
		case v.Failed():
			verdict = "NOT verified"
		case v.Undecided():
			verdict = "undecided"
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
