package progress

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRunStopsAtFirstFailure(t *testing.T) {
	var out strings.Builder
	r := New(&out, false)
	ran := ""
	step := func(name string, err error) Step {
		return Step{name, func(context.Context) error { ran += name; return err }}
	}
	broken := errors.New("broken")
	err := r.Run(t.Context(), step("a", nil), step("b", broken), step("c", nil))
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "b: ") {
		t.Errorf("error = %v, want one that names step b", err)
	}
	if ran != "ab" {
		t.Errorf("ran %q, want ab", ran)
	}
	if got := r.Timings(); len(got) != 2 || got[0].Failed || !got[1].Failed {
		t.Errorf("timings = %+v, want a done and b failed", got)
	}
	for _, want := range []string{" ✓ a", " ✗ b"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
}

func TestRunStopsWhenContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	r := New(&strings.Builder{}, false)
	err := r.Run(ctx,
		Step{"a", func(context.Context) error { cancel(interrupted); return nil }},
		Step{"b", func(context.Context) error { t.Error("b ran after the context ended"); return nil }},
	)
	if !errors.Is(err, interrupted) {
		t.Errorf("error = %v, want the cause of the context's end", err)
	}
}

func TestLinesFitEightyColumns(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var out strings.Builder
		r := New(&out, terminal)
		r.heartbeat = time.Millisecond
		err := r.Run(t.Context(), Step{strings.Repeat("long name ", 20), func(context.Context) error {
			r.Detail("%s", strings.Repeat("é", 200))
			time.Sleep(20 * time.Millisecond)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.FieldsFunc(out.String(), func(c rune) bool { return c == '\n' || c == '\r' }) {
			if n := len([]rune(strings.TrimPrefix(line, "\x1b[K"))); n > 80 {
				t.Errorf("terminal=%v: line of %d columns: %s", terminal, n, line)
			}
		}
	}
}

func TestLineWriter(t *testing.T) {
	var lines []string
	w := &LineWriter{Line: func(l string) { lines = append(lines, l) }}
	for _, chunk := range []string{"on", "e\r\ntw", "o\n\nthree"} {
		if n, err := w.Write([]byte(chunk)); n != len(chunk) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if got := strings.Join(lines, "|"); got != "one|two|" {
		t.Errorf("lines = %q", got)
	}
}
