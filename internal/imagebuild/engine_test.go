package imagebuild

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/command"
	"service-dataplane/internal/enginetest"
	"service-dataplane/internal/progress"
)

const (
	digest = "sha256:2939231d0d3e3ebddcd80fffa168b7ddcc78fdf0dc864d1c8c126ff523c54f01"
	other  = "sha256:64d8798350e8569b8e7622563fed6e44dce2625f311e4651b774816516c744fc"
)

// TestWithDigest has what an engine says of an image's digests: one for each
// repository it was pulled from or pushed to.
func TestWithDigest(t *testing.T) {
	const node = "quay.io/calico/node:v3.31.7"
	for _, test := range []struct{ name, reference, digests, want string }{
		{"pulled", node, "quay.io/calico/node@" + digest, node + "@" + digest},
		{"of several repositories", node, "mirror.example/calico/node@" + other + " quay.io/calico/node@" + digest, node + "@" + digest},
		{"of another repository", node, "mirror.example/calico/node@" + other, node},
		{"of a repository whose name ends alike", node, "mirror.example/quay.io/calico/node@" + other, node},
		{"of a repository whose name begins alike", node, "quay.io/calico/node-windows@" + other, node},
		{"of none: built or loaded", node, "", node},
		{"of none, as an engine spells it", node, "<none>@<none>", node},
		{"of a registry with a port", "localhost:5000/calico/node:v3.31.7", "localhost:5000/calico/node@" + digest, "localhost:5000/calico/node:v3.31.7@" + digest},
		{"of a registry with another port", "localhost:5000/calico/node:v3.31.7", "localhost:5001/calico/node@" + digest, "localhost:5000/calico/node:v3.31.7"},
		{"without a tag", "quay.io/calico/node", "quay.io/calico/node@" + digest, "quay.io/calico/node"},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			asked := enginetest.Put(t, fmt.Sprintf("echo '%s '", test.digests))
			got, err := WithDigest(t.Context(), test.reference)
			if got != test.want || err != nil {
				t.Errorf("%s, %v; want %s", got, err, test.want)
			}
			if want := "image inspect --format {{range .RepoDigests}}{{.}} {{end}} " + test.reference; !slices.Equal(asked(), []string{want}) {
				t.Errorf("asked %q, want %q", asked(), want)
			}
		})
	}
}

func TestWithDigestOfNothing(t *testing.T) {
	enginetest.Put(t, "echo Error: No such image: quay.io/calico/node:v3.31.7 >&2; exit 1")
	got, err := WithDigest(t.Context(), "quay.io/calico/node:v3.31.7")
	if failed := (*command.Error)(nil); got != "" || !errors.As(err, &failed) || !strings.Contains(err.Error(), "No such image") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPulled: an image of a tag is the registry's where the registry gave it a
// digest; one that is asked for by digest is what it is.
func TestPulled(t *testing.T) {
	const node = "quay.io/calico/node:v3.31.7"
	for _, test := range []struct {
		name, reference, script string
		want                    bool
	}{
		{"pulled", node, "echo quay.io/calico/node@" + digest, true},
		{"loaded", node, "", false},
		{"pulled from elsewhere and tagged", node, "echo mirror.example/calico/node@" + digest, false},
		{"not there", node, "exit 1", false},
		{"there by its digest", node + "@" + digest, "echo sha256:0123", true},
		{"not there by its digest", node + "@" + digest, "exit 1", false},
	} {
		enginetest.Put(t, test.script)
		if got := Pulled(t.Context(), test.reference); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestPull: what is there as the registry's is not pulled again, and what only
// has its name is.
func TestPull(t *testing.T) {
	const node = "quay.io/calico/node:v3.31.7"
	show := progress.New(io.Discard, false)
	for _, test := range []struct {
		name, reference, digests string
		pulls                    bool
	}{
		{"there", node, "quay.io/calico/node@" + digest, false},
		{"loaded", node, "", true},
		{"there by its digest", node + "@" + digest, "", false},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			asked := enginetest.Put(t, fmt.Sprintf(`case "$*" in *RepoDigests*) echo '%s';; image*) echo sha256:0123 1000;; esac`, test.digests))
			image, err := Pull(t.Context(), test.reference, show)
			if want := (Image{Reference: test.reference, ID: "sha256:0123", Origin: Registry, Bytes: 1000}); err != nil || image != want {
				t.Errorf("%+v, %v; want %+v", image, err, want)
			}
			if got := slices.Contains(asked(), "pull "+test.reference); got != test.pulls {
				t.Errorf("asked %q", asked())
			}
		})
	}
	enginetest.Put(t, "echo no route to host >&2; exit 1")
	if image, err := Pull(t.Context(), node, show); err == nil || !strings.Contains(err.Error(), "docker pull "+node) || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("%+v, %v", image, err)
	}
}
