package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"service-dataplane/internal/command"
	"service-dataplane/internal/progress"
)

// diskSize is what the guest sees; on the host the file has holes.
const diskSize = "12G"

// makeDisk makes the guest's disk from its image, with the node image in the
// engine's store.
func (m *Machine) makeDisk(ctx context.Context, show *progress.Reporter) error {
	root := m.path("root")
	if err := m.unpack(ctx, root); err != nil {
		return fmt.Errorf("unpack %s: %w", m.options.Image.Reference, err)
	}
	show.Detail("load %s", m.options.NodeImage)
	if err := m.preload(ctx, root); err != nil {
		return fmt.Errorf("load the node image into the guest's engine: %w", err)
	}
	for from, to := range map[string]string{"boot/vmlinuz-*": "vmlinuz", "boot/initrd.img-*": "initrd"} {
		found, _ := filepath.Glob(filepath.Join(root, from))
		if len(found) != 1 {
			return fmt.Errorf("the guest's image has %d files /%s, want one", len(found), from)
		}
		if err := os.Rename(found[0], m.path(to)); err != nil {
			return err
		}
	}
	show.Detail("make a file system")
	err := command.Run(ctx, command.Command{Argv: []string{"mke2fs", "-q", "-F", "-t", "ext4",
		"-O", "^has_journal,^metadata_csum", "-m", "0", "-E", "lazy_itable_init=1,root_owner=0:0",
		"-d", root, m.path("disk"), diskSize}, Bound: true})
	return errors.Join(err, os.RemoveAll(root))
}

// unpack makes a directory of the image's files.
func (m *Machine) unpack(ctx context.Context, root string) error {
	archive := m.path("guest.tar")
	defer os.Remove(archive)
	if _, err := command.Output(ctx, "docker", "save", "--output", archive, m.options.Image.Reference); err != nil {
		return err
	}
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return err
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	files := mutate.Extract(image)
	defer files.Close()
	return command.Run(ctx, command.Command{
		Argv:  []string{"tar", "--extract", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--directory", root},
		Stdin: io.Reader(files),
		Bound: true,
	})
}

// preload lets a second engine, which sees no network and ends with its
// namespaces, load the node image into the guest's store.
func (m *Machine) preload(ctx context.Context, root string) error {
	archive := m.path("node.tar")
	defer os.Remove(archive)
	if _, err := command.Output(ctx, "docker", "save", "--output", archive, m.options.NodeImage); err != nil {
		return err
	}
	const script = `
		mount --make-rprivate /
		mount -t proc proc /proc
		mount -t tmpfs tmpfs /run
		echo '{}' >/run/daemon.json
		dockerd --config-file /run/daemon.json --data-root "$1" --exec-root /run/exec --pidfile /run/docker.pid \
			--host unix:///run/docker.sock --bridge none --iptables=false --ip6tables=false --ip-forward=false \
			--storage-driver overlay2 --log-level warn >/run/log 2>&1 &
		engine=$!
		export DOCKER_HOST=unix:///run/docker.sock
		for i in $(seq 100); do docker info >/dev/null 2>&1 && break; sleep 0.2; done
		docker load --quiet --input "$2" >/dev/null || { tail -n 5 /run/log >&2; exit 1; }
		kill $engine && wait $engine || true`
	store := filepath.Join(root, "var/lib/docker")
	if err := os.MkdirAll(store, 0o710); err != nil {
		return err
	}
	return command.Run(ctx, command.Command{Argv: []string{
		"unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
		"bash", "-euo", "pipefail", "-c", script, "bash", store, archive}, Bound: true})
}
