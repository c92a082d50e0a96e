package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
)

// pulledImages is an engine that pulled every image it is asked for, but for
// those whose reference has a text in it: of these nothing is to be had.
func pulledImages(t *testing.T, without string) {
	t.Helper()
	engine(t, `for last; do :; done
case "$last" in `+without+`) echo no route to host >&2; exit 1;; esac
case "$*" in
*RepoDigests*) echo "${last%:*}@sha256:0123";;
image*) echo sha256:0123 2000000;;
tag*) ;;
*) exit 1;;
esac`)
}

// TestImage: the images of every data plane that is asked for, once each, behind
// the node image.
func TestImage(t *testing.T) {
	repo := tree(t)
	const node = "localhost/service-dataplane/node:v1.35.0-0123456789abcdef"
	lock, err := spec.LoadLock(filepath.Join(repo, "charts", "lock.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cilium, _ := lock.Chart(spec.CiliumChart, "1.20.2")
	calico, _ := lock.Chart(spec.CalicoChart, lock.Versions(spec.CalicoChart)[0])
	of := func(c spec.Chart, parts ...string) (references []string) {
		for _, part := range parts {
			reference := c.Images[part]
			if !strings.Contains(reference, "@") {
				reference += "@sha256:0123"
			}
			references = append(references, reference)
		}
		return references
	}
	ofCilium, ofCalico := of(cilium, "agent", "operator"), of(calico, "cni", "kube-controllers", "node", "operator", "typha")
	for _, test := range []struct {
		name, scenarios string
		want            []string
	}{
		{"the node image alone", "", nil},
		{"of no data plane", "iptables nftables", nil},
		{"of one", "calico-ebpf", ofCalico},
		{"of several, some twice", "nftables cilium calico-ebpf cilium-kube-proxy", append(slices.Clone(ofCilium), ofCalico...)},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			pulledImages(t, "nothing")
			args := append([]string{"image", "--repo", repo, "--node-image", node, "--image-source", "registry"}, strings.Fields(test.scenarios)...)
			stdout, err := runner(t.Context(), args...)
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			for i, reference := range append([]string{node}, test.want...) {
				origin := imagebuild.Registry
				if i == 0 {
					origin = "reference"
				}
				want += reference + "\n" + origin + ", 2 MB\n"
			}
			if stdout != want {
				t.Errorf("got:\n%s\nwant:\n%s", stdout, want)
			}
		})
	}
}

// TestImageNotThere: of every data plane that is not to be had it is said why.
func TestImageNotThere(t *testing.T) {
	repo := tree(t)
	pulledImages(t, "*cilium*|*typha*")
	stdout, err := runner(t.Context(), "image", "--repo", repo, "--node-image", "node:1", "--image-source", "registry", "cilium", "calico-ebpf", "iptables")
	if exitCode(err) != exitHost || stdout != "" {
		t.Fatalf("exit code %d\n%s", exitCode(err), stdout)
	}
	// It is what this error holds that is told.
	exit := (*exitError)(nil)
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for _, says := range []string{"what it is installed from is not to be had here", "docker pull quay.io/cilium/", "docker pull quay.io/calico/typha:", "no route to host"} {
		if !strings.Contains(exit.err.Error(), says) {
			t.Errorf("says %q, want %q", exit.err, says)
		}
	}
}
