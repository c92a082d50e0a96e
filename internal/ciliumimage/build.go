package ciliumimage

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"service-dataplane/internal/command"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/imagelayer"
	"service-dataplane/internal/progress"
)

// Module holds Cilium's sources and its chart.
const Module = "github.com/cilium/cilium"

// Deviations of the built images from the published ones.
var Deviations = []string{
	"built from the Go module with this machine's Go, without DWARF and without CGO",
	"github.com/osrg/gobgp/v4 is v4.7.0 instead of the pseudo-version of Cilium's go.mod; BGP is not enabled",
	"sigs.k8s.io/mcs-api/controllers is a stand-in with the one constant used; the cluster mesh is not enabled",
	"clang, iproute2, iptables and ipset of this host's Debian release; iptables always writes through nf_tables",
	"no Envoy, no Hubble command line, no loopback plugin: the node has its own",
}

// The builder is part of what it builds.
//
//go:embed build.go
var builder embed.FS

const repository = "localhost/service-dataplane/"

// binaries are the module's programs by the names of their packages, and where
// the published images have them.
var binaries = map[string]string{
	"cilium-cni":    "/opt/cni/bin/cilium-cni",
	"cilium-dbg":    "/usr/bin/cilium-dbg",
	"cilium-health": "/usr/bin/cilium-health",
	"daemon":        "/usr/bin/cilium-agent",
	"mount":         "/usr/bin/cilium-mount",
	"responder":     "/usr/bin/cilium-health-responder",
	"sysctlfix":     "/usr/bin/cilium-sysctlfix",
}

// build is one build of the images in a directory of its own.
type build struct {
	source  string // images/cilium
	dir     string // removed when the build ends
	release string
	version string
	show    *progress.Reporter
}

func (b *build) path(elements ...string) string {
	return filepath.Join(append([]string{b.dir}, elements...)...)
}

// Build returns the images of a version, agent and operator, building them
// unless the engine has those of the present inputs. source is a directory
// whose go.mod requires that version. Building needs root and mmdebstrap.
func Build(ctx context.Context, source, version string, show *progress.Reporter) (map[string]imagebuild.Image, error) {
	required, err := imagebuild.Module(ctx, source, Module, "{{.Version}}")
	if err != nil {
		return nil, err
	}
	if required != "v"+version {
		return nil, fmt.Errorf("%s requires %s %s, and version %s is asked for", filepath.Join(source, "go.mod"), Module, required, version)
	}
	release, err := imagebuild.Release()
	if err != nil {
		return nil, err
	}
	key, err := imagebuild.Inputs{
		Trees:  []fs.FS{os.DirFS(source), builder, imagebuild.Builder, imagelayer.Source},
		Values: []string{release},
	}.Key()
	if err != nil {
		return nil, err
	}
	references := map[string]string{}
	missing := false
	for part, image := range map[string]string{"agent": "cilium", "operator": "cilium-operator"} {
		references[part] = fmt.Sprintf("%s%s:v%s-%s", repository, image, version, key)
		missing = missing || !imagebuild.Present(ctx, references[part])
	}
	if missing {
		// Memory-backed /tmp may be small.
		dir, err := os.MkdirTemp("/var/tmp", "service-dataplane-cilium-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		b := &build{source: source, dir: dir, release: release, version: version, show: show}
		if err := b.run(ctx, references); err != nil {
			return nil, fmt.Errorf("build Cilium %s: %w", version, err)
		}
	}
	images := map[string]imagebuild.Image{}
	for part, reference := range references {
		if images[part], err = imagebuild.Inspect(ctx, reference, imagebuild.Source, key); err != nil {
			return nil, err
		}
	}
	return images, nil
}

func (b *build) run(ctx context.Context, references map[string]string) error {
	return b.show.Run(ctx,
		progress.Step{Name: "compile Cilium " + b.version, Run: b.compile},
		progress.Step{Name: "unpack Debian packages for the agent's image", Run: b.debian},
		progress.Step{Name: "pack the images and load them into the engine", Run: func(ctx context.Context) error {
			return b.pack(ctx, references)
		}},
	)
}

func (b *build) compile(ctx context.Context) error {
	// Three words, of which the last two are the commit and its date: a module
	// does not say them.
	version := fmt.Sprintf(`-X "%s/pkg/version.ciliumVersion=%s module none"`, Module, b.version)
	return imagebuild.Compile(ctx, imagebuild.Program{
		Dir: b.source,
		Out: b.path("bin"),
		// The operator's IPAM for clusters of no cloud; the agent has no such tag.
		Tags:     []string{"osusergo", "ipam_provider_operator"},
		LDFlags:  version,
		Packages: []string{"tool"},
	}, b.show)
}

func (b *build) debian(ctx context.Context) error {
	packages, err := imagebuild.ReadList(filepath.Join(b.source, "packages.txt"))
	if err != nil {
		return err
	}
	return imagebuild.Debian{Root: b.path("root"), Release: b.release, Variant: "extract", Packages: packages}.Install(ctx, b.show)
}

func (b *build) pack(ctx context.Context, references map[string]string) error {
	layers, err := b.agentLayers(ctx)
	if err != nil {
		return err
	}
	agent, err := imagelayer.Image(nil, layers...)
	if err != nil {
		return err
	}
	layer, err := imagelayer.New([]imagelayer.Entry{{Path: "/usr/bin/cilium-operator-generic", From: b.path("bin", "operator")}})
	if err != nil {
		return err
	}
	operator, err := imagelayer.Image(nil, layer)
	if err != nil {
		return err
	}
	images := map[name.Reference]v1.Image{}
	for part, image := range map[string]v1.Image{"agent": agent, "operator": operator} {
		reference, err := name.NewTag(references[part])
		if err != nil {
			return err
		}
		images[reference] = image
	}
	archive := b.path("images.tar")
	if err := tarball.MultiRefWriteToFile(archive, images); err != nil {
		return err
	}
	return command.Run(ctx, command.Command{Argv: []string{"docker", "load", "--quiet", "--input", archive}})
}

// agentLayers are what changes seldom first: userland, programs, and the BPF
// sources that the agent compiles on every node.
func (b *build) agentLayers(ctx context.Context) ([]v1.Layer, error) {
	module, err := imagebuild.Module(ctx, b.source, Module, "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	userland, err := imagebuild.Files(ctx, b.path("root"), filepath.Join(b.source, "agent-files.txt"))
	if err != nil {
		return nil, err
	}
	var programs []imagelayer.Entry
	for binary, path := range binaries {
		programs = append(programs, imagelayer.Entry{Path: path, From: b.path("bin", binary)})
	}
	imagelayer.Sort(programs)
	sources, err := imagebuild.Tree(filepath.Join(module, "bpf"), "/var/lib/cilium/bpf", func(below string) bool {
		first, _, _ := strings.Cut(below, "/")
		return first == "tests" || first == "test-progs" || first == "complexity-tests"
	})
	if err != nil {
		return nil, err
	}
	for _, script := range []string{"images/cilium/init-container.sh", "plugins/cilium-cni/install-plugin.sh", "plugins/cilium-cni/cni-uninstall.sh"} {
		sources = append(sources, imagelayer.Entry{Path: "/" + filepath.Base(script), From: filepath.Join(module, script)})
	}
	var layers []v1.Layer
	for _, entries := range [][]imagelayer.Entry{userland, programs, sources} {
		layer, err := imagelayer.New(entries)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return layers, nil
}
