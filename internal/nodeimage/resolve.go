package nodeimage

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"

	"service-dataplane/internal/command"
	"service-dataplane/internal/progress"
)

// The choices of --node-image beside an image reference.
const (
	Auto     = "auto"
	Registry = "registry"
	Source   = "source"
)

// Image is the node image of a run, as its provenance records it.
type Image struct {
	// Reference as given to kind.
	Reference string `json:"reference" yaml:"reference"`
	// ID is the engine's image ID.
	ID string `json:"id" yaml:"id"`
	// Origin is "registry", "source" or "reference".
	Origin string `json:"origin" yaml:"origin"`
	// ContentKey is what a source image was built from.
	ContentKey string `json:"contentKey,omitempty" yaml:"contentKey,omitempty"`
	// Bytes is the image's size on disk.
	Bytes int64 `json:"bytes" yaml:"bytes"`
}

// registryAnswer bounds the question whether a registry can be reached; a
// pull that has begun may take as long as it needs.
const registryAnswer = 15 * time.Second

// Resolve returns the node image for a choice: Auto, Registry, Source or an
// image reference. It pulls or builds what is missing, with repo as the root
// of this project's tree.
func Resolve(ctx context.Context, choice, repo string, show *progress.Reporter) (Image, error) {
	pinned := defaults.Image
	switch choice {
	case Source:
		return fromSource(ctx, repo, show)
	case Registry:
		return fromRegistry(ctx, pinned, show)
	case Auto, "":
		if present(ctx, pinned) {
			return inspect(ctx, pinned, "registry", "")
		}
		if answered := reachable(ctx, pinned); answered == nil {
			return fromRegistry(ctx, pinned, show)
		}
		if err := context.Cause(ctx); err != nil {
			return Image{}, err
		}
		return fromSource(ctx, repo, show)
	default:
		if !present(ctx, choice) {
			return Image{}, fmt.Errorf("node image %s is not in this engine; docker pull or docker load it first", choice)
		}
		return inspect(ctx, choice, "reference", "")
	}
}

// reachable asks the registry for the manifest and nothing else.
func reachable(ctx context.Context, reference string) error {
	ctx, cancel := context.WithTimeout(ctx, registryAnswer)
	defer cancel()
	_, err := command.Output(ctx, "docker", "manifest", "inspect", reference)
	return err
}

func present(ctx context.Context, reference string) bool {
	_, err := command.Output(ctx, "docker", "image", "inspect", "--format", "{{.Id}}", reference)
	return err == nil
}

func fromRegistry(ctx context.Context, reference string, show *progress.Reporter) (Image, error) {
	if !present(ctx, reference) {
		err := show.Run(ctx, progress.Step{Name: "pull " + reference, Run: func(ctx context.Context) error {
			layers := &progress.LineWriter{Line: func(l string) { show.Detail("%s", l) }}
			return command.Run(ctx, command.Command{Argv: []string{"docker", "pull", reference}, Stdout: layers})
		}})
		if err != nil {
			return Image{}, fmt.Errorf("%w\nno registry in reach? --node-image source builds the image on this machine", err)
		}
	}
	return inspect(ctx, reference, "registry", "")
}

func inspect(ctx context.Context, reference, origin, key string) (Image, error) {
	out, err := command.Output(ctx, "docker", "image", "inspect", "--format", "{{.Id}} {{.Size}}", reference)
	if err != nil {
		return Image{}, err
	}
	image := Image{Reference: reference, Origin: origin, ContentKey: key}
	if _, err := fmt.Sscan(out, &image.ID, &image.Bytes); err != nil {
		return Image{}, fmt.Errorf("docker image inspect %s answered %q: %w", reference, out, err)
	}
	return image, nil
}
