// Package progress runs named steps and shows each with its time: a spinner
// on a terminal, plain lines in a log. It decides nothing about what the
// steps do; stdout stays free for results.
package progress

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Step is one named piece of work.
type Step struct {
	Name string
	Run  func(context.Context) error
}

// Timing is how long a step took.
type Timing struct {
	Step    string  `json:"step" yaml:"step"`
	Seconds float64 `json:"seconds" yaml:"seconds"`
	Failed  bool    `json:"failed,omitempty" yaml:"failed,omitempty"`
}

// Reporter shows steps on one writer. Its zero value is not usable.
type Reporter struct {
	out      io.Writer
	terminal bool
	relay    bool
	// heartbeat is how often a running step shows that it is alive.
	heartbeat time.Duration

	mu      sync.Mutex
	detail  string
	timings []Timing
}

// New returns a reporter that writes to out; terminal enables the spinner.
func New(out io.Writer, terminal bool) *Reporter {
	heartbeat := 20 * time.Second
	if terminal {
		heartbeat = 150 * time.Millisecond
	}
	return &Reporter{out: out, terminal: terminal, heartbeat: heartbeat}
}

// Heading starts a new part of the output.
func (r *Reporter) Heading(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := fmt.Sprintf(format, args...); r.relay {
		r.send(event{Kind: "heading", Text: text})
	} else {
		fmt.Fprintf(r.out, "%s\n", text)
	}
}

// Note shows one line that is no step.
func (r *Reporter) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := fmt.Sprintf(format, args...); r.relay {
		r.send(event{Kind: "note", Text: text})
	} else {
		fmt.Fprintf(r.out, "   %s\n", text)
	}
}

// Detail says what the running step is at. It is shown with the next
// heartbeat, so it may be called as often as there is something to say.
func (r *Reporter) Detail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.detail = fmt.Sprintf(format, args...)
	if r.relay && r.detail != "" {
		r.send(event{Kind: "detail", Text: r.detail})
	}
}

// Run runs the steps in their order and stops at the first that fails or when
// the context ends. The error names the step.
func (r *Reporter) Run(ctx context.Context, steps ...Step) error {
	for _, step := range steps {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := r.run(ctx, step); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
	}
	return nil
}

// Timings returns what has been run so far.
func (r *Reporter) Timings() []Timing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Timing(nil), r.timings...)
}

func (r *Reporter) run(ctx context.Context, step Step) error {
	r.Detail("")
	start := time.Now()
	done := make(chan struct{})
	var beat sync.WaitGroup
	r.begin(step.Name)
	if !r.relay {
		beat.Go(func() { r.beat(step.Name, start, done) })
	}
	err := step.Run(ctx)
	close(done)
	beat.Wait()

	r.mu.Lock()
	defer r.mu.Unlock()
	took := time.Since(start)
	r.timings = append(r.timings, Timing{Step: step.Name, Seconds: float64(took.Milliseconds()) / 1000, Failed: err != nil})
	if r.relay {
		r.send(event{Kind: "end", Failed: err != nil})
		return err
	}
	mark := "✓"
	if err != nil {
		mark = "✗"
	}
	r.clear()
	fmt.Fprintf(r.out, " %s %s %s\n", mark, pad(step.Name, 58), seconds(took))
	return err
}

// beat shows that a step is alive until done is closed.
// begin tells a player of the step; what is shown here is shown at its end.
func (r *Reporter) begin(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.relay {
		r.send(event{Kind: "begin", Text: name})
	}
}

func (r *Reporter) beat(name string, start time.Time, done <-chan struct{}) {
	ticker := time.NewTicker(r.heartbeat)
	defer ticker.Stop()
	for frame := 0; ; frame++ {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		r.mu.Lock()
		line := name
		if r.detail != "" {
			line += ": " + r.detail
		}
		if r.terminal {
			r.clear()
			spinner := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
			fmt.Fprintf(r.out, " %c %s %s", spinner[frame%len(spinner)], pad(line, 58), seconds(time.Since(start)))
		} else {
			fmt.Fprintf(r.out, " … %s %s\n", pad(line, 58), seconds(time.Since(start)))
		}
		r.mu.Unlock()
	}
}

// clear takes back the spinner's line.
func (r *Reporter) clear() {
	if r.terminal {
		fmt.Fprint(r.out, "\r\x1b[K")
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%7.1f s", d.Seconds()) }

// pad brings text to a width, so that the times stand in one column at 80.
func pad(text string, width int) string {
	runes := []rune(text)
	if len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text + strings.Repeat(" ", width-len(runes))
}
