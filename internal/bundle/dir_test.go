package bundle

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"service-dataplane/internal/imagelayer"
	"service-dataplane/internal/spec"
)

const (
	local         = "localhost/service-dataplane/"
	builtAgent    = local + "cilium:v1.20.2-" + contentKey
	builtOperator = local + "cilium-operator:v1.20.2-" + contentKey
	builtNode     = local + "node:v1.35.0-" + contentKey
)

// save writes an archive that has an image for each tag, and returns their
// digests.
func save(t *testing.T, file string, tags ...string) map[string]string {
	t.Helper()
	images, ids := map[name.Reference]v1.Image{}, map[string]string{}
	for _, tag := range tags {
		image, err := imagelayer.Image([]string{"/" + tag})
		if err != nil {
			t.Fatal(err)
		}
		id, idErr := image.ConfigName()
		reference, err := name.NewTag(tag)
		if err := errors.Join(err, idErr); err != nil {
			t.Fatal(err)
		}
		images[reference], ids[tag] = image, id.String()
	}
	if err := tarball.MultiRefWriteToFile(file, images); err != nil {
		t.Fatal(err)
	}
	return ids
}

// directory is one that is being filled.
type directory struct {
	*testing.T
	dir string
}

func (d directory) save(file string, tags ...string) directory {
	save(d.T, filepath.Join(d.dir, file), tags...)
	return d
}

func (d directory) chart(name, version string) directory {
	saveChart(d.T, d.dir, name, version)
	return d
}

func (d directory) write(file, content string) directory {
	if err := os.WriteFile(filepath.Join(d.dir, file), []byte(content), 0o644); err != nil {
		d.Fatal(err)
	}
	return d
}

// pinned are the lock's images of a version without their digests.
func pinned(t *testing.T, version string) (agent, operator string) {
	t.Helper()
	c, ok := lock(t).Chart("cilium", version)
	if !ok {
		t.Fatalf("charts/lock.yaml does not pin cilium %s", version)
	}
	agent, _, _ = strings.Cut(c.Images["agent"], "@")
	operator, _, _ = strings.Cut(c.Images["operator"], "@")
	return agent, operator
}

