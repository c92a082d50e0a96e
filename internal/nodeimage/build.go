package nodeimage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"service-dataplane/internal/command"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
)

// kubernetesVersion is what images/node/kubernetes/go.mod pins; it names the
// version the components report and kubeadm asks images for.
const kubernetesVersion = "v1.35.0"

const (
	repository = "localhost/service-dataplane/node"
	kindModule = "sigs.k8s.io/kind"
)

// build is one build of the source image in a directory of its own.
type build struct {
	repo string
	dir  string // removed when the build ends
	in   inputs
	show *progress.Reporter
}

func (b *build) path(elements ...string) string {
	return filepath.Join(append([]string{b.dir}, elements...)...)
}

// fromSource returns the image built from the present inputs, building it
// unless this engine has it.
func fromSource(ctx context.Context, repo string, show *progress.Reporter) (imagebuild.Image, error) {
	in, err := readInputs(ctx, repo)
	if err != nil {
		return imagebuild.Image{}, err
	}
	key, err := in.Key()
	if err != nil {
		return imagebuild.Image{}, err
	}
	reference := fmt.Sprintf("%s:%s-%s", repository, kubernetesVersion, key)
	if !imagebuild.Present(ctx, reference) {
		// Hard links into the image's own containerd store need one file
		// system, and memory-backed /tmp may be small.
		dir, err := os.MkdirTemp("/var/tmp", "service-dataplane-node-")
		if err != nil {
			return imagebuild.Image{}, err
		}
		defer os.RemoveAll(dir)
		b := &build{repo: repo, dir: dir, in: in, show: show}
		if err := b.run(ctx, reference); err != nil {
			return imagebuild.Image{}, fmt.Errorf("build node image %s: %w", reference, err)
		}
	}
	return imagebuild.Inspect(ctx, reference, imagebuild.Source, key)
}

func (b *build) run(ctx context.Context, reference string) error {
	return b.show.Run(ctx,
		progress.Step{Name: "compile Kubernetes " + kubernetesVersion + " and etcd", Run: b.compileKubernetes},
		progress.Step{Name: "compile CoreDNS, pause, crictl, CNI plugins", Run: b.compileAddons},
		progress.Step{Name: "install Debian packages into a root file system", Run: b.debian},
		progress.Step{Name: "add binaries and kind's static files", Run: b.assemble},
		progress.Step{Name: "unpack component images into containerd", Run: b.unpackImages},
		progress.Step{Name: "import the node image into the engine", Run: func(ctx context.Context) error {
			return b.importImage(ctx, reference)
		}},
	)
}

func (b *build) compileKubernetes(ctx context.Context) error {
	flags := ""
	major, minor, _ := strings.Cut(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	// Without these kubeadm calls itself v0.0.0 and refuses its own cluster.
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean",
			pkg, kubernetesVersion, major, minor)
	}
	return b.compile(ctx, "kubernetes", flags, ".")
}

func (b *build) compileAddons(ctx context.Context) error {
	return b.compile(ctx, "addons", "", "./coredns", "./pause", "tool")
}

// compile builds packages of one nested module into bin/. The tags are
// Kubernetes' own.
func (b *build) compile(ctx context.Context, module, ldflags string, packages ...string) error {
	return imagebuild.Compile(ctx, imagebuild.Program{
		Dir:      filepath.Join(b.repo, "images", "node", module),
		Out:      b.path("bin"),
		Tags:     []string{"grpcnotrace", "notest"},
		LDFlags:  ldflags,
		Packages: packages,
	}, b.show)
}

// importImage makes the root file system an image of the engine with the
// metadata of kindest/node: systemd looks for container=docker and stops on
// SIGRTMIN+3. The image gets its name last, when it is whole.
func (b *build) importImage(ctx context.Context, reference string) error {
	id, err := imagebuild.Import(ctx, b.path("root"), "")
	if err != nil {
		return err
	}
	dockerfile := fmt.Sprintf(`FROM %s
ENV container=docker
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]
`, id)
	// The legacy builder knows images by ID, and needs no plugin.
	return command.Run(ctx, command.Command{
		Argv:  []string{"docker", "build", "--quiet", "--tag", reference, "-"},
		Env:   []string{"DOCKER_BUILDKIT=0"},
		Stdin: strings.NewReader(dockerfile),
	})
}
