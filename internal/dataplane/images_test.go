package dataplane

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/enginetest"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
)

var quiet = progress.New(io.Discard, false)

// TestResolveRefuses: what is decided without a build. The engine has nothing,
// and no registry answers.
func TestResolveRefuses(t *testing.T) {
	elsewhere := pinned
	elsewhere.Source, elsewhere.Repository, elsewhere.Version = "", "oci://quay.io/cilium/charts", "1.19.8"
	tests := []struct {
		name        string
		choice      string
		chart       spec.Chart
		unavailable bool
		says        []string
	}{
		{"no such source", "regsitry", pinned, false, []string{"--image-source regsitry: want auto, registry or source"}},
		{"one of another spelling", "Source", pinned, false, []string{"--image-source Source: want auto, registry or source"}},
		{"from source where there is none", imagebuild.Source, elsewhere, true, []string{"cilium 1.19.8 cannot be built from source", "--image-source registry"}},
		{"from a registry that does not answer", imagebuild.Registry, pinned, true, []string{"docker pull quay.io/cilium/", "no route to host", "--image-source source"}},
		{"neither", imagebuild.Auto, elsewhere, true, []string{"no registry answers for cilium 1.19.8, and this tree has no source"}},
		{"neither, by default", "", elsewhere, true, []string{"no registry answers for cilium 1.19.8"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			enginetest.Put(t, "echo no route to host >&2; exit 1")
			images, err := Resolve(t.Context(), test.choice, t.TempDir(), test.chart, quiet)
			if err == nil || images != nil || errors.Is(err, ErrUnavailable) != test.unavailable {
				t.Fatalf("%v, %v, which should say that nothing is to be had: %v", images, err, test.unavailable)
			}
			for _, says := range test.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("says %q, want %q", err, says)
				}
			}
		})
	}
}

// TestResolveFromRegistry: what was pulled by its digest gets its tag too, be it
// there already or not.
func TestResolveFromRegistry(t *testing.T) {
	const there = `case "$1 $2" in "image inspect") echo sha256:0123 1000;; esac`
	for _, choice := range []string{imagebuild.Registry, imagebuild.Auto} {
		asked := enginetest.Put(t, there)
		images, err := Resolve(t.Context(), choice, t.TempDir(), pinned, quiet)
		if err != nil {
			t.Fatal(err)
		}
		for part, reference := range pinned.Images {
			want := imagebuild.Image{Reference: reference, ID: "sha256:0123", Origin: imagebuild.Registry, Bytes: 1000}
			if images[part] != want {
				t.Errorf("%s: %+v, want %+v", part, images[part], want)
			}
			tag, _, _ := strings.Cut(reference, "@")
			if images.InNodes()[part] != tag || !slices.Contains(asked(), "tag "+reference+" "+tag) {
				t.Errorf("%s is %s in the nodes, and the engine was asked %q", reference, images.InNodes()[part], asked())
			}
		}
		if slices.ContainsFunc(asked(), func(a string) bool { return strings.HasPrefix(a, "pull") || strings.HasPrefix(a, "manifest") }) {
			t.Errorf("the engine has the images and was asked %q", asked())
		}
	}
}

// TestSave: nodes import the names that the chart is given. Half an archive is
// none.
func TestSave(t *testing.T) {
	file := filepath.Join(t.TempDir(), "images.tar")
	asked := enginetest.Put(t, `echo archive > "$3"`)
	if err := pulled.Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if want := "save --output " + file + " quay.io/cilium/cilium:v1.20.2 quay.io/cilium/operator-generic:v1.20.2"; !slices.Equal(asked(), []string{want}) {
		t.Errorf("asked %q, want %q", asked(), want)
	}
	if content, err := os.ReadFile(file); string(content) != "archive\n" {
		t.Errorf("%q, %v", content, err)
	}
	enginetest.Put(t, `echo half > "$3"; echo no space left on device >&2; exit 1`)
	if err := pulled.Save(t.Context(), file); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an archive is left: %v", err)
	}
}

