// Command runner creates the clusters of the scenarios, runs experiments on
// them and keeps evidence that can be checked again without a cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"service-dataplane/internal/lab"
)

// Exit codes of every verb.
const (
	exitPassed     = 0 // every check passed, skips are named
	exitFailed     = 1 // a check failed
	exitUsage      = 2 // command line or configuration
	exitHost       = 3 // this host cannot run it
	exitIncomplete = 4 // interrupted, or something could not be decided
)

// exitError carries the exit code of an error that is not usage.
type exitError struct {
	code int
	err  error // nil where everything has been said
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(lab.ErrInterrupted)
		fmt.Fprintln(os.Stderr, "\ninterrupted: taking the cluster away, this takes some seconds")
		for range signals { // impatience must not leave nodes behind
			fmt.Fprintln(os.Stderr, "still taking the cluster away")
		}
	}()
	err := newRunner().ExecuteContext(ctx)
	os.Exit(exitCode(err))
}

// exitCode says what went wrong and returns the exit code for it.
func exitCode(err error) int {
	if err == nil {
		return exitPassed
	}
	exit := (*exitError)(nil)
	if !errors.As(err, &exit) {
		exit = &exitError{code: exitUsage, err: err}
	}
	if exit.err != nil {
		fmt.Fprintln(os.Stderr, "error:", exit.err)
	}
	return exit.code
}

func newRunner() *cobra.Command {
	root := &cobra.Command{
		Use:   "runner",
		Short: "Which data plane implements a Kubernetes Service, with evidence",
		Long: `runner creates three-node kind clusters, one for each data plane, sends new
connections to one shared workload and captures which kernel state carried
them. Results are files that "runner verify" checks again without a cluster.

Exit codes: 0 every check passed (skips are named), 1 a check failed, 2 usage
or configuration, 3 this host cannot run it, 4 interrupted or incomplete.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	settings := &settings{}
	flags := root.PersistentFlags()
	flags.StringVar(&settings.repo, "repo", "", "root of the service-dataplane tree (default: found from the working directory)")
	flags.StringVar(&settings.workDir, "work-dir", "", "kubeconfigs and logs (default: .work in the tree)")
	flags.StringVarP(&settings.output, "output", "o", "table", "form of the result on stdout: table, json or yaml; of diff also markdown")
	root.AddCommand(
		newRun(settings),
		newList(settings),
		newDoctor(settings),
		newVerify(settings),
		newDiff(settings),
		newReport(settings),
		newUpdate(settings),
		newSchema(settings),
		newTrace(settings),
		newImport(settings),
		newClean(settings),
		newGuest(),
		newImage(settings),
		newBundle(settings),
	)
	return root
}
