package dataplane

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
)

var quiet = progress.New(io.Discard, false)

// engine puts a docker command on the PATH that does what script says, and
// returns what was asked of it, one command line each.
func engine(t *testing.T, script string) func() []string {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	program := fmt.Sprintf("#!/bin/sh\necho \"$*\" >> %s\n%s\n", log, script)
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() []string {
		asked, err := os.ReadFile(log)
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSpace(string(asked)), "\n")
	}
}

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
			engine(t, "echo no route to host >&2; exit 1")
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

// TestResolveFromRegistry: what was pulled by its digest gets a tag, be it
// there already or not.
func TestResolveFromRegistry(t *testing.T) {
	const there = `case "$1 $2" in "image inspect") echo sha256:0123 1000;; esac`
	for _, choice := range []string{imagebuild.Registry, imagebuild.Auto} {
		asked := engine(t, there)
		images, err := Resolve(t.Context(), choice, t.TempDir(), pinned, quiet)
		if err != nil {
			t.Fatal(err)
		}
		for part, reference := range pinned.Images {
			want := imagebuild.Image{Reference: reference, ID: "sha256:0123", Origin: imagebuild.Registry, Bytes: 1000}
			if images[part] != want {
				t.Errorf("%s: %+v, want %+v", part, images[part], want)
			}
			tag := "tag " + reference + " " + images.InNodes(pinned)[part]
			if !slices.Contains(asked(), tag) {
				t.Errorf("the engine was not asked to %s, but %q", tag, asked())
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
	asked := engine(t, `echo archive > "$3"`)
	if err := pulled.Save(t.Context(), pinned, file); err != nil {
		t.Fatal(err)
	}
	names := pulled.InNodes(pinned)
	if want := "save --output " + file + " " + names["agent"] + " " + names["operator"]; !slices.Equal(asked(), []string{want}) {
		t.Errorf("asked %q, want %q", asked(), want)
	}
	if content, err := os.ReadFile(file); string(content) != "archive\n" {
		t.Errorf("%q, %v", content, err)
	}
	engine(t, `echo half > "$3"; echo no space left on device >&2; exit 1`)
	if err := pulled.Save(t.Context(), pinned, file); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an archive is left: %v", err)
	}
}

func TestAgentContainer(t *testing.T) {
	node := cluster.Node{Role: "worker", Name: "service-dataplane-cilium-worker"}
	for _, test := range []struct{ name, script, want string }{
		{"one", "echo 0123", "0123"},
		{"none yet", "", ""},
		{"the old one beside the new", "echo 0123; echo 4567", ""},
		{"no runtime yet", "echo connect: no such file >&2; exit 1", ""},
	} {
		asked := engine(t, test.script)
		got, err := AgentContainer(t.Context(), node)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
		if want := "exec service-dataplane-cilium-worker crictl ps "; !strings.HasPrefix(asked()[0], want) {
			t.Errorf("%s: asked %q, want %s…", test.name, asked(), want)
		}
	}
}
