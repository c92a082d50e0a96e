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

// Session runs commands one after another in one place. It returns an answer
// for each that it came to; the error says why it came to no more.
type Session func(ctx context.Context, commands []collect.Command) ([]command.Answer, error)

// OneByOne is the session that starts each command by itself.
func OneByOne(run Runner) Session {
	return func(ctx context.Context, commands []collect.Command) ([]command.Answer, error) {
		var answers []command.Answer
		for _, c := range commands {
			if err := context.Cause(ctx); err != nil {
				return answers, err
			}
			answers = append(answers, one(ctx, run, c))
		}
		return answers, nil
	}
}

func one(ctx context.Context, run Runner, c collect.Command) command.Answer {
	deadline := fmt.Errorf("no answer within %v", c.Limit())
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit(), deadline)
	defer cancel()
	start := time.Now()
	out, err := run(ctx, c.Argv)
	if err != nil && errors.Is(context.Cause(ctx), deadline) {
		err = deadline
	}
	return command.Answer{Captured: out, Took: time.Since(start), Err: err}
}

// Run runs commands in the place named node and records each, those that the
// session did not come to as failed. It returns an error only where recording
// itself fails or ctx has ended: then nothing is recorded, since what an
// interrupted command printed would pass for its answer.
func (r *Recorder) Run(ctx context.Context, node string, session Session, commands ...collect.Command) error {
	answers, lost := session(ctx, commands)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for i, c := range commands {
		answer := command.Answer{Err: lost}
		if i < len(answers) {
			answer = answers[i]
		}
		record := record(c, answer)
		record.Node = node
		record.File = path.Join(node, c.File)
		if err := r.Add(record, answer.Stdout); err != nil {
			return err
		}
	}
	return nil
}

func record(c collect.Command, a command.Answer) collect.Record {
	record := collect.Record{
		Argv:         c.Argv,
		ExitCode:     a.ExitCode,
		Outcome:      collect.Captured,
		Stderr:       string(a.Stderr),
		Milliseconds: a.Took.Milliseconds(),
	}
	switch {
	case a.Err != nil:
		record.Outcome, record.ExitCode, record.Error = collect.Failed, -1, a.Err.Error()
	case a.ExitCode != 0 && c.Absent != nil && c.Absent.MatchString(record.Stderr):
		record.Outcome = collect.NotThere
	case a.ExitCode != 0:
		record.Outcome = collect.Failed
	}
	return record
}
