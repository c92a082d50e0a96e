// Package command runs programs of this host. A failed command, its output
// and the reason travel together in one error that can be pasted into a shell.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	kindexec "sigs.k8s.io/kind/pkg/exec"
)

// Command is a program to run. The zero value of a field means the default of
// os/exec, except that standard error is kept for the error.
type Command struct {
	Argv   []string
	Dir    string
	Env    []string // added to this process's environment
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Bound programs end with this process, however it ends.
	Bound bool
}

// Error is a command that failed.
type Error struct {
	Command Command
	// Stderr is the end of what the command wrote to standard error.
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Command.Dir != "" {
		fmt.Fprintf(&b, "(cd %s && ", e.Command.Dir)
	}
	b.WriteString(kindexec.PrettyCommand(e.Command.Argv[0], e.Command.Argv[1:]...))
	if e.Command.Dir != "" {
		b.WriteString(")")
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if text := strings.TrimSpace(e.Stderr); text != "" {
		fmt.Fprintf(&b, "\n%s", text)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// ExitCode returns the code a command ended with, -1 if it did not run to its
// end or err is no *Error.
func ExitCode(err error) int {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// Run runs the command until it ends or ctx does. An interrupted command gets
// SIGINT and ten seconds.
func Run(ctx context.Context, c Command) error {
	tail := &tailBuffer{limit: 4096}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	if len(c.Env) > 0 {
		cmd.Env = append(os.Environ(), c.Env...)
	}
	cmd.Stdin = c.Stdin
	cmd.Stdout = c.Stdout
	cmd.Stderr = tail
	if c.Stderr != nil {
		cmd.Stderr = io.MultiWriter(tail, c.Stderr)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if c.Bound {
		// The kernel sends the signal when the thread ends that started the
		// program: this one stays until the program has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return &Error{Command: c, Stderr: tail.String(), Err: err}
	}
	return nil
}

// Output runs the command and returns its standard output without the space
// around it.
func Output(ctx context.Context, argv ...string) (string, error) {
	var stdout bytes.Buffer
	err := Run(ctx, Command{Argv: argv, Stdout: &stdout})
	return strings.TrimSpace(stdout.String()), err
}

// Captured is what a command that ran to its end gave back.
type Captured struct {
	Stdout   []byte
	Stderr   []byte
	ExitCode int
}

// Answer is what came of one of several commands.
type Answer struct {
	Captured
	Took time.Duration
	// Err says why the command did not run to its end.
	Err error
}

// Capture runs a command for its answer, whatever its exit code. The error
// says why it did not run to its end.
func Capture(ctx context.Context, argv ...string) (Captured, error) {
	var stdout, stderr bytes.Buffer
	err := Run(ctx, Command{Argv: argv, Stdout: &stdout, Stderr: &stderr})
	out := Captured{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if code := ExitCode(err); code > 0 && ctx.Err() == nil {
		out.ExitCode, err = code, nil
	}
	return out, err
}

// tailBuffer keeps the last limit bytes written to it.
type tailBuffer struct {
	limit int
	data  []byte
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.data = append(b.data, p...)
	if excess := len(b.data) - b.limit; excess > 0 {
		b.data = b.data[excess:]
	}
	return len(p), nil
}

func (b *tailBuffer) String() string { return string(b.data) }
