package command

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const boundHelper = "SERVICE_DATAPLANE_TEST_BOUND"

// TestBoundEndsWithThisProcess kills a process as nothing can be prepared for and
// looks for the program it ran.
func TestBoundEndsWithThisProcess(t *testing.T) {
	if os.Getenv(boundHelper) != "" {
		_ = Run(context.Background(), Command{Argv: []string{"sh", "-c", "echo pid $$; exec sleep 600"}, Stdout: os.Stdout, Bound: true})
		return
	}
	helper := exec.Command(os.Args[0], "-test.run", "^TestBoundEndsWithThisProcess$")
	helper.Env = append(os.Environ(), boundHelper+"=1")
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		fmt.Sscanf(lines.Text(), "pid %d", &pid)
	}
	if err := helper.Process.Kill(); err != nil || pid == 0 {
		t.Fatalf("program %d: %v", pid, err)
	}
	_ = helper.Wait()
	for range 100 {
		// Who adopts it may be slow to bury it.
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || strings.Contains(string(status), "State:\tZ") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("program %d goes on without the process that ran it", pid)
}
