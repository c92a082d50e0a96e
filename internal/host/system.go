package host

import (
	"context"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"service-dataplane/internal/command"
)

// System is all that this package sees of a machine.
type System struct {
	// Files is the root file system.
	Files fs.FS
	// Run returns the standard output of a program, of a failed one too.
	Run func(ctx context.Context, argv ...string) (string, error)
	// FreeBytes is what an unprivileged user may still write below a directory.
	FreeBytes func(dir string) (uint64, error)
	UID       int
	CPUs      int
	// Arch as Go names it: amd64, arm64.
	Arch string
}

// Local is the machine this process runs on.
func Local() System {
	return System{
		Files: os.DirFS("/"),
		Run:   command.Output,
		FreeBytes: func(dir string) (uint64, error) {
			var s syscall.Statfs_t
			if err := syscall.Statfs(dir, &s); err != nil {
				return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
			}
			return s.Bavail * uint64(s.Bsize), nil
		},
		UID:  os.Getuid(),
		CPUs: runtime.NumCPU(),
		Arch: runtime.GOARCH,
	}
}

// read returns a file's content without the space around it. The path is
// absolute.
func (s System) read(path string) (string, error) {
	raw, err := fs.ReadFile(s.Files, strings.TrimPrefix(path, "/"))
	return strings.TrimSpace(string(raw)), err
}

func (s System) exists(path string) bool {
	_, err := fs.Stat(s.Files, strings.TrimPrefix(path, "/"))
	return err == nil
}

// number reads a file that holds one number, as those of /proc/sys do.
func (s System) number(path string) (int, error) {
	text, err := s.read(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// field returns what follows "name" and a separator in a file of such lines,
// "" if it is not there.
func (s System) field(path, name, separator string) string {
	text, _ := s.read(path)
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+separator); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
