package main

import (
	"os"

	"github.com/spf13/cobra"

	"service-dataplane/internal/lab"
	"service-dataplane/internal/progress"
)

// newGuest is what a guest starts; nobody else has use for it.
func newGuest() *cobra.Command {
	return &cobra.Command{
		Use:    "guest JOB OUT",
		Short:  "Observe what a job says, inside of a guest",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := lab.ObserveJob(cmd.Context(), args[0], args[1], progress.NewRelay(os.Stdout)); err != nil {
				return &exitError{exitIncomplete, err}
			}
			return nil
		},
	}
}
