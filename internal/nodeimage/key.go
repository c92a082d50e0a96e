package nodeimage

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"path/filepath"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/imagelayer"
)

// The builder is part of what it builds.
//
//go:embed build.go rootfs.go components.go
var builder embed.FS

// inputs is what goes into a source image.
type inputs struct {
	imagebuild.Inputs
	release string // Debian release of the root file system
	kind    string // version of the module the static files come from
}

func readInputs(ctx context.Context, repo string) (inputs, error) {
	kind, err := imagebuild.Module(ctx, repo, kindModule, "{{.Version}}")
	if err != nil {
		return inputs{}, err
	}
	release, err := imagebuild.Release()
	if err != nil {
		return inputs{}, err
	}
	return inputs{
		Inputs: imagebuild.Inputs{
			Trees:  []fs.FS{os.DirFS(filepath.Join(repo, "images", "node")), builder, imagebuild.Builder, imagelayer.Source},
			Values: []string{kind, release},
		},
		release: release,
		kind:    kind,
	}, nil
}