// TestOpenDirectory: which images are taken for what, and from which archives.
func TestOpenDirectory(t *testing.T) {
	agent, operator := pinned(t, "1.20.2")
	oldAgent, oldOperator := pinned(t, "1.19.8")
	const pulledAgent, pulledOperator = local + "cilium-agent:v1.20.2-registry", local + "cilium-operator:v1.20.2-registry"
	type planes map[string][2]string // agent and operator by version
	tests := []struct {
		name     string
		fill     func(directory)
		node     string
		planes   planes
		archives int // of each plane
	}{
		{"as pinned, in one archive", func(d directory) { d.save("cilium.tar", agent, operator).chart("cilium", "1.20.2") },
			"", planes{"1.20.2": {agent, operator}}, 1},
		{"in two", func(d directory) { d.save("a.tar", agent).save("b.tar", operator).chart("cilium", "1.20.2") },
			"", planes{"1.20.2": {agent, operator}}, 2},
		{"built here", func(d directory) {
			d.save("cilium.tar", builtAgent, builtOperator).save("node.tar", builtNode).chart("cilium", "1.20.2")
		}, builtNode, planes{"1.20.2": {builtAgent, builtOperator}}, 1},
		{"built here, in two", func(d directory) { d.save("a.tar", builtAgent).save("b.tar", builtOperator).chart("cilium", "1.20.2") },
			"", planes{"1.20.2": {builtAgent, builtOperator}}, 2},
		{"pulled and tagged here", func(d directory) { d.save("cilium.tar", pulledAgent, pulledOperator).chart("cilium", "1.20.2") },
			"", planes{"1.20.2": {pulledAgent, pulledOperator}}, 1},
		{"one pulled, one built", func(d directory) { d.save("a.tar", agent).save("b.tar", builtOperator).chart("cilium", "1.20.2") },
			"", planes{"1.20.2": {agent, builtOperator}}, 2},
		{"two versions", func(d directory) {
			d.save("new.tar", agent, operator).save("old.tar", oldAgent, oldOperator).chart("cilium", "1.20.2").chart("cilium", "1.19.8")
		}, "", planes{"1.20.2": {agent, operator}, "1.19.8": {oldAgent, oldOperator}}, 1},
		{"all in one archive", func(d directory) {
			d.save("all.tar", agent, operator, oldAgent, oldOperator, builtNode).chart("cilium", "1.20.2").chart("cilium", "1.19.8")
		}, builtNode, planes{"1.20.2": {agent, operator}, "1.19.8": {oldAgent, oldOperator}}, 1},
		{"a node image alone", func(d directory) { d.save("node.tar", "kindest/node:v1.35.0") }, "kindest/node:v1.35.0", nil, 0},
		{"a node image by its whole name", func(d directory) { d.save("node.tar", "docker.io/kindest/node:v1.35.0") }, "docker.io/kindest/node:v1.35.0", nil, 0},
		{"beside what is none of it", func(d directory) {
			d.save("cilium.tar", agent, operator).save("nginx.tar", "docker.io/library/nginx:1.29", "example.com/kindest/node:v1.35.0", local+"echo:0123456789ab")
			d.chart("cilium", "1.20.2").write("README.md", "images\n").write("cilium.tar.sha256", "0123  cilium.tar\n")
		}, "", planes{"1.20.2": {agent, operator}}, 1},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			d := directory{t, t.TempDir()}
			test.fill(d)
			b, err := Open(t.Context(), d.dir, lock(t))
			if err != nil {
				t.Fatal(err)
			}
			if b.Node.Image.Reference != test.node || (b.Node.Archive.File != "") != (test.node != "") {
				t.Errorf("node %+v, want %q", b.Node, test.node)
			}
			if b.SHA256 != "" || b.Echo != (Echo{}) || b.APIVersion != spec.APIVersion || b.Kind != kind || !b.Created.IsZero() || b.Revision != "" {
				t.Errorf("a directory has no digest, workload, time or revision: %s %+v", b.SHA256, b.Index)
			}
			got := planes{}
			for _, p := range b.Planes {
				agent, operator := p.Images["agent"], p.Images["operator"]
				got[p.Version] = [2]string{agent.Reference, operator.Reference}
				if want := map[string]string{"agent": agent.Reference, "operator": operator.Reference}; !maps.Equal(p.Names, want) || agent.Origin != FromDirectory || len(p.Images) != 2 {
					t.Errorf("images %+v by the names %q", p.Images, p.Names)
				}
				if p.Name != "cilium" || len(p.Archives) != test.archives || p.ChartFrom != "a directory, sha256:"+p.Chart.SHA256 {
					t.Errorf("%s: %d archives, want %d; chart from %s", p.Name, len(p.Archives), test.archives, p.ChartFrom)
				}
				if c, err := b.Chart(p); err != nil || c.Metadata.Version != p.Version {
					t.Errorf("chart %v of %s, %v", c, p.Version, err)
				}
			}
			if !maps.Equal(got, test.planes) {
				t.Errorf("planes %q, want %q", got, test.planes)
			}
			for _, e := range b.entries() {
				want, err := os.ReadFile(filepath.Join(d.dir, e.File))
				if e.File == "" {
					continue
				}
				content, readErr := b.read(e)
				if errors.Join(err, readErr) != nil || string(content) != string(want) || e.Bytes != int64(len(want)) {
					t.Errorf("%s is other than the file, %v, %v", e.File, err, readErr)
				}
			}
			target := filepath.Join(t.TempDir(), "target")
			if e := b.entries()[len(b.entries())-1]; e.File != "" {
				if err := b.Extract(e, target, 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// calicoImages are the lock's images of Calico by their part: in nodes the operator
// looks for them by these very names.
func calicoImages(t *testing.T) (version string, images map[string]string) {
	t.Helper()
	l := lock(t)
	version = l.Versions(spec.CalicoChart)[0]
	c, _ := l.Chart(spec.CalicoChart, version)
	if want := []string{"cni", "kube-controllers", "node", "operator", "typha"}; !slices.Equal(slices.Sorted(maps.Keys(c.Images)), want) {
		t.Fatalf("charts/lock.yaml has images %q, want %q", c.Images, want)
	}
	images = map[string]string{}
	for part, reference := range c.Images {
		images[part], _, _ = strings.Cut(reference, "@")
	}
	return version, images
}

// TestOpenDirectoryOfCalico: five images and the operator's chart, in one archive
// or in one each, beside another data plane or alone.
func TestOpenDirectoryOfCalico(t *testing.T) {
	version, images := calicoImages(t)
	parts := slices.Sorted(maps.Keys(images))
	agent, operator := pinned(t, "1.20.2")
	for _, test := range []struct {
		name   string
		fill   func(directory)
		files  []string // the archives, in order
		others int      // data planes beside it
	}{
		{"in one archive", func(d directory) {
			d.save("calico.tar", slices.Collect(maps.Values(images))...)
		}, []string{"calico.tar"}, 0},
		{"in one each", func(d directory) {
			for _, part := range parts {
				d.save(part+".tar", images[part])
			}
		}, []string{"cni.tar", "kube-controllers.tar", "node.tar", "operator.tar", "typha.tar"}, 0},
		{"beside Cilium and a node image", func(d directory) {
			d.save("calico.tar", slices.Collect(maps.Values(images))...)
			d.save("cilium.tar", agent, operator, builtNode).chart("cilium", "1.20.2")
		}, []string{"calico.tar"}, 1},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			d := directory{t, t.TempDir()}
			test.fill(d)
			d.chart(spec.CalicoChart, version)
			b, err := Open(t.Context(), d.dir, lock(t))
			if err != nil {
				t.Fatal(err)
			}
			p, ok := b.Plane(spec.CalicoChart, version)
			if !ok || len(b.Planes) != 1+test.others {
				t.Fatalf("planes %+v", b.Planes)
			}
			if !maps.Equal(p.Names, images) {
				t.Errorf("names %q, want %q", p.Names, images)
			}
			ids := map[string]bool{}
			for part, image := range p.Images {
				if image.Reference != images[part] || image.Origin != FromDirectory || !strings.HasPrefix(image.ID, "sha256:") {
					t.Errorf("%s: %+v", part, image)
				}
				ids[image.ID] = true
			}
			if len(p.Images) != 5 || len(ids) != 5 {
				t.Errorf("%d images with %d digests", len(p.Images), len(ids))
			}
			var files []string
			for _, e := range p.Archives {
				files = append(files, e.File)
			}
			if !slices.Equal(files, test.files) {
				t.Errorf("archives %q, want %q", files, test.files)
			}
			if c, err := b.Chart(p); err != nil || c.Name() != spec.CalicoChart || c.Metadata.Version != version || p.ChartFrom != "a directory, sha256:"+p.Chart.SHA256 {
				t.Errorf("chart %v from %s, %v", c, p.ChartFrom, err)
			}
			if lacks := b.Lacks(scenario(spec.CalicoChart, version)); lacks != "" {
				t.Errorf("lacks %s", lacks)
			}
		})
	}
}

// TestOpenDirectoryOfPartOfCalico: none of the five can be missing, since no
// registry is asked from nodes.
func TestOpenDirectoryOfPartOfCalico(t *testing.T) {
	version, images := calicoImages(t)
	for part, missing := range images {
		d := directory{t, t.TempDir()}
		for other, image := range images {
			if other != part {
				d.save(other+".tar", image)
			}
		}
		// Names that are nearly the missing one.
		d.save("others.tar", missing+"-amd64", strings.Replace(missing, "quay.io/", "docker.io/", 1), strings.Replace(missing, "quay.io/", "quay.io/mirror/", 1))
		d.save("local.tar", local+"tigera-operator:"+version+"-"+contentKey, local+"tigera-operator-operator:"+version)
		d.chart(spec.CalicoChart, version)
		want := fmt.Sprintf("%s has no image for the %s of %s %s, such as %s", d.dir, part, spec.CalicoChart, version, missing)
		if b, err := Open(t.Context(), d.dir, lock(t)); err == nil || err.Error() != want {
			t.Errorf("%+v, %v; want %s", b, err, want)
		}
	}
	// Nor can the chart, which alone has the definitions of the operator's objects.
	d := directory{t, t.TempDir()}.save("calico.tar", slices.Collect(maps.Values(images))...)
	want := fmt.Sprintf("%s has no chart archive of %s %s", d.dir, spec.CalicoChart, version)
	if b, err := Open(t.Context(), d.dir, lock(t)); err == nil || err.Error() != want {
		t.Errorf("%+v, %v; want %s", b, err, want)
	}
}

// TestDeviations: what a directory says of its images is said of every data plane
// in it, behind what is true of all directories.
func TestDeviations(t *testing.T) {
	const always = "images from a directory of archives, which keep no digest: they were not compared with the published ones"
	agent, operator := pinned(t, "1.20.2")
	version, images := calicoImages(t)
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"absent", "-", []string{always}},
		{"empty", "", []string{always}},
		{"blank", "\n \n\t\n", []string{always}},
		{"one", "built from Debian packages\n", []string{always, "built from Debian packages"}},
		{"several, with blank lines", "\nbuilt without BIRD\n\n  confd is a stub  \n\n\n", []string{always, "built without BIRD", "confd is a stub"}},
		{"in their order, the same twice", "b\na\nb\n", []string{always, "b", "a", "b"}},
		{"no end of line", "built without BIRD", []string{always, "built without BIRD"}},
		{"of another system", "built without BIRD\r\n\r\nconfd is a stub\r\n", []string{always, "built without BIRD", "confd is a stub"}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			d := directory{t, t.TempDir()}.save("cilium.tar", agent, operator).chart("cilium", "1.20.2")
			d.save("calico.tar", slices.Collect(maps.Values(images))...).chart(spec.CalicoChart, version)
			if test.file != "-" {
				d.write("deviations.txt", test.file)
			}
			b, err := Open(t.Context(), d.dir, lock(t))
			if err != nil || len(b.Planes) != 2 {
				t.Fatalf("%+v, %v", b, err)
			}
			for _, p := range b.Planes {
				if !slices.Equal(p.Deviations, test.want) {
					t.Errorf("%s: %q, want %q", p.Name, p.Deviations, test.want)
				}
			}
		})
	}
}