// TestResolveWithoutDigest: what the lock does not pin by digest keeps its tag,
// and is recorded with the digest that its registry gave it. An image that only
// has the tag is none of the registry's: it is pulled.
func TestResolveWithoutDigest(t *testing.T) {
	const (
		node, cni = "quay.io/calico/node:v3.31.7", "quay.io/calico/cni:v3.31.7"
		digest    = "@sha256:2939231d0d3e3ebddcd80fffa168b7ddcc78fdf0dc864d1c8c126ff523c54f01"
	)
	chart := spec.Chart{Name: "tigera-operator", Version: "v3.31.7", Repository: "https://docs.tigera.io/calico/charts", Images: map[string]string{"node": node, "cni": cni}}
	want := Images{
		"node": {Reference: node + digest, ID: "sha256:0123", Origin: imagebuild.Registry, Bytes: 1000},
		"cni":  {Reference: cni + digest, ID: "sha256:0123", Origin: imagebuild.Registry, Bytes: 1000},
	}
	for _, test := range []struct {
		name, choice string
		loaded       bool     // the cni image has its tag alone
		silent       bool     // no registry answers
		asked        []string // beside inspections of images
		says         string
	}{
		{"both were pulled", imagebuild.Registry, false, true, nil, ""},
		{"both were pulled, by choice", imagebuild.Auto, false, true, nil, ""},
		{"one was loaded", imagebuild.Registry, true, false, []string{"pull " + cni}, ""},
		{"one was loaded, by choice", imagebuild.Auto, true, false, []string{"manifest inspect " + cni, "pull " + cni}, ""},
		{"one was loaded and no registry answers", imagebuild.Registry, true, true, []string{"pull " + cni}, "docker pull " + cni},
		{"one was loaded and no registry answers, by choice", imagebuild.Auto, true, true, []string{"manifest inspect " + cni}, "no registry answers for tigera-operator v3.31.7, and this tree has no source"},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			mark := filepath.Join(t.TempDir(), "mark")
			asked := enginetest.Put(t, fmt.Sprintf(`case "$1 $4" in
"pull "*|"manifest "*) %[1]v && { echo no route to host >&2; exit 1; }; case "$1" in pull) : > %[2]s;; esac;;
"image "*RepoDigests*)
	case "$5" in
	*/node:*) echo docker.io/mirror/node@sha256:00 quay.io/calico/node%[3]s;;
	*/cni:*) %[4]v && ! test -e %[2]s || echo quay.io/calico/cni%[3]s;;
	esac;;
"image "*) echo sha256:0123 1000;;
*) exit 1;;
esac`, test.silent, mark, digest, test.loaded))
			images, err := Resolve(t.Context(), test.choice, t.TempDir(), chart, quiet)
			if test.says != "" {
				if images != nil || !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v, %v; want %s", images, err, test.says)
				}
			} else if err != nil || !maps.Equal(images, want) {
				t.Errorf("%+v, %v; want %+v", images, err, want)
			}
			others := slices.DeleteFunc(asked(), func(a string) bool { return strings.HasPrefix(a, "image inspect ") })
			if !slices.Equal(others, test.asked) {
				t.Errorf("asked %q, want %q", others, test.asked)
			}
			if got, want := images.InNodes(), map[string]string{"node": node, "cni": cni}; err == nil && !maps.Equal(got, want) {
				t.Errorf("in the nodes %q, want %q", got, want)
			}
		})
	}
}

// TestResolveWithoutAnswer: an engine that does not say what an image is, or does
// not give it a name, is in the way.
func TestResolveWithoutAnswer(t *testing.T) {
	unpinned := spec.Chart{Name: "tigera-operator", Version: "v3.31.7", Images: map[string]string{"node": "quay.io/calico/node:v3.31.7"}}
	for _, test := range []struct {
		chart        spec.Chart
		script, says string
	}{
		{pinned, `case "$1" in tag) echo no space left on device >&2; exit 1;; esac; echo sha256:0123 1000`, "docker tag quay.io/cilium/"},
		{unpinned, `case "$4" in *RepoDigests*) echo no space left on device >&2; exit 1;; esac; echo sha256:0123 1000`, "docker image inspect --format '{{range .RepoDigests}}"},
	} {
		enginetest.Put(t, test.script)
		images, err := Resolve(t.Context(), imagebuild.Registry, t.TempDir(), test.chart, quiet)
		if err == nil || images != nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("%v, %v; want %q", images, err, test.says)
		}
	}
}

func TestAgentContainer(t *testing.T) {
	node := cluster.Node{Role: "worker", Name: "service-dataplane-cilium-worker"}
	for _, test := range []struct{ name, script, want, says string }{
		{"one", "echo 0123", "0123", ""},
		{"none yet", "", "", " is running yet"},
		{"the old one beside the new", "echo 0123; echo 4567", "", " is running yet"},
		{"no runtime yet", "echo connect: no such file >&2; exit 1", "", " is running yet"},
	} {
		for _, agent := range []string{CiliumAgent, CalicoAgent} {
			asked := enginetest.Put(t, test.script)
			got, err := AgentContainer(t.Context(), node, agent)
			if got != test.want || (err == nil) != (test.want != "") || err != nil && err.Error() != "no "+agent+test.says {
				t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
			}
			if want := "exec service-dataplane-cilium-worker crictl ps --name ^" + agent + "$ --state running --quiet"; !slices.Equal(asked(), []string{want}) {
				t.Errorf("%s: asked %q, want %s", test.name, asked(), want)
			}
		}
	}
}
