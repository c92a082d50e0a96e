package imagebuild

import (
	"context"
	"fmt"
	"strings"
	"time"

	"service-dataplane/internal/command"
	"service-dataplane/internal/progress"
)

// Where images come from.
const (
	// Auto takes what the engine has, else what the registry serves, else what
	// can be built here.
	Auto     = "auto"
	Registry = "registry"
	Source   = "source"
)

// Image is an image of the engine, as provenance records it.
type Image struct {
	// Reference by which the engine knows it.
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

// Reachable asks the registry of a reference for the manifest and nothing else.
func Reachable(ctx context.Context, reference string) error {
	ctx, cancel := context.WithTimeout(ctx, registryAnswer)
	defer cancel()
	_, err := command.Output(ctx, "docker", "manifest", "inspect", reference)
	return err
}

// Present says whether the engine has an image.
func Present(ctx context.Context, reference string) bool {
	_, err := command.Output(ctx, "docker", "image", "inspect", "--format", "{{.Id}}", reference)
	return err == nil
}

// Pulled says whether the engine has an image that came from a registry. A tag
// alone proves nothing: whoever builds an image can give it any.
func Pulled(ctx context.Context, reference string) bool {
	if strings.Contains(reference, "@") {
		return Present(ctx, reference)
	}
	full, err := WithDigest(ctx, reference)
	return err == nil && full != reference
}

// Pull makes the engine have an image of a registry.
func Pull(ctx context.Context, reference string, show *progress.Reporter) (Image, error) {
	if !Pulled(ctx, reference) {
		err := show.Run(ctx, progress.Step{Name: "pull " + reference, Run: func(ctx context.Context) error {
			layers := &progress.LineWriter{Line: func(l string) { show.Detail("%s", l) }}
			return command.Run(ctx, command.Command{Argv: []string{"docker", "pull", reference}, Stdout: layers})
		}})
		if err != nil {
			return Image{}, err
		}
	}
	return Inspect(ctx, reference, Registry, "")
}

// Inspect describes an image that the engine has.
func Inspect(ctx context.Context, reference, origin, key string) (Image, error) {
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

// Tag is a reference without its digest: the name that an archive keeps.
func Tag(reference string) string {
	tag, _, _ := strings.Cut(reference, "@")
	return tag
}

// WithDigest is a reference with the digest that its registry gave the image,
// or as it is where the image comes from none.
func WithDigest(ctx context.Context, reference string) (string, error) {
	out, err := command.Output(ctx, "docker", "image", "inspect", "--format", `{{range .RepoDigests}}{{.}} {{end}}`, reference)
	if err != nil {
		return "", err
	}
	repository := reference[:max(strings.LastIndexByte(reference, ':'), 0)]
	for digest := range strings.FieldsSeq(out) {
		if name, digest, ok := strings.Cut(digest, "@"); ok && name == repository {
			return reference + "@" + digest, nil
		}
	}
	return reference, nil
}
