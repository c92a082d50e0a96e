// Package imagelayer packs files of this host into reproducible image layers:
// the same files give the same digest, whoever packs them and when.
package imagelayer

import (
	"archive/tar"
	"compress/gzip"
	"embed"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Source is this package's code: whoever keys what it packed adds it.
//
//go:embed layer.go
var Source embed.FS

// Entry is one file of a layer.
type Entry struct {
	Path string // absolute, in the image
	From string // file on this host; "" for a link
	Link string // target of a symbolic link
}

// New returns the layer of the entries. Their content is read again from the
// files whenever the layer is, never held whole.
func New(entries []Entry) (v1.Layer, error) {
	// Archives go to an engine on this machine: their size matters little.
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		reader, writer := io.Pipe()
		go func() { writer.CloseWithError(write(writer, entries)) }()
		return reader, nil
	}, tarball.WithCompressionLevel(gzip.BestSpeed))
}

// Image returns an image of this machine's architecture made of layers.
func Image(entrypoint []string, layers ...v1.Layer) (v1.Image, error) {
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	file.Config.Entrypoint = entrypoint
	return mutate.ConfigFile(image, file)
}

func write(w io.Writer, entries []Entry) error {
	out := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{Name: strings.TrimPrefix(e.Path, "/"), Mode: 0o755, Format: tar.FormatPAX}
		if e.From == "" {
			header.Typeflag, header.Linkname = tar.TypeSymlink, e.Link
			if err := out.WriteHeader(header); err != nil {
				return err
			}
			continue
		}
		if err := writeFile(out, header, e.From); err != nil {
			return err
		}
	}
	return out.Close()
}

func writeFile(out *tar.Writer, header *tar.Header, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(out, file)
	return err
}

// Sort brings entries into the order of their paths.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
}
