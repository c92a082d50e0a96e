package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"service-dataplane/internal/host"
	"service-dataplane/internal/report"
)

// examined is what doctor found, for the host and for each scenario.
type examined struct {
	Host      []host.Finding            `json:"host" yaml:"host"`
	Scenarios map[string][]host.Finding `json:"scenarios" yaml:"scenarios"`
}

func newDoctor(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host can run, what is missing and how to get it",
		Long: `Examines the engine, cgroups, capabilities, limits, disk and memory, and for
each scenario the kernel features it needs. Exit code 3 where the host lacks
something that every run needs; a scenario that cannot run here is named.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			scenarios, _, err := s.scenarios(nil)
			if err != nil {
				return err
			}
			sys := host.Local()
			found := examined{Host: host.Inspect(cmd.Context(), sys), Scenarios: map[string][]host.Finding{}}
			for _, scenario := range scenarios {
				features, err := host.Features(cmd.Context(), scenario.Spec.Requires, sys)
				if err != nil {
					return err
				}
				found.Scenarios[scenario.Metadata.Name] = features
			}
			err = s.print(cmd.OutOrStdout(), found, func(w io.Writer) {
				printFindings(w, "host", found.Host)
				for _, scenario := range scenarios {
					printFindings(w, "scenario "+scenario.Metadata.Name, found.Scenarios[scenario.Metadata.Name])
				}
			})
			if err == nil && missing(found.Host) {
				err = &exitError{code: exitHost}
			}
			return err
		},
	}
}

func missing(findings []host.Finding) bool {
	for _, f := range findings {
		if f.State == host.Missing {
			return true
		}
	}
	return false
}

func printFindings(w io.Writer, title string, findings []host.Finding) {
	verdict := "can run"
	if missing(findings) {
		verdict = "cannot run here"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", title, verdict)
	for _, f := range findings {
		report.Wrap(&b, fmt.Sprintf("  %-7s  %-14s  ", f.State, f.Subject), strings.Repeat(" ", 27), f.Text)
		if f.Cure != "" {
			report.Wrap(&b, strings.Repeat(" ", 25)+"→ ", strings.Repeat(" ", 27), f.Cure)
		}
	}
	fmt.Fprintln(w, b.String())
}
