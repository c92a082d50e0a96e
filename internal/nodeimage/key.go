package nodeimage

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"service-dataplane/internal/command"
	"service-dataplane/internal/imagelayer"
)

// The builder is part of what it builds: an image made by other code is
// another image.
//
//go:embed build.go rootfs.go components.go
var builder embed.FS

// inputs is everything that goes into a source image.
type inputs struct {
	Sources     fs.FS   // images/node
	Builder     []fs.FS // source of this package and of the layers
	GoVersion   string  // of the toolchain that compiles
	KindVersion string  // of the module the static files come from
	Release     string  // Debian release of the root file system
	Arch        string
}

// key returns a hash over all inputs, the same for the same bytes and names
// whatever their order on disk.
func (in inputs) key() (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n%s\n%s\n", in.GoVersion, in.KindVersion, in.Release, in.Arch)
	for _, tree := range append([]fs.FS{in.Sources}, in.Builder...) {
		err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, ".md") {
				return err
			}
			file, err := tree.Open(path)
			if err != nil {
				return err
			}
			defer file.Close()
			content := sha256.New()
			if _, err := io.Copy(content, file); err != nil {
				return err
			}
			fmt.Fprintf(hash, "%s %x\n", path, content.Sum(nil))
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

func readInputs(ctx context.Context, repo string) (inputs, error) {
	kind, err := module(ctx, repo, "{{.Version}}")
	if err != nil {
		return inputs{}, err
	}
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return inputs{}, err
	}
	name := codename(string(release))
	if name == "" {
		return inputs{}, fmt.Errorf("/etc/os-release has no VERSION_CODENAME: the root file system is built for a Debian or Ubuntu release")
	}
	return inputs{
		Sources:     os.DirFS(filepath.Join(repo, "images", "node")),
		Builder:     []fs.FS{builder, imagelayer.Source},
		GoVersion:   runtime.Version(),
		KindVersion: kind,
		Release:     name,
		Arch:        runtime.GOARCH,
	}, nil
}

// module asks the go command about the kind module, downloading it if it is
// not in the module cache yet.
func module(ctx context.Context, repo, format string) (string, error) {
	const path = "sigs.k8s.io/kind"
	var out strings.Builder
	for _, argv := range [][]string{
		{"go", "mod", "download", path},
		{"go", "list", "-m", "-f", format, path},
	} {
		if err := command.Run(ctx, command.Command{Argv: argv, Dir: repo, Stdout: &out}); err != nil {
			return "", err
		}
	}
	return strings.TrimSpace(out.String()), nil
}

// codename returns VERSION_CODENAME of an os-release(5) file.
func codename(osRelease string) string {
	for line := range strings.Lines(osRelease) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}
