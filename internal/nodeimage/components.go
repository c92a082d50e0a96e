package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"service-dataplane/internal/command"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/imagelayer"
)

// componentPath is where the binary of all Kubernetes components lies, in the
// node and in the component images.
const componentPath = "/usr/local/bin/kubernetes"

// unpackImages builds the images a kubeadm cluster starts and unpacks them
// into the node's containerd store, so that no node has to.
func (b *build) unpackImages(ctx context.Context) error {
	archive := b.path("root", "component-images.tar")
	if err := b.writeComponentImages(ctx, archive); err != nil {
		return err
	}
	b.show.Detail("containerd unpacks")
	// A namespace of its own takes its mounts and processes with it. Once a
	// layer is unpacked its blob is never read again: containerd does the
	// same where discard_unpacked_layers is set.
	const script = `
		mount -t proc proc /proc
		containerd --root /var/lib/containerd --state /run/containerd-build --address /run/build.sock --log-level warn &
		ctr="ctr --address /run/build.sock --namespace k8s.io"
		for i in $(seq 100); do $ctr version >/dev/null 2>&1 && break; sleep 0.1; done
		$ctr images import /component-images.tar >/dev/null
		$ctr content ls -q | while read -r digest; do
			size=$($ctr content ls | awk -v d="$digest" '$1 == d {print $2}')
			case $size in *MB | *MiB | *GB | *GiB) $ctr content rm "$digest" >/dev/null ;; esac
		done
		# Their files go with the next collection of garbage: this waits for one.
		lease=$($ctr leases create)
		$ctr leases delete --sync "$lease" >/dev/null
		if find /var/lib/containerd/io.containerd.content.v1.content -size +2M | grep . >&2; then
			echo "these blobs are still there" >&2
			exit 1
		fi
		kill %1 && wait %1 || true`
	err := command.Run(ctx, command.Command{Argv: []string{
		"unshare", "--mount", "--pid", "--fork", "--kill-child",
		"chroot", b.path("root"), "bash", "-euo", "pipefail", "-c", script}})
	if err := errors.Join(err, os.Remove(archive)); err != nil {
		return err
	}
	for _, left := range []string{"run/containerd-build", "run/build.sock", "run/build.sock.ttrpc"} {
		if err := os.RemoveAll(b.path("root", left)); err != nil {
			return err
		}
	}
	return b.linkComponents()
}

// linkComponents makes the node's own kubelet, kubeadm and kubectl the file
// that the component images hold: the image carries it once.
func (b *build) linkComponents() error {
	pattern := b.path("root", "var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/*/fs", componentPath)
	found, _ := filepath.Glob(pattern)
	if len(found) != 1 {
		return fmt.Errorf("%s matches %d files, want the one of the shared layer", pattern, len(found))
	}
	return os.Link(found[0], b.path("root", componentPath))
}

func (b *build) writeComponentImages(ctx context.Context, archive string) error {
	kubernetes := []imagelayer.Entry{{Path: componentPath, From: b.path("bin", "kubernetes")}}
	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"} {
		kubernetes = append(kubernetes, imagelayer.Entry{Path: filepath.Join(filepath.Dir(componentPath), component), Link: componentPath})
	}
	proxyFiles, err := b.kubeProxyFiles(ctx)
	if err != nil {
		return err
	}
	base, err := imagelayer.New(kubernetes)
	if err != nil {
		return err
	}
	proxy, err := imagelayer.New(proxyFiles)
	if err != nil {
		return err
	}
	coredns, err := imagelayer.New([]imagelayer.Entry{{Path: "/coredns", From: b.path("bin", "coredns")}})
	if err != nil {
		return err
	}
	pause, err := imagelayer.New([]imagelayer.Entry{{Path: "/pause", From: b.path("bin", "pause")}})
	if err != nil {
		return err
	}
	recipes := map[string]struct {
		layers     []v1.Layer
		entrypoint []string
	}{
		"kube-apiserver":          {layers: []v1.Layer{base}},
		"kube-controller-manager": {layers: []v1.Layer{base}},
		"kube-scheduler":          {layers: []v1.Layer{base}},
		"etcd":                    {layers: []v1.Layer{base}},
		"kube-proxy":              {layers: []v1.Layer{base, proxy}},
		"coredns":                 {layers: []v1.Layer{coredns}, entrypoint: []string{"/coredns"}},
		"pause":                   {layers: []v1.Layer{pause}, entrypoint: []string{"/pause"}},
	}
	references, err := b.imageNames(ctx)
	if err != nil {
		return err
	}
	images := map[name.Reference]v1.Image{}
	for _, reference := range references {
		component := filepath.Base(reference.Context().RepositoryStr())
		recipe, ok := recipes[component]
		if !ok {
			return fmt.Errorf("kubeadm wants an image %s that this builder cannot make", reference)
		}
		b.show.Detail("%s", reference)
		if images[reference], err = imagelayer.Image(recipe.entrypoint, recipe.layers...); err != nil {
			return err
		}
	}
	return tarball.MultiRefWriteToFile(archive, images)
}

// imageNames asks kubeadm which images a cluster of its version starts, and
// kind's containerd configuration for the sandbox image.
func (b *build) imageNames(ctx context.Context) ([]name.Reference, error) {
	kubeadm := b.path("bin", "kubeadm")
	if err := os.Symlink("kubernetes", kubeadm); err != nil {
		return nil, err
	}
	list, err := command.Output(ctx, kubeadm, "config", "images", "list", "--kubernetes-version", kubernetesVersion)
	if err != nil {
		return nil, err
	}
	names := strings.Fields(list)
	config, err := os.ReadFile(b.path("root", "etc/containerd/config.toml"))
	if err != nil {
		return nil, err
	}
	sandbox := regexp.MustCompile(`sandbox_image = "([^"]+)"`).FindSubmatch(config)
	if sandbox == nil {
		return nil, fmt.Errorf("kind's containerd configuration names no sandbox_image")
	}
	names = append(names, string(sandbox[1]))

	references := make([]name.Reference, len(names))
	for i, n := range names {
		if references[i], err = name.ParseReference(n); err != nil {
			return nil, err
		}
	}
	return references, nil
}

// kubeProxyFiles are the files of kube-proxy-files.txt with the shared
// libraries they load.
func (b *build) kubeProxyFiles(ctx context.Context) ([]imagelayer.Entry, error) {
	return imagebuild.Files(ctx, b.path("root"), filepath.Join(b.repo, "images", "node", "kube-proxy-files.txt"))
}
