package guest

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
)

const repository = "localhost/service-dataplane/guest"

// The builder is part of what it builds.
//
//go:embed image.go
var builder embed.FS

// Resolve returns the image of the guest's root file system, building it unless
// this engine has that of the present inputs. repo is the root of this
// project's tree. Building needs root and mmdebstrap.
func Resolve(ctx context.Context, repo string, show *progress.Reporter) (imagebuild.Image, error) {
	release, err := imagebuild.Release()
	if err != nil {
		return imagebuild.Image{}, err
	}
	source, err := filepath.Abs(filepath.Join(repo, "images", "guest"))
	if err != nil {
		return imagebuild.Image{}, err
	}
	key, err := imagebuild.Inputs{
		Trees:  []fs.FS{os.DirFS(source), builder, imagebuild.Builder},
		Values: []string{release},
	}.Key()
	if err != nil {
		return imagebuild.Image{}, err
	}
	reference := fmt.Sprintf("%s:%s-%s", repository, release, key)
	if !imagebuild.Present(ctx, reference) {
		// Memory-backed /tmp may be small.
		dir, err := os.MkdirTemp("/var/tmp", Scratch+"image-")
		if err != nil {
			return imagebuild.Image{}, err
		}
		defer os.RemoveAll(dir)
		root := filepath.Join(dir, "root")
		err = show.Run(ctx,
			progress.Step{Name: "install Debian packages of the guest", Run: func(ctx context.Context) error {
				return debian(ctx, source, root, release, show)
			}},
			progress.Step{Name: "import the guest's image into the engine", Run: func(ctx context.Context) error {
				_, err := imagebuild.Import(ctx, root, reference)
				return err
			}},
		)
		if err != nil {
			return imagebuild.Image{}, fmt.Errorf("build guest image %s: %w", reference, err)
		}
	}
	return imagebuild.Inspect(ctx, reference, imagebuild.Source, key)
}

// drivers of hardware that no guest has are most of a kernel package.
var drivers = []string{
	"ata", "bluetooth", "gpu", "hwmon", "iio", "infiniband", "input", "isdn", "media", "mmc", "mtd",
	"net/ethernet", "net/wireless", "scsi", "staging", "target", "thunderbolt", "usb",
}

func debian(ctx context.Context, source, root, release string, show *progress.Reporter) error {
	packages, err := imagebuild.ReadList(filepath.Join(source, "packages.txt"))
	if err != nil {
		return err
	}
	options := []string{
		// Before the kernel, whose installation makes the initial RAM file system.
		"--essential-hook=copy-in " + filepath.Join(source, "initramfs-tools") + " /etc",
		"--customize-hook=copy-in " + filepath.Join(source, "guest-init") + " /sbin",
		"--customize-hook=upload " + filepath.Join(source, "modules.txt") + " /etc/guest-modules.txt",
		"--dpkgopt=path-exclude=/lib/modules/*/kernel/sound/*",
	}
	for _, d := range drivers {
		options = append(options, "--dpkgopt=path-exclude=/lib/modules/*/kernel/drivers/"+d+"/*")
	}
	return imagebuild.Debian{Root: root, Release: release, Variant: "minbase", Packages: packages, Options: options}.Install(ctx, show)
}
