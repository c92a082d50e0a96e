package imagebuild

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"service-dataplane/internal/command"
	"service-dataplane/internal/imagelayer"
)

// ReadList reads a file of one entry a line, with # comments.
func ReadList(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var entries []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			entries = append(entries, line)
		}
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s lists nothing", file)
	}
	return entries, nil
}

// library is a line of ldd(1).
var library = regexp.MustCompile(`(/\S+) \(0x`)

// Files are the files of a root file system that match the patterns listed in
// a file, with the shared libraries they load. A line "NAME -> TARGET" is a
// symbolic link. A pattern that matches nothing is an error.
func Files(ctx context.Context, root, list string) ([]imagelayer.Entry, error) {
	patterns, err := ReadList(list)
	if err != nil {
		return nil, err
	}
	var entries []imagelayer.Entry
	var linked []string // programs, and plugins that they load by themselves
	for _, pattern := range patterns {
		if link, target, ok := strings.Cut(pattern, " -> "); ok {
			entries = append(entries, imagelayer.Entry{Path: link, Link: target})
			continue
		}
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: nothing in the root file system matches %s", filepath.Base(list), pattern)
		}
		for _, file := range found {
			inRoot := strings.TrimPrefix(file, root)
			real, err := resolve(root, inRoot)
			if err != nil {
				return nil, err
			}
			if info, err := os.Stat(real); err != nil || info.IsDir() {
				return nil, fmt.Errorf("%s: %s is no file: %w", filepath.Base(list), inRoot, err)
			}
			entries = append(entries, imagelayer.Entry{Path: inRoot, From: real})
			if isELF(real) {
				linked = append(linked, inRoot)
			}
		}
	}
	libraries, err := command.Output(ctx, append([]string{"chroot", root, "ldd"}, linked...)...)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, match := range library.FindAllStringSubmatch(libraries, -1) {
		if file := path.Clean(match[1]); !seen[file] {
			seen[file] = true
			real, err := resolve(root, file)
			if err != nil {
				return nil, err
			}
			entries = append(entries, imagelayer.Entry{Path: file, From: real})
		}
	}
	return entries, nil
}

// Tree are the files below a directory, at a path of the image. skip leaves
// out what it returns true for, given the path below the directory.
func Tree(dir, at string, skip func(string) bool) ([]imagelayer.Entry, error) {
	var entries []imagelayer.Entry
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		switch {
		case skip(below) && entry.IsDir():
			return filepath.SkipDir
		case !skip(below) && entry.Type().IsRegular():
			entries = append(entries, imagelayer.Entry{Path: path.Join(at, below), From: file})
		}
		return nil
	})
	return entries, err
}

// resolve follows the links of a path as a process in root would: a target that
// begins with a slash is one below root.
func resolve(root, file string) (string, error) {
	for range 40 { // as many as the kernel follows (path_resolution(7))
		next, changed, err := follow(root, file)
		if err != nil || !changed {
			return filepath.Join(root, next), err
		}
		file = next
	}
	return "", fmt.Errorf("%s: too many levels of symbolic links", file)
}

// follow replaces the first link on the way to a file.
func follow(root, file string) (string, bool, error) {
	at := "/"
	parts := strings.Split(strings.Trim(path.Clean(file), "/"), "/")
	for i, part := range parts {
		at = path.Join(at, part)
		info, err := os.Lstat(filepath.Join(root, at))
		if err != nil {
			return "", false, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := os.Readlink(filepath.Join(root, at))
		if err != nil {
			return "", false, err
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(at), target)
		}
		return path.Join(append([]string{target}, parts[i+1:]...)...), true, nil
	}
	return at, false, nil
}

func isELF(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = f.Read(magic[:])
	return err == nil && string(magic[:]) == "\x7fELF"
}
