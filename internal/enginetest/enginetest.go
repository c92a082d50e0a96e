// Package enginetest stands in for the docker command in tests of code that asks
// it: what an engine answers is the test's, what was asked is recorded.
package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Put puts a docker command on the PATH that does what script, of sh, says, and
// returns what was asked of it, one command line each.
func Put(t *testing.T, script string) func() []string {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	program := fmt.Sprintf("#!/bin/sh\necho \"$*\" >> %s\n%s\n", log, script)
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() []string {
		asked, err := os.ReadFile(log)
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSpace(string(asked)), "\n")
	}
}
