//go:build e2e

package e2e

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"service-dataplane/internal/guest"
	"service-dataplane/internal/host"
)

// TestGuestEndsWithTheRunner ends a runner while its guest is at work, as Ctrl-C
// does and as nothing can be prepared for, and looks for what is left.
func TestGuestEndsWithTheRunner(t *testing.T) {
	if finding := host.InspectGuest(t.Context(), host.Local()); finding.State == host.Missing {
		t.Skipf("%s\n  → %s", finding.Text, finding.Cure)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			suite.Test(t, features.New("guest").
				Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
					runner := exec.Command(filepath.Join(repo, "bin", "runner"), "run", "service-path", "--scenario", "nftables",
						"--kernel", "guest", "--repo", repo, "--results", dir, "--work-dir", t.TempDir(), "--node-image", nodeImage())
					reader, writer := io.Pipe()
					runner.Stderr = writer
					if err := runner.Start(); err != nil {
						t.Fatal(err)
					}
					var stderr lines
					stderr.read(reader)
					defer func() {
						_ = runner.Process.Signal(signal)
						_ = runner.Wait()
						writer.Close()
					}()
					stderr.wait(t, "✓ boot the guest")
					if guests(t) == "" {
						t.Error("no guest is there: this would find none afterwards either")
					}
					return ctx
				}).
				Assess("no guest is left", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
					for range 50 {
						if guests(t) == "" {
							return ctx
						}
						time.Sleep(100 * time.Millisecond)
					}
					t.Error("left behind: ", guests(t))
					return ctx
				}).
				Assess("after clean no file is left, and no mount ever was", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
					if out, err := exec.Command(filepath.Join(repo, "bin", "runner"), "clean", "--repo", repo).CombinedOutput(); err != nil {
						t.Errorf("runner clean: %v: %s", err, out)
					}
					for _, base := range []string{"/dev/shm", "/var/tmp"} {
						if files, _ := filepath.Glob(filepath.Join(base, guest.Scratch+"*")); len(files) > 0 {
							t.Errorf("left behind: %v", files)
						}
					}
					if mounts := string(read(t, "/proc/self/mounts")); strings.Contains(mounts, guest.Scratch) {
						t.Errorf("left behind: %s", mounts)
					}
					return ctx
				}).
				Feature())
		})
	}
}

// guests are the processes that run a guest of this project, by their numbers.
func guests(t *testing.T) string {
	t.Helper()
	var found []string
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		argv, _ := os.ReadFile(file) // it may have ended meanwhile
		if program, rest, _ := strings.Cut(string(argv), "\x00"); filepath.Base(program) == "qemu-system-x86_64" && strings.Contains(rest, guest.Scratch) {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return strings.Join(found, " ")
}