// TestDeviationsUnread: what cannot be read is not taken for nothing.
func TestDeviationsUnread(t *testing.T) {
	agent, operator := pinned(t, "1.20.2")
	d := directory{t, t.TempDir()}.save("cilium.tar", agent, operator).chart("cilium", "1.20.2")
	if err := os.Mkdir(filepath.Join(d.dir, "deviations.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	if b, err := Open(t.Context(), d.dir, lock(t)); err == nil || !strings.Contains(err.Error(), filepath.Join(d.dir, "deviations.txt")) {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestNoDeviationsOfAFile: a bundle that was made of what registries serve says
// none, and one that has some keeps them.
func TestNoDeviationsOfAFile(t *testing.T) {
	for _, want := range [][]string{nil, {"built without BIRD", "confd is a stub"}} {
		p := pack(t, func(_ *Writer, index *Index) { index.Planes[0].Deviations = want })
		b, err := Open(t.Context(), p.path, spec.Lock{})
		if err != nil || !slices.Equal(b.Planes[0].Deviations, want) {
			t.Errorf("%+v, %v; want %q", b, err, want)
		}
		for _, part := range parts(t, p.path) {
			if part.name == indexFile && strings.Contains(part.content, "deviations") != (want != nil) {
				t.Errorf("the index of %q is %s", want, part.content)
			}
		}
	}
}

func TestOpenDirectoryRefuses(t *testing.T) {
	agent, operator := pinned(t, "1.20.2")
	whole := func(d directory) { d.save("cilium.tar", agent, operator).chart("cilium", "1.20.2") }
	tests := []struct {
		name string
		fill func(directory)
		pin  string // of the chart
		says []string
	}{
		{"no operator", func(d directory) { d.save("a.tar", agent).chart("cilium", "1.20.2") }, "", []string{"no image for the operator of cilium 1.20.2, such as " + operator}},
		{"no agent", func(d directory) { d.save("b.tar", builtOperator).chart("cilium", "1.20.2") }, "", []string{"no image for the agent of cilium 1.20.2, such as " + agent}},
		{"an operator of another version", func(d directory) {
			d.save("a.tar", builtAgent, local+"cilium-operator:v1.20.1-"+contentKey).chart("cilium", "1.20.2")
		}, "", []string{"no image for the operator of cilium 1.20.2"}},
		{"a chart alone", func(d directory) { d.chart("cilium", "1.20.2") }, "", []string{"has no image for the ", " of cilium 1.20.2"}},
		{"no chart", func(d directory) { d.save("cilium.tar", agent, operator) }, "", []string{"has no chart archive of cilium 1.20.2"}},
		{"the chart of another version", func(d directory) { d.save("cilium.tar", agent, operator).chart("cilium", "1.19.8") }, "", []string{"cilium 1."}},
		{"an unpinned version", func(d directory) { whole(d); d.chart("cilium", "1.18.0") }, "", []string{"cilium-1.18.0.tgz is chart cilium 1.18.0, which charts/lock.yaml does not pin"}},
		{"another chart", func(d directory) { whole(d); d.chart("calico", "1.20.2") }, "", []string{"calico-1.20.2.tgz is chart calico 1.20.2, which charts/lock.yaml does not pin"}},
		{"not the pinned chart", whole, "sha256:" + strings.Repeat("0", 64), []string{"cilium-1.20.2.tgz is sha256:", "charts/lock.yaml pins sha256:" + strings.Repeat("0", 64)}},
		{"no chart at all", func(d directory) { whole(d); d.write("x.tgz", "no chart") }, "", []string{"x.tgz is no chart: "}},
		{"no archive", func(d directory) { whole(d); d.write("x.tar", "no archive of anything") }, "", []string{"x.tar is no archive of docker save: "}},
		{"an empty archive", func(d directory) { whole(d); d.write("x.tar", "") }, "", []string{"x.tar is no archive of docker save: "}},
		{"an archive of something else", func(d directory) {
			whole(d)
			d.write("x.tar", string(build(d.T, []part{{"file", "content", tar.TypeReg}})))
		}, "", []string{"x.tar is no archive of docker save: "}},
		{"a bundle", func(d directory) {
			content, err := os.ReadFile(pack(d.T, nil).path)
			if err != nil {
				d.Fatal(err)
			}
			d.write("bundle.tar", string(content))
		}, "", []string{"bundle.tar is no archive of docker save: "}},
		{"a directory of such a name", func(d directory) {
			if err := os.Mkdir(filepath.Join(d.dir, "x.tar"), 0o755); err != nil {
				d.Fatal(err)
			}
		}, "", []string{"x.tar", "is a directory"}},
		{"nothing", func(directory) {}, "", []string{"has neither *.tar archives of docker save"}},
		{"nothing of use", func(d directory) {
			d.save("nginx.tar", "docker.io/library/nginx:1.29").save("old.tar", local+"cilium:v1.20.20-"+contentKey).write("cilium-1.20.2.zip", "")
		}, "", []string{"has neither *.tar archives of docker save"}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			d := directory{t, t.TempDir()}
			test.fill(d)
			l := lock(t)
			for i := range l.Charts {
				l.Charts[i].Digest = test.pin
			}
			b, err := Open(t.Context(), d.dir, l)
			if err == nil {
				t.Fatalf("opened: %+v", b.Index)
			}
			for _, says := range append(test.says, d.dir) {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("says %q, want %q", err, says)
				}
			}
		})
	}
}

func TestDirectoryWithPinnedChart(t *testing.T) {
	d := directory{t, t.TempDir()}.save("cilium.tar", builtAgent, builtOperator)
	e, err := describe(t.Context(), d.dir, saveChart(t, d.dir, "cilium", "1.20.2"))
	if err != nil {
		t.Fatal(err)
	}
	l := lock(t)
	for i := range l.Charts {
		l.Charts[i].Digest = "sha256:" + e.SHA256
	}
	if b, err := Open(t.Context(), d.dir, l); err != nil || b.Planes[0].Chart != e {
		t.Errorf("%+v, %v; want %+v", b, err, e)
	}
}

// TestDirectoryIDs: engines know an image by the digest of its configuration,
// and programs name its file in their own way.
func TestDirectoryIDs(t *testing.T) {
	digest := strings.Repeat("0123456789abcdef", 4)
	for _, test := range []struct{ name, config string }{
		{"docker save since 25", "blobs/sha256/" + digest},
		{"docker save before", digest + ".json"},
		{"go-containerregistry, so crane pull and the images built here", "sha256:" + digest},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			manifest := fmt.Sprintf(`[{"Config":%q,"RepoTags":[%q],"Layers":[]}]`, test.config, builtNode)
			archive := build(t, []part{{test.config, "{}", tar.TypeReg}, {"manifest.json", manifest, tar.TypeReg}})
			d := directory{t, t.TempDir()}.write("node.tar", string(archive))
			b, err := Open(t.Context(), d.dir, lock(t))
			if err != nil || b.Node.Image.ID != "sha256:"+digest {
				t.Errorf("%+v, %v; want sha256:%s", b, err, digest)
			}
		})
	}
}

