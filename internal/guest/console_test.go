package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"service-dataplane/internal/progress"
)

func speak(lines ...string) *console {
	c := newConsole()
	go func() {
		for _, line := range lines {
			fmt.Fprintf(c, "%s\r\n", line)
		}
		close(c.lines)
	}()
	return c
}

func TestConsoleUntil(t *testing.T) {
	c := speak("\x1b[2JSeaBIOS", "Booting from ROM..", "guest: kernel 6.1.0", "guest: engine ready")
	for _, prefix := range []string{"guest: kernel ", "guest: engine ready"} {
		if err := c.until(t.Context(), prefix, time.Minute); err != nil {
			t.Error(err)
		}
	}
	if err := c.until(t.Context(), "guest: more", time.Minute); err == nil || !strings.Contains(err.Error(), "ended before") {
		t.Errorf("at the end: %v", err)
	}
	if got := strings.Join(c.tail, "|"); got != "[2JSeaBIOS|Booting from ROM..|guest: kernel 6.1.0|guest: engine ready" {
		t.Errorf("last words %q", got)
	}
}

func TestConsoleUntilGivesUp(t *testing.T) {
	silent := newConsole()
	if err := silent.until(t.Context(), "guest: kernel ", time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not say") {
		t.Errorf("silence: %v", err)
	}
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	if err := silent.until(ctx, "guest: kernel ", time.Minute); !errors.Is(err, interrupted) {
		t.Errorf("interruption: %v", err)
	}
}

// TestConsoleReplay: what the job shows is shown here, and the last lines of all
// else are kept for an error.
func TestConsoleReplay(t *testing.T) {
	lines := []string{`@progress {"kind":"begin","text":"create cluster"}`, "kernel: panic"}
	for i := range 2 * words {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	var out strings.Builder
	show := progress.New(&out, false)
	c := speak(lines...)
	c.replay(show)
	if got := show.Timings(); len(got) != 1 || !got[0].Failed || got[0].Step != "create cluster" {
		t.Errorf("timings %+v, want the step that never ended, failed", got)
	}
	if len(c.tail) != words || c.tail[words-1] != fmt.Sprint("line ", 2*words-1) {
		t.Errorf("last words %q", c.tail)
	}
}
