package imagebuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"service-dataplane/internal/command"
	"service-dataplane/internal/progress"
)

// Debian is a root file system of Debian packages.
type Debian struct {
	// Root is the directory it is made in.
	Root string
	// Release by its name ("bookworm").
	Release string
	// Variant of mmdebstrap: essential, or extract, which unpacks the packages
	// and what they depend on and runs none of their scripts.
	Variant  string
	Packages []string
	// Options are further ones of mmdebstrap: hooks, paths to leave out.
	Options []string
}

// Install makes the root file system from the host's own apt sources. It needs
// root and mmdebstrap.
func (d Debian) Install(ctx context.Context, show *progress.Reporter) error {
	if os.Geteuid() != 0 {
		return errors.New("building an image from source needs root (mmdebstrap, chroot)")
	}
	sources, err := aptSources("/etc/apt")
	if err != nil {
		return err
	}
	argv := []string{"mmdebstrap", "--mode=root", "--variant=" + d.Variant, "--include=" + strings.Join(d.Packages, ","),
		"--dpkgopt=force-unsafe-io"} // a build that dies is begun again
	for _, path := range []string{"doc", "info", "lintian", "locale", "man"} {
		argv = append(argv, "--dpkgopt=path-exclude=/usr/share/"+path+"/*")
	}
	argv = append(argv, d.Options...)
	if hook := "/usr/share/mmdebstrap/hooks/merged-usr"; exists(hook) {
		argv = append(argv, "--hook-dir="+hook)
	}
	argv = append(argv, d.Release, d.Root)
	return command.Run(ctx, command.Command{
		Argv:   append(argv, sources...),
		Stderr: &progress.LineWriter{Line: func(line string) { show.Detail("%s", strings.TrimPrefix(line, "I: ")) }},
	})
}

// aptSources returns the distribution's own source files below dir. Files a
// user added name repositories the root file system must not depend on.
func aptSources(dir string) ([]string, error) {
	var found []string
	for _, name := range []string{"sources.list", "sources.list.d/debian.sources", "sources.list.d/ubuntu.sources"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Size() > 0 {
			found = append(found, filepath.Join(dir, name))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no sources.list, debian.sources or ubuntu.sources: apt on this host has no distribution to install from", dir)
	}
	return found, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
