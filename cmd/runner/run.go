package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/lab"
	"service-dataplane/internal/report"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

func newRun(s *settings) *cobra.Command {
	var options lab.Options
	var scenarios []string
	cmd := &cobra.Command{
		Use:   "run [EXPERIMENT...]",
		Short: "Run experiments on scenarios and write their results",
		Long: `Runs each experiment (default: all) on each scenario (default: all), one
cluster after another. A scenario this host cannot run is skipped with the
reason and the cure. The result directory of a run is replaced when the run is
whole; an interrupted run changes nothing and leaves no cluster behind.`,
		Example: "  runner run service-path --scenario iptables,nftables",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			experiments, err := s.experiments(args)
			chosen, lock, scenarioErr := s.scenarios(scenarios)
			if err := errors.Join(err, scenarioErr, imageSource(options.ImageSource), kernel(options.Kernel)); err != nil {
				return err
			}
			if options.Program, err = os.Executable(); err != nil {
				return err
			}
			for _, experiment := range experiments {
				if len(args) > 0 && !slices.ContainsFunc(chosen, experiment.On) {
					return fmt.Errorf("experiment %s is made on scenario %s", experiment.Metadata.Name, strings.Join(experiment.Spec.Scenarios, ", "))
				}
			}
			options.Lock = lock
			options.Repo, options.WorkDir = s.repo, s.workDir
			if options.ResultsDir == "" {
				options.ResultsDir = filepath.Join(s.repo, "results")
			}
			options.Argv = append([]string{"runner"}, os.Args[1:]...)
			show := reporter()
			var outcomes []lab.Outcome
			for _, experiment := range experiments {
				options.Experiment = experiment
				options.Scenarios = slices.DeleteFunc(slices.Clone(chosen), func(s spec.Scenario) bool { return !experiment.On(s) })
				if len(options.Scenarios) == 0 {
					continue
				}
				var done []lab.Outcome
				done, err = lab.Run(cmd.Context(), options, show)
				outcomes = append(outcomes, done...)
				if err != nil {
					break
				}
			}
			if len(outcomes) > 0 {
				if err := s.print(cmd.OutOrStdout(), outcomes, func(w io.Writer) { printOutcomes(w, outcomes) }); err != nil {
					return err
				}
			}
			return runError(cmd.Context(), outcomes, err)
		},
	}
	cmd.Flags().StringSliceVar(&scenarios, "scenario", nil, "scenarios to run on, by name (default: all)")
	cmd.Flags().StringVar(&options.NodeImage, "node-image", imagebuild.Auto, "auto, registry, source, or an image reference")
	cmd.Flags().StringVar(&options.ImageSource, "image-source", imagebuild.Auto, "images of data planes: auto, registry or source")
	cmd.Flags().StringVar(&options.Bundle, "bundle", "", "take images and charts from this bundle, or directory of archives, alone")
	cmd.Flags().StringVar(&options.ResultsDir, "results", "", "directory of the results (default: results in the tree)")
	cmd.Flags().StringVar(&options.Kernel, "kernel", lab.KernelAuto, "host, guest (a second kernel, in QEMU), or auto: guest where the host's lacks a feature")
	cmd.Flags().BoolVar(&options.Keep, "keep", false, "keep the cluster and say how to reach it")
	return cmd
}

// kernel says whether a value of --kernel is one.
func kernel(value string) error {
	if !slices.Contains([]string{lab.KernelAuto, lab.KernelHost, lab.KernelGuest}, value) {
		return fmt.Errorf("--kernel %s: want %s, %s or %s", value, lab.KernelAuto, lab.KernelHost, lab.KernelGuest)
	}
	return nil
}

// runError turns what came of a run into the error that has its exit code.
func runError(ctx context.Context, outcomes []lab.Outcome, err error) error {
	switch {
	case context.Cause(ctx) != nil:
		return &exitError{exitIncomplete, context.Cause(ctx)}
	case errors.Is(err, lab.ErrHost):
		return &exitError{exitHost, err}
	case err != nil:
		return &exitError{exitIncomplete, err}
	}
	skipped, code := 0, exitPassed
	for _, outcome := range outcomes {
		switch outcome.Verdict {
		case collect.Fail:
			return &exitError{code: exitFailed}
		case collect.Inconclusive:
			code = exitIncomplete
		case collect.Skip:
			skipped++
		}
	}
	if skipped == len(outcomes) {
		code = exitIncomplete
	}
	if code != exitPassed {
		return &exitError{code: code}
	}
	return nil
}

func printOutcomes(w io.Writer, outcomes []lab.Outcome) {
	for _, outcome := range outcomes {
		fmt.Fprintf(w, "%s on %s: %s", outcome.Experiment, outcome.Scenario, outcome.Verdict)
		if outcome.Verdict == collect.Skip {
			fmt.Fprintf(w, "\n%s\n", outcome.Reason)
			continue
		}
		fmt.Fprintf(w, " (%.1f s)\n", outcome.Seconds)
		report.Table(w, outcome.Checks)
		fmt.Fprintf(w, "results: %s\n\n", relative(outcome.Dir))
	}
}

// relative is a path as one would type it here.
func relative(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(wd, path); err == nil && len(short) < len(path) {
			return short
		}
	}
	return path
}
