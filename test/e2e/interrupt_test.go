//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// exitInterrupted is the runner's exit code for an interrupted run.
const exitInterrupted = 4

// TestInterrupt interrupts a run as Ctrl-C does, at each of its parts that has
// side effects, and looks for what it left behind.
func TestInterrupt(t *testing.T) {
	tests := []struct {
		during string
		// when returns at the moment to interrupt.
		when func(t *testing.T, stderr *lines)
		// not must not have been reached.
		not string
	}{
		{"cluster creation", func(t *testing.T, _ *lines) { waitForContainer(t) }, "✓ create cluster"},
		{"the probe", func(t *testing.T, stderr *lines) { stderr.wait(t, "✓ wait until every node") }, "✓ send"},
		{"collection", func(t *testing.T, stderr *lines) { stderr.wait(t, "✓ send") }, "✓ collect"},
	}
	for _, test := range tests {
		t.Run(test.during, func(t *testing.T) {
			dir := t.TempDir()
			var stderr lines
			code := -1
			suite.Test(t, features.New("interrupt").
				Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
					runner := exec.Command(filepath.Join(repo, "bin", "runner"), "run", "service-path",
						"--scenario", "iptables", "--repo", repo, "--results", dir, "--work-dir", t.TempDir(), "--node-image", nodeImage())
					reader, writer := io.Pipe()
					runner.Stderr = writer
					if err := runner.Start(); err != nil {
						t.Fatal(err)
					}
					// Also where the moment never comes.
					defer func() {
						_ = runner.Process.Signal(os.Interrupt)
						_ = runner.Wait()
						writer.Close()
						code = runner.ProcessState.ExitCode()
					}()
					stderr.read(reader)
					test.when(t, &stderr)
					return ctx
				}).
				Assess("it was interrupted there", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
					if code != exitInterrupted || stderr.has(test.not) {
						t.Errorf("exit code %d, want %d, before %q:\n%s", code, exitInterrupted, test.not, stderr.all())
					}
					return ctx
				}).
				Assess("no node is left", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
					assertNothingLeft(t)
					return ctx
				}).
				Assess("no half-written result is left", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
					files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
					hidden, _ := filepath.Glob(filepath.Join(dir, "*", ".*"))
					if files = append(files, hidden...); err != nil || len(files) > 0 {
						t.Errorf("left in the results: %v (%v)", files, err)
					}
					return ctx
				}).
				Feature())
		})
	}
}

func waitForContainer(t *testing.T) {
	t.Helper()
	for range 600 {
		if names, _ := nodes(t.Context()); names != "" {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatal("no container of a cluster appeared within 2 minutes")
}

// lines are what a process wrote so far.
type lines struct {
	seen []string
	next chan string
}

func (l *lines) read(r io.Reader) {
	l.next = make(chan string, 1000)
	go func() {
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			l.next <- scanner.Text()
		}
		close(l.next)
	}()
}

// wait returns when a line contains text.
func (l *lines) wait(t *testing.T, text string) {
	t.Helper()
	limit := time.After(5 * time.Minute)
	for {
		select {
		case line, open := <-l.next:
			if !open {
				t.Fatalf("the run ended before %q:\n%s", text, l.all())
			}
			l.seen = append(l.seen, line)
			if strings.Contains(line, text) {
				return
			}
		case <-limit:
			t.Fatalf("no %q within 5 minutes:\n%s", text, strings.Join(l.seen, "\n"))
		}
	}
}

// all returns every line, waiting for the process to close its end.
func (l *lines) all() string {
	for line := range l.next {
		l.seen = append(l.seen, line)
	}
	return strings.Join(l.seen, "\n")
}

func (l *lines) has(text string) bool { return strings.Contains(l.all(), text) }
