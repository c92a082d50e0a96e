package workload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"service-dataplane/internal/command"
	"service-dataplane/internal/imagelayer"
)

const repository = "localhost/service-dataplane/echo"

// Image is the echo image as an archive on this host.
type Image struct {
	// Reference has a tag made from the binary, so that another binary is
	// another image and pods are replaced.
	Reference string
	// Binary is the program itself, which the probe of the host runs.
	Binary string
	// Archive is the image in docker-archive form.
	Archive string
}

// Open opens the archive.
func (i Image) Open() (io.ReadCloser, error) { return os.Open(i.Archive) }

// BuildImage compiles cmd/echo of the tree at repo and packs it alone into an
// image, without an engine. The files are written below dir.
func BuildImage(ctx context.Context, repo, dir string) (Image, error) {
	image := Image{Binary: filepath.Join(dir, "echo"), Archive: filepath.Join(dir, "echo.tar")}
	err := command.Run(ctx, command.Command{
		Argv: []string{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", image.Binary, "./cmd/echo"},
		Dir:  repo,
		Env:  []string{"CGO_ENABLED=0", "GOFLAGS="},
	})
	if err != nil {
		return Image{}, err
	}
	binary, err := os.ReadFile(image.Binary)
	if err != nil {
		return Image{}, err
	}
	image.Reference = fmt.Sprintf("%s:%x", repository, sha256.Sum256(binary))[:len(repository)+13]

	layer, err := imagelayer.New([]imagelayer.Entry{{Path: "/echo", From: image.Binary}})
	if err != nil {
		return Image{}, err
	}
	packed, err := imagelayer.Image([]string{"/echo"}, layer)
	if err != nil {
		return Image{}, err
	}
	reference, err := name.NewTag(image.Reference)
	if err != nil {
		return Image{}, err
	}
	return image, tarball.WriteToFile(image.Archive, reference, packed)
}
