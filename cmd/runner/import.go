package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"service-dataplane/internal/lab"
	"service-dataplane/internal/report"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

func newImport(s *settings) *cobra.Command {
	var from, resultsDir string
	cmd := &cobra.Command{
		Use:   "import MAP.yaml",
		Short: "Make results of evidence that was recorded without this runner",
		Long: `Takes files over that were recorded elsewhere, as they are. The map says what
each of them is, by which command it was printed, and which scenario and
experiment judge it. The result is like that of a run from its raw files on:
"runner verify" checks it again, and its provenance says that it was imported. A
check that needs a file which was not recorded is skipped.`,
		Example: "  runner import recorded.yaml --from DIR --results /tmp/results",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			if from == "" {
				return errors.New("--from DIR is missing: the directory that the map is of")
			}
			root, err := os.OpenRoot(from)
			if err != nil {
				return fmt.Errorf("--from %s: %w", from, err)
			}
			defer root.Close()
			options := lab.ImportOptions{File: args[0], Recorded: root.FS(), ResultsDir: resultsDir}
			if options.ResultsDir == "" {
				options.ResultsDir = filepath.Join(s.repo, "results")
			}
			if err := s.readMap(&options); err != nil {
				return err
			}
			outcome, err := lab.Import(options, reporter())
			if err != nil {
				return &exitError{exitIncomplete, err}
			}
			if err := s.print(cmd.OutOrStdout(), outcome, func(w io.Writer) { printImported(w, outcome) }); err != nil {
				return err
			}
			return runError(cmd.Context(), []lab.Outcome{outcome}, nil)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "directory of what was recorded")
	cmd.Flags().StringVar(&resultsDir, "results", "", "directory of the results (default: results in the tree)")
	return cmd
}

// readMap reads the map with the scenario and the experiment it names. Mistakes
// in other ones do not matter.
func (s *settings) readMap(o *lab.ImportOptions) error {
	scenarios, _, scenarioErr := s.scenarios(nil)
	experiments, experimentErr := s.experiments(nil)
	known := spec.ImportKnown{Recorded: o.Recorded}
	for _, scenario := range scenarios {
		known.Scenarios = append(known.Scenarios, scenario.Metadata.Name)
	}
	for _, experiment := range experiments {
		known.Experiments = append(known.Experiments, experiment.Metadata.Name)
	}
	var err error
	if o.Map, err = spec.LoadImport(o.File, known); err != nil {
		return errors.Join(err, scenarioErr, experimentErr)
	}
	for _, scenario := range scenarios {
		if scenario.Metadata.Name == o.Map.Spec.Scenario {
			o.Scenario = scenario
		}
	}
	for _, experiment := range experiments {
		if experiment.Metadata.Name == o.Map.Spec.Experiment {
			o.Experiment = experiment
		}
	}
	if !o.Experiment.On(o.Scenario) {
		return fmt.Errorf("%s: experiment %s is not made on scenario %s", o.File, o.Map.Spec.Experiment, o.Map.Spec.Scenario)
	}
	return nil
}

func printImported(w io.Writer, outcome lab.Outcome) {
	fmt.Fprintf(w, "%s on %s, recorded elsewhere: %s\n", outcome.Experiment, outcome.Scenario, outcome.Verdict)
	if outcome.Verdict == collect.Skip {
		fmt.Fprintln(w, outcome.Reason)
	}
	report.Table(w, outcome.Checks)
	fmt.Fprintf(w, "results: %s\n\n", relative(outcome.Dir))
}
