package imagebuild

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// Builder is the code of this package that shapes an image: a builder adds it
// to its inputs, because an image made by other code is another image.
//
//go:embed compile.go debian.go files.go
var Builder embed.FS

// Inputs is everything that goes into an image.
type Inputs struct {
	// Trees are sources and builders. Files whose name ends in .md do not count.
	Trees []fs.FS
	// Values are versions of what is not in the trees, in a fixed order.
	Values []string
}

// Key returns a hash over all inputs, the same for the same bytes and names
// whatever their order on disk.
func (in Inputs) Key() (string, error) {
	hash := sha256.New()
	for _, value := range append([]string{runtime.Version(), runtime.GOARCH}, in.Values...) {
		fmt.Fprintln(hash, value)
	}
	for _, tree := range in.Trees {
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

// Release returns the name of this host's Debian or Ubuntu release.
func Release() (string, error) {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", err
	}
	name := codename(string(text))
	if name == "" {
		return "", fmt.Errorf("/etc/os-release has no VERSION_CODENAME: root file systems are built for a Debian or Ubuntu release")
	}
	return name, nil
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
