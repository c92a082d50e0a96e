package command

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestErrorCarriesCommandOutputAndReason(t *testing.T) {
	err := Run(t.Context(), Command{Argv: []string{"sh", "-c", "echo no such bridge >&2; exit 3"}, Dir: "/"})
	for _, want := range []string{"(cd / && sh -c", "exit status 3", "no such bridge"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	if code := ExitCode(err); code != 3 {
		t.Errorf("ExitCode = %d, want 3", code)
	}
}

func TestInterruptedCommandNamesTheCause(t *testing.T) {
	interrupted := errors.New("interrupted by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	err := Run(ctx, Command{Argv: []string{"sleep", "60"}})
	if !errors.Is(err, interrupted) || ExitCode(err) != -1 {
		t.Errorf("error = %v (exit code %d), want the cause and -1", err, ExitCode(err))
	}
}

func TestOutputIsTrimmed(t *testing.T) {
	if got, err := Output(t.Context(), "echo", " 28.5 "); got != "28.5" || err != nil {
		t.Errorf("Output = %q, %v", got, err)
	}
}

func TestTailBufferKeepsTheEnd(t *testing.T) {
	b := &tailBuffer{limit: 4}
	for _, chunk := range []string{"ab", "cdef", "", "g"} {
		b.Write([]byte(chunk))
	}
	if b.String() != "defg" {
		t.Errorf("kept %q, want defg", b)
	}
}

func TestCapture(t *testing.T) {
	out, err := Capture(t.Context(), "sh", "-c", "echo state; echo warning >&2; exit 2")
	if err != nil || string(out.Stdout) != "state\n" || string(out.Stderr) != "warning\n" || out.ExitCode != 2 {
		t.Errorf("Capture = %+v, %v", out, err)
	}
	if _, err := Capture(t.Context(), "/nosuch/program"); err == nil {
		t.Error("a program that does not exist gives no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Capture(ctx, "true"); err == nil {
		t.Error("an interrupted command gives no error")
	}
}
