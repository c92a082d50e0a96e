package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"service-dataplane/internal/progress"
)

// TestLock: one run at a time, whoever asks, and none once it has ended.
func TestLock(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	unlock, err := lock()
	if err != nil {
		t.Fatal(err)
	}
	_, err = lock()
	if want := fmt.Sprintf("another run is under way (pid %d)", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a second lock: %v, want %q", err, want)
	}
	results := t.TempDir()
	draft := filepath.Join(results, "service-path", ".iptables.draft-1")
	if err := os.MkdirAll(draft, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Clean(t.Context(), t.TempDir(), results, progress.New(t.Output(), false)); err == nil || !strings.Contains(err.Error(), "under way") {
		t.Errorf("clean while a run is under way: %v", err)
	}
	if _, err := os.Stat(draft); err != nil {
		t.Errorf("clean has taken a running run's draft: %v", err)
	}

	unlock()
	again, err := lock()
	if err != nil {
		t.Fatalf("after it was released: %v", err)
	}
	again()
}

// TestLockNamesTheHolder, also after one whose pid had more digits.
func TestLockNamesTheHolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(os.TempDir(), "service-dataplane.lock")
	if err := os.WriteFile(file, []byte("12345678901234567890"), 0o644); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock() // the file is no lock, what the kernel holds is
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if got, err := os.ReadFile(file); err != nil || string(got) != fmt.Sprint(os.Getpid()) {
		t.Errorf("%s holds %q, %v", file, got, err)
	}
}

func TestLockWithoutPlace(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nosuch"))
	if _, err := lock(); err == nil {
		t.Error("locked without a file")
	}
}
