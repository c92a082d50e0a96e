package benchtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// What a child is to read, and where.
const (
	sideVariable  = "BENCHTEST_SIDE"
	filesVariable = "BENCHTEST_FILES"
)

// peak is the most memory in bytes that a process had which read the files this
// way, once, with the garbage collector as it is: VmHWM of /proc/self/status. It
// counts all that a program pays for, the file in memory and garbage as well. The
// process is one of its own, since this one's memory is full of what was run
// before, and ru_maxrss of a child begins with its parent's.
func peak(b *testing.B, side, dir string) int {
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	child := exec.Command(program, "-test.run=^$", "-test.bench=^"+b.Name()+"$", "-test.benchtime=1x")
	child.Env = append(os.Environ(), sideVariable+"="+side, filesVariable+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.Output()
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(out)
	if err != nil || m == nil {
		b.Fatalf("reading %s as %s in a process of its own: %v\n%s", dir, side, err, out)
	}
	kB, err := strconv.Atoi(string(m[1]))
	if err != nil {
		b.Fatal(err)
	}
	return kB << 10
}

// inChild reads the files where this process is one that peak started, and prints
// what memory that took.
func inChild(decode Decode) bool {
	name, dir := os.Getenv(sideVariable), os.Getenv(filesVariable)
	if name == "" {
		return false
	}
	for _, s := range sides([]string{".json"}, decode) {
		if s.name != name {
			continue
		}
		left, err := s.read(dir)
		status, statusErr := os.ReadFile("/proc/self/status")
		runtime.KeepAlive(left)
		if err != nil || statusErr != nil {
			fmt.Println(err, statusErr)
			return true
		}
		for line := range bytes.Lines(status) {
			if strings.HasPrefix(string(line), "VmHWM:") {
				fmt.Printf("\n%s", line)
			}
		}
	}
	return true
}