// TestDirectoryOfAnyName: what is a pattern elsewhere is a name here.
func TestDirectoryOfAnyName(t *testing.T) {
	for _, base := range []string{"with space", "ä", "a[1]", "a[", "a*", `a\b`} {
		t.Run(base, func(t *testing.T) {
			if strings.ContainsAny(base, `[\`) {
			}
			dir := filepath.Join(t.TempDir(), base)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			save(t, filepath.Join(dir, "node.tar"), builtNode)
			if b, err := Open(t.Context(), dir, lock(t)); err != nil || b.Node.Image.Reference != builtNode || b.Node.Archive.File != "node.tar" {
				t.Errorf("%+v, %v", b, err)
			}
		})
	}
}

// TestDirectoryOfTwo: of two images for one part none is taken in silence.
func TestDirectoryOfTwo(t *testing.T) {
	other := strings.Repeat("f", len(contentKey))
	for name, test := range map[string]struct {
		fill func(directory)
		says []string
	}{
		"nodes": {func(d directory) { d.save("a.tar", "kindest/node:v1.34.0").save("b.tar", "kindest/node:v1.35.0") },
			[]string{"kindest/node:v1.34.0", "kindest/node:v1.35.0"}},
		"agents": {func(d directory) {
			d.save("a.tar", builtAgent, builtOperator).save("b.tar", local+"cilium:v1.20.2-"+other).chart("cilium", "1.20.2")
		}, []string{builtAgent, other}},
	} {
		d := directory{t, t.TempDir()}
		test.fill(d)
		b, err := Open(t.Context(), d.dir, lock(t))
		if err == nil {
			t.Errorf("%s: opened with %+v", name, b.Index)
			continue
		}
		for _, says := range test.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: says %q, want %q", name, err, says)
			}
		}
	}
}

func TestOpenDirectoryEndsWithContext(t *testing.T) {
	d := directory{t, t.TempDir()}.save("cilium.tar", builtAgent, builtOperator).chart("cilium", "1.20.2")
	interrupted := errors.New("interrupted")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	if _, err := Open(cancelled, d.dir, lock(t)); !errors.Is(err, interrupted) {
		t.Errorf("error %v, want the context's cause", err)
	}
	for asked := range 3 {
		if _, err := Open(&countdown{t.Context(), asked}, d.dir, lock(t)); !errors.Is(err, errCountdown) {
			t.Errorf("ended when asked %d times: error %v, want the context's", asked, err)
		}
	}
}

func TestPartOf(t *testing.T) {
	agent, operator := pinned(t, "1.20.2")
	c, _ := lock(t).Chart("cilium", "1.20.2")
	for tag, want := range map[string]string{
		agent: "agent", operator: "operator",
		builtAgent: "agent", builtOperator: "operator",
		local + "cilium-agent:v1.20.2-registry": "agent", local + "cilium-operator:v1.20.2-registry": "operator",
		local + "cilium:v1.20.2": "agent",

		c.Images["agent"]:                      "", // no archive has a name with a digest
		agent + "-rc1":                         "",
		strings.TrimPrefix(agent, "quay.io/"):  "",
		"docker.io/cilium/cilium:v1.20.2":      "",
		local + "cilium":                       "",
		local + "cilium:1.20.2":                "",
		local + "cilium:v1.20.20":              "",
		local + "cilium:v1.20.1-0":             "",
		local + "cilium:v1.19.8-" + contentKey: "",
		local + "cilium-envoy:v1.20.2-0":       "",
		local + "node:v1.20.2":                 "",
		"":                                     "",
	} {
		if got := partOf(c, tag); got != want {
			t.Errorf("%q is %q, want %q", tag, got, want)
		}
	}
}

// TestPartOfNoPlace: a name without a registry is one of docker.io/library.
func TestPartOfNoPlace(t *testing.T) {
	c, _ := lock(t).Chart("cilium", "1.20.2")
	for _, tag := range []string{"cilium:v1.20.2", "cilium-operator:v1.20.2-0"} {
		if got := partOf(c, tag); got != "" {
			t.Errorf("%q is the %s", tag, got)
		}
	}
}

// TestSaved: what the test's archives are taken for is what they hold.
func TestSaved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.tar")
	ids := save(t, file, builtAgent, builtOperator)
	if ids[builtAgent] == ids[builtOperator] {
		t.Fatal("two images are one")
	}
	var found []string
	for _, p := range parts(t, file) {
		found = append(found, p.name)
	}
	for _, want := range append(slices.Collect(maps.Values(ids)), "manifest.json") {
		if !slices.Contains(found, want) {
			t.Errorf("%q has no %s", found, want)
		}
	}
}
