package capture

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"service-dataplane/internal/command"
	"service-dataplane/pkg/collect"
)

// Runner runs a command somewhere: on a node, in a pod, on this host. The
// error says why it did not run to its end.
type Runner func(ctx context.Context, argv []string) (command.Captured, error)

// Run runs commands one after another in the place named node and records each.
// It returns an error only where recording itself fails or ctx has ended.
func (r *Recorder) Run(ctx context.Context, node string, run Runner, commands ...collect.Command) error {
	for _, c := range commands {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		record, stdout := execute(ctx, run, c)
		// What an interrupted command printed would pass for its answer.
		if err := context.Cause(ctx); err != nil {
			return err
		}
		record.Node = node
		record.File = path.Join(node, c.File)
		if err := r.Add(record, stdout); err != nil {
			return err
		}
	}
	return nil
}

func execute(ctx context.Context, run Runner, c collect.Command) (collect.Record, []byte) {
	limit := c.Timeout
	if limit == 0 {
		limit = collect.DefaultTimeout
	}
	deadline := fmt.Errorf("no answer within %v", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, deadline)
	defer cancel()
	start := time.Now()
	out, err := run(ctx, c.Argv)
	record := collect.Record{
		Argv:         c.Argv,
		ExitCode:     out.ExitCode,
		Outcome:      collect.Captured,
		Stderr:       string(out.Stderr),
		Milliseconds: time.Since(start).Milliseconds(),
	}
	switch {
	case err != nil:
		record.Outcome, record.ExitCode = collect.Failed, -1
		if errors.Is(context.Cause(ctx), deadline) {
			err = deadline
		}
		record.Error = err.Error()
	case out.ExitCode != 0 && c.Absent != nil && c.Absent.Match(out.Stderr):
		record.Outcome = collect.NotThere
	case out.ExitCode != 0:
		record.Outcome = collect.Failed
	}
	return record, out.Stdout
}
