package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"service-dataplane/internal/host"
	"service-dataplane/internal/lab"
	"service-dataplane/internal/report"
)

// examined is what doctor found, for the host, for a guest on it and for each
// scenario on the host's kernel.
type examined struct {
	Host      []host.Finding            `json:"host" yaml:"host"`
	Guest     host.Finding              `json:"guest" yaml:"guest"`
	Scenarios map[string][]host.Finding `json:"scenarios" yaml:"scenarios"`
}

func newDoctor(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host can run, what is missing and how to get it",
		Long: `Examines the engine, cgroups, capabilities, limits, disk and memory, and for
each scenario the kernel features it needs. Where the host's kernel lacks one, a
guest may bring it: see run --kernel. Exit code 3 where the host lacks
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
			found := examined{
				Host:      host.Inspect(cmd.Context(), sys),
				Guest:     host.InspectGuest(cmd.Context(), sys),
				Scenarios: map[string][]host.Finding{},
			}
			for _, scenario := range scenarios {
				features, err := host.Features(cmd.Context(), scenario.Spec.Requires, sys)
				if err != nil {
					return err
				}
				found.Scenarios[scenario.Metadata.Name] = features
			}
			err = s.print(cmd.OutOrStdout(), found, func(w io.Writer) {
				printFindings(w, "host: "+verdict(found.Host), found.Host)
				printFindings(w, "a guest on it: "+verdict([]host.Finding{found.Guest}), []host.Finding{found.Guest})
				for _, scenario := range scenarios {
					findings := found.Scenarios[scenario.Metadata.Name]
					can := verdict(findings)
					if missing(findings) && lab.GuestServes(scenario) && found.Guest.State != host.Missing {
						can = "can run in a guest"
					}
					printFindings(w, "scenario "+scenario.Metadata.Name+": "+can, findings)
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

func verdict(findings []host.Finding) string {
	if missing(findings) {
		return "cannot run here"
	}
	return "can run"
}

func printFindings(w io.Writer, title string, findings []host.Finding) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", title)
	for _, f := range findings {
		report.Wrap(&b, fmt.Sprintf("  %-7s  %-14s  ", f.State, f.Subject), strings.Repeat(" ", 27), f.Text)
		if f.Cure != "" {
			report.Wrap(&b, strings.Repeat(" ", 25)+"→ ", strings.Repeat(" ", 27), f.Cure)
		}
	}
	fmt.Fprintln(w, b.String())
}
