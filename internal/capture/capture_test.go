package capture

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"service-dataplane/internal/command"
	"service-dataplane/pkg/collect"
)

func TestRunRecordsWhateverHappens(t *testing.T) {
	absent := regexp.MustCompile("No such file")
	tests := []struct {
		name    string
		command collect.Command
		run     Runner
		want    collect.Outcome
		exit    int
	}{
		{"captured", collect.Command{}, answer("state", "", 0), collect.Captured, 0},
		{"a warning is no failure", collect.Command{}, answer("state", "Warning: tables present", 0), collect.Captured, 0},
		{"what is read does not exist", collect.Command{Absent: absent}, answer("", "cat: /proc/net/ip_vs: No such file or directory", 1), collect.NotThere, 1},
		{"the same message without exit code", collect.Command{Absent: absent}, answer("", "No such file", 0), collect.Captured, 0},
		{"another failure", collect.Command{Absent: absent}, answer("", "Permission denied", 1), collect.Failed, 1},
		{"not run", collect.Command{}, func(context.Context, []string) (command.Captured, error) {
			return command.Captured{}, errors.New("connection lost")
		}, collect.Failed, -1},
		{"deadline", collect.Command{Timeout: time.Millisecond}, func(ctx context.Context, _ []string) (command.Captured, error) {
			<-ctx.Done()
			return command.Captured{Stdout: []byte("half")}, ctx.Err()
		}, collect.Failed, -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			recorder, err := NewRecorder(dir)
			if err != nil {
				t.Fatal(err)
			}
			test.command.File, test.command.Argv = "state.txt", []string{"show"}
			next := collect.Command{File: "next.txt", Argv: []string{"next"}}
			if err := recorder.Run(t.Context(), "worker", OneByOne(test.run), test.command); err != nil {
				t.Fatal(err)
			}
			if err := recorder.Run(t.Context(), "worker", OneByOne(answer("", "", 0)), next); err != nil {
				t.Fatal(err)
			}
			if err := recorder.WriteIndex(); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(filepath.Join(dir, IndexFile))
			if err != nil {
				t.Fatal(err)
			}
			var records []collect.Record
			if err := json.Unmarshal(raw, &records); err != nil {
				t.Fatal(err)
			}
			if len(records) != 2 || records[0].File != "worker/next.txt" {
				t.Fatalf("index = %+v, want both commands in order of their files", records)
			}
			if got := records[1]; got.Outcome != test.want || got.ExitCode != test.exit {
				t.Errorf("outcome %s, exit %d, want %s, %d", got.Outcome, got.ExitCode, test.want, test.exit)
			}
			if failed := recorder.Failed(); (len(failed) == 1) != (test.want == collect.Failed) {
				t.Errorf("Failed() = %+v", failed)
			}
		})
	}
}

func TestInterruptedCommandIsNotRecorded(t *testing.T) {
	recorder, err := NewRecorder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	err = recorder.Run(ctx, "worker", OneByOne(func(context.Context, []string) (command.Captured, error) {
		cancel(interrupted)
		return command.Captured{Stdout: []byte("half")}, nil
	}), collect.Command{File: "state.txt"})
	if !errors.Is(err, interrupted) || len(recorder.records) != 0 {
		t.Errorf("error = %v, %d records; want the interruption and none", err, len(recorder.records))
	}
}

func TestLostSessionFailsWhatItDidNotComeTo(t *testing.T) {
	recorder, err := NewRecorder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lost := func(context.Context, []collect.Command) ([]command.Answer, error) {
		return []command.Answer{{Captured: command.Captured{Stdout: []byte("state")}}}, errors.New("connection lost")
	}
	if err := recorder.Run(t.Context(), "worker", lost, collect.Command{File: "a"}, collect.Command{File: "b"}); err != nil {
		t.Fatal(err)
	}
	first, second := recorder.records[0], recorder.records[1]
	if first.Outcome != collect.Captured || second.Outcome != collect.Failed || second.Error != "connection lost" {
		t.Errorf("records = %+v, want the first captured and the second failed", recorder.records)
	}
}

func answer(stdout, stderr string, exit int) Runner {
	return func(context.Context, []string) (command.Captured, error) {
		return command.Captured{Stdout: []byte(stdout), Stderr: []byte(stderr), ExitCode: exit}, nil
	}
}
