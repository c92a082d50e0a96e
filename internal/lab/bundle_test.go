package lab

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	chartrepo "helm.sh/helm/v3/pkg/repo"
	"sigs.k8s.io/kind/pkg/apis/config/defaults"

	"service-dataplane/internal/bundle"
	"service-dataplane/internal/enginetest"
	"service-dataplane/internal/host"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
)

// engine puts a docker command on the PATH that has images, by reference and
// ID, and knows inspect, tag, save and load of them, and returns what was asked
// of it, one command line each. As the real one it gives an archive the tags it
// was asked for, and no references with a digest: those are a registry's, which
// the images came from that it has to begin with. script runs before.
func engine(t *testing.T, script string, images map[string]string) func() []string {
	t.Helper()
	store := t.TempDir()
	for reference, id := range images {
		file := filepath.Join(store, strings.NewReplacer("/", "+", ":", "+", "@", "+").Replace(reference))
		if err := errors.Join(os.WriteFile(file, []byte(id), 0o644), os.WriteFile(file+".pulled", nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return enginetest.Put(t, fmt.Sprintf(`%s
cd %s
key() { printf %%s "$1" | tr /:@ +++; }
for last; do :; done
case "$1 $2" in
"image inspect")
	test -e "$(key "$last")" || { echo "Error: No such image: $last" >&2; exit 1; }
	case "$4" in
	*RepoDigests*) test ! -e "$(key "$last").pulled" || echo "${last%%:*}@%s";;
	*) echo "$(cat "$(key "$last")") 1000";;
	esac;;
"tag "*)
	cp "$(key "$2")" "$(key "$3")";;
"save --output")
	file=$3
	shift 3
	: > "$file"
	for name; do
		id=$(cat "$(key "$name")") || exit 1
		case "$name" in *@*) name=;; esac
		echo "$id $name" >> "$file"
	done;;
"load --quiet")
	while read -r id name; do
		test -z "$name" || printf %%s "$id" > "$(key "$name")"
	done;;
*)
	echo "no route to host" >&2; exit 1;;
esac
`, script, store, served))
}

const (
	// served is the digest of every image that is pulled by its tag.
	served    = "sha256:0d3cf0c1dc3b4d5c8d9f3a0b7f4f1f6f7c8f2e2a9b1c6d7e8f90a1b2c3d4e5f6"
	builtNode = "localhost/service-dataplane/node:v1.35.0-0123456789abcdef"
	agent     = "quay.io/cilium/cilium:v%s@sha256:2939231d0d3e3ebddcd80fffa168b7ddcc78fdf0dc864d1c8c126ff523c54f01"
	operator  = "quay.io/cilium/operator-generic:v%s@sha256:64d8798350e8569b8e7622563fed6e44dce2625f311e4651b774816516c744fc"
)

// calicoImages are those of the Tigera operator's chart, by part.
var calicoImages = map[string]string{
	"operator": "quay.io/tigera/operator:v1.40.15", "node": "quay.io/calico/node:v3.31.7", "cni": "quay.io/calico/cni:v3.31.7",
	"typha": "quay.io/calico/typha:v3.31.7", "kube-controllers": "quay.io/calico/kube-controllers:v3.31.7",
}

// toPack are options of scenarios with two versions of Cilium and one of Calico,
// and the images that an engine needs for them. The tree has an echo that
// compiles at once, and the charts are served by this machine.
func toPack(t *testing.T) (Options, map[string]string) {
	t.Helper()
	dir := t.TempDir()
	options := Options{Repo: filepath.Join(dir, "tree"), WorkDir: filepath.Join(dir, "work"), NodeImage: builtNode, ImageSource: imagebuild.Registry}
	for file, content := range map[string]string{
		"tree/go.mod":           "module tree\n",
		"tree/cmd/echo/main.go": "package main\n\nfunc main() {}\n",
		"work/.keep":            "",
	} {
		file = filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	images := map[string]string{builtNode: "sha256:1"}
	for _, c := range []spec.Chart{
		{Name: spec.CiliumChart, Version: "1.20.2", Images: map[string]string{"agent": fmt.Sprintf(agent, "1.20.2"), "operator": fmt.Sprintf(operator, "1.20.2")}},
		{Name: spec.CiliumChart, Version: "1.19.8", Images: map[string]string{"agent": fmt.Sprintf(agent, "1.19.8"), "operator": fmt.Sprintf(operator, "1.19.8")}},
		{Name: spec.CalicoChart, Version: "v3.31.7", Images: maps.Clone(calicoImages)},
	} {
		charts := t.TempDir()
		saveChart(t, charts, c.Name, c.Version)
		index, err := chartrepo.IndexDirectory(charts, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := index.WriteFile(filepath.Join(charts, "index.yaml"), 0o644); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.FileServer(http.Dir(charts)))
		t.Cleanup(server.Close)
		c.Repository = server.URL
		options.Lock.Charts = append(options.Lock.Charts, c)
		for part, reference := range c.Images {
			images[reference] = "sha256:" + part + c.Version
		}
	}
	// Helm keeps what it reads of a repository in its own cache.
	t.Setenv("HELM_CACHE_HOME", t.TempDir())
	options.Scenarios = []spec.Scenario{
		named("nftables", ""), named("cilium", "1.20.2"), named("cilium-kube-proxy", "1.20.2"), named("cilium-1-19", "1.19.8"), withCalico("calico-ebpf", "v3.31.7"),
	}
	return options, images
}

func withCalico(name, version string) spec.Scenario {
	s := spec.Scenario{Metadata: spec.Metadata{Name: name}}
	s.Spec.DataPlane.Calico = &spec.Calico{Version: version}
	return s
}

func named(name, cilium string) spec.Scenario {
	s := spec.Scenario{Metadata: spec.Metadata{Name: name}}
	if cilium != "" {
		s.Spec.DataPlane.Cilium = &spec.Cilium{Version: cilium}
	}
	return s
}

func saveChart(t *testing.T, dir, name, version string) string {
	t.Helper()
	archive, err := chartutil.Save(&chart.Chart{Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: name, Version: version}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func tarOf(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644})
	_, writeErr := w.Write([]byte(content))
	if err := errors.Join(err, writeErr, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func quiet(t *testing.T) *progress.Reporter { return progress.New(t.Output(), false) }

// below lists what lies in a directory.
func below(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestBundle makes a bundle on one engine and prepares runs from it on another
// that has nothing and reaches nothing.
func TestBundle(t *testing.T) {
	for _, test := range []struct{ name, choice, node string }{
		{"a node image built here", builtNode, builtNode},
		{"one that was pulled", imagebuild.Registry, defaults.Image},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			options, images := toPack(t)
			options.NodeImage, images[test.node] = test.choice, "sha256:1"
			there := engine(t, "", images)
			target := filepath.Join(t.TempDir(), "bundle.tar")
			before := time.Now().UTC().Truncate(time.Second)
			index, err := CreateBundle(t.Context(), options, target, quiet(t))
			if err != nil {
				t.Fatal(err)
			}
			if left := append(below(t, filepath.Dir(target)), below(t, options.WorkDir)...); !slices.Equal(left, []string{"bundle.tar", ".keep"}) {
				t.Errorf("left is %q", left)
			}
			if index.Created.Before(before) || index.Created.After(time.Now()) || index.Created.Location() != time.UTC {
				t.Errorf("created %s", index.Created)
			}
			if want := []string{"nftables", "cilium", "cilium-kube-proxy", "cilium-1-19", "calico-ebpf"}; !slices.Equal(index.Scenarios, want) {
				t.Errorf("scenarios %q, want %q", index.Scenarios, want)
			}
			var planes []string
			for _, p := range index.Planes {
				planes = append(planes, p.Name+" "+p.Version)
			}
			if want := []string{"cilium 1.19.8", "cilium 1.20.2", "tigera-operator v3.31.7"}; !slices.Equal(planes, want) {
				t.Errorf("planes %q, want %q", planes, want)
			}
			saved := slices.DeleteFunc(there(), func(a string) bool { return !strings.HasPrefix(a, "save ") })
			if len(saved) != 4 {
				t.Errorf("saved is %q: each data plane and the node image once", saved)
			}

			here := engine(t, "", nil)
			l := &lab{show: quiet(t)}
			l.Repo, l.WorkDir, l.Bundle, l.Lock = t.TempDir(), t.TempDir(), target, options.Lock
			skipped, err := l.prepare(t.Context(), options.Scenarios, nil)
			if err != nil || skipped != nil {
				t.Fatalf("skipped %v, %v", skipped, err)
			}
			for _, asked := range here() {
				if !strings.HasPrefix(asked, "image inspect ") && asked != "load --quiet" {
					t.Errorf("the engine was asked %q", asked)
				}
			}
			if l.image.ID != "sha256:1" || l.bundle == nil || !reflect.DeepEqual(l.bundle.Index, index) {
				t.Errorf("node image %+v, index %+v", l.image, l.bundle)
			}
			if l.echo.Reference != index.Echo.Reference || filepath.Dir(l.echo.Binary) != l.WorkDir {
				t.Errorf("workload %+v", l.echo)
			}
			for file, mode := range map[string]os.FileMode{l.echo.Binary: 0o755, l.echo.Archive: 0o644} {
				if info, err := os.Stat(file); err != nil || info.Mode() != mode || info.Size() == 0 {
					t.Errorf("%s: %v, %v", file, info, err)
				}
			}
			for _, scenario := range options.Scenarios {
				p, planned := l.planes[scenario.Metadata.Name]
				name, version := scenario.Spec.DataPlane.Chart()
				if planned != (name != "") {
					t.Errorf("%s: plane %v", scenario.Metadata.Name, planned)
				}
				if name == "" {
					continue
				}
				c, _ := options.Lock.Chart(name, version)
				if p.Chart.Name() != name || p.Chart.Metadata.Version != version || !strings.HasPrefix(p.Chart.From, c.Repository+" sha256:") {
					t.Errorf("%s: chart %s %s from %s", scenario.Metadata.Name, p.Chart.Name(), p.Chart.Metadata.Version, p.Chart.From)
				}
				if len(p.Images) != len(c.Images) || len(p.Names) != len(c.Images) || p.Deviations != nil {
					t.Errorf("%s: images %+v by the names %q with %q, want those of %q", scenario.Metadata.Name, p.Images, p.Names, p.Deviations, c.Images)
				}
				var lines []string
				for part, reference := range c.Images {
					// An archive has tags alone; the record has the digest.
					tag, _, pinned := strings.Cut(reference, "@")
					image := imagebuild.Image{Reference: reference, ID: "sha256:" + part + version, Origin: imagebuild.Registry, Bytes: 1000}
					if !pinned {
						image.Reference += "@" + served
					}
					if p.Names[part] != tag || p.Images[part] != image {
						t.Errorf("%s: %s is %+v by the name %s, want %+v", scenario.Metadata.Name, part, p.Images[part], p.Names[part], image)
					}
					lines = append(lines, tag+" "+image.ID)
				}
				if len(p.archives) != 1 {
					t.Fatalf("%s: %d archives", scenario.Metadata.Name, len(p.archives))
				}
				want := ""
				for _, line := range slices.Sorted(slices.Values(lines)) {
					tag, id, _ := strings.Cut(line, " ")
					want += id + " " + tag + "\n"
				}
				for range 2 { // nodes get it one after another
					archive, err := p.archives[0]()
					if err != nil {
						t.Fatal(err)
					}
					content, err := io.ReadAll(archive)
					if err := errors.Join(err, archive.Close()); err != nil || string(content) != want {
						t.Errorf("%s: archive %q, %v; want %q", scenario.Metadata.Name, content, err, want)
					}
				}
			}
		})
	}
}

// TestCreateBundleFails: an older bundle stays, and nothing is left beside it.
func TestCreateBundleFails(t *testing.T) {
	for _, test := range []struct {
		name   string
		script string // of the engine
		change func(*Options)
		host   bool
		says   []string
	}{
		{"no engine", "exit 1", nil, true, []string{"no node image", builtNode}},
		{"no node image", "", func(o *Options) { o.NodeImage = "nosuch:1" }, true, []string{"no node image", "nosuch:1"}},
		{"no images", "", func(o *Options) { o.Lock.Charts[0].Images["agent"] = "quay.io/cilium/cilium:v1@sha256:0" }, true, []string{"cilium: what it is installed from is not to be had here", "no route to host"}},
		{"no chart", "", func(o *Options) { o.Lock.Charts[1].Repository += "/nosuch" }, true, []string{"cilium-1-19: load chart cilium: ", "/nosuch"}},
		{"no images of Calico", `case "$*" in *RepoDigests*typha*) exit 0;; esac`, nil, true, []string{"calico-ebpf: what it is installed from is not to be had here", "docker pull quay.io/calico/typha:v3.31.7", "no route to host"}},
		{"no chart of Calico", "", func(o *Options) {
			o.Lock.Charts[2].Version, o.Scenarios[4].Spec.DataPlane.Calico.Version = "v3.31.6", "v3.31.6"
		}, true, []string{"calico-ebpf: load chart tigera-operator: ", `version "v3.31.6" not found in http://127.0.0.1:`}},
		{"no room for the node image", `case "$3" in */node.tar) echo half > "$3"; echo no space left on device >&2; exit 1;; esac`, nil, false, []string{"pack the node image", "no space left on device"}},
		{"no room for the images", `case "$3" in */cilium-*.tar) echo half > "$3"; echo no space left on device >&2; exit 1;; esac`, nil, true, []string{"cilium: save the images of cilium", "no space left on device"}},
		{"no echo", "", func(o *Options) { os.RemoveAll(filepath.Join(o.Repo, "cmd")) }, false, []string{"pack the echo image", "go build"}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			options, images := toPack(t)
			if test.change != nil {
				test.change(&options)
			}
			engine(t, test.script, images)
			target := filepath.Join(t.TempDir(), "bundle.tar")
			if err := os.WriteFile(target, []byte("older"), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := CreateBundle(t.Context(), options, target, quiet(t))
			if err == nil || errors.Is(err, ErrHost) != test.host {
				t.Fatalf("error %v, the host's: %v", err, test.host)
			}
			for _, says := range test.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("says %q, want %q", err, says)
				}
			}
			if left := append(below(t, filepath.Dir(target)), below(t, options.WorkDir)...); !slices.Equal(left, []string{"bundle.tar", ".keep"}) {
				t.Errorf("left is %q", left)
			}
			if content, err := os.ReadFile(target); err != nil || string(content) != "older" {
				t.Errorf("the older bundle is %.20q, %v", content, err)
			}
		})
	}
}

// TestCreateBundleInterrupted, while the engine saves the node image.
func TestCreateBundleInterrupted(t *testing.T) {
	options, images := toPack(t)
	mark := filepath.Join(t.TempDir(), "mark")
	engine(t, fmt.Sprintf(`case "$3" in */node.tar) : > %s; exec sleep 20;; esac`, mark), images)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(mark); err == nil {
				cancel(ErrInterrupted)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	dir := t.TempDir()
	if _, err := CreateBundle(ctx, options, filepath.Join(dir, "bundle.tar"), quiet(t)); !errors.Is(err, ErrInterrupted) {
		t.Errorf("error %v", err)
	}
	if left := append(below(t, dir), below(t, options.WorkDir)...); !slices.Equal(left, []string{".keep"}) {
		t.Errorf("left is %q", left)
	}
}

func TestCreateBundleWithoutPlace(t *testing.T) {
	options, images := toPack(t)
	options.Scenarios = options.Scenarios[:1]
	engine(t, "", images)
	if _, err := CreateBundle(t.Context(), options, filepath.Join(t.TempDir(), "nosuch", "bundle.tar"), quiet(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory for the bundle: %v", err)
	}
	options.WorkDir = filepath.Join(t.TempDir(), "nosuch")
	if _, err := CreateBundle(t.Context(), options, filepath.Join(t.TempDir(), "bundle.tar"), quiet(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no work directory: %v", err)
	}
}

// given writes a bundle of small files whose chart is of a name and version.
func given(t *testing.T, chartName, chartVersion string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "bundle.tar")
	w, err := bundle.NewWriter(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	add := func(name, from string) bundle.Entry {
		if from == "" {
			from = filepath.Join(dir, "content")
			if err := os.WriteFile(from, []byte("sha256:1 "+builtNode+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		e, err := w.Add(t.Context(), name, from)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	index := bundle.Index{
		APIVersion: spec.APIVersion, Kind: "Bundle", Created: time.Date(2026, 11, 29, 20, 12, 4, 0, time.UTC), Revision: "c0792f1", Scenarios: []string{"cilium"},
		Node: bundle.Node{Image: imagebuild.Image{Reference: builtNode, ID: "sha256:1", Origin: imagebuild.Source, ContentKey: "0123456789abcdef", Bytes: 7}, Archive: add("images/node.tar", "")},
		Echo: bundle.Echo{Reference: "localhost/service-dataplane/echo:0", Binary: add("echo/echo", ""), Archive: add("images/echo.tar", "")},
		Planes: []bundle.Plane{{
			Name: "cilium", Version: "1.20.2", Archives: []bundle.Entry{add("images/cilium.tar", "")},
			Images: map[string]imagebuild.Image{"agent": {ID: "sha256:2"}}, Names: map[string]string{"agent": "localhost/service-dataplane/cilium:v1.20.2"},
			Chart: add("charts/cilium.tgz", saveChart(t, dir, chartName, chartVersion)), ChartFrom: "somewhere",
		}},
	}
	if err := w.Commit(index); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUnpackRefuses: what is in the way of a run is the host's, but for an
// interruption, and is said before there is a cluster.
func TestUnpackRefuses(t *testing.T) {
	whole := given(t, "cilium", "1.20.2")
	damaged := filepath.Join(t.TempDir(), "bundle.tar")
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	content[512] ^= 1
	if err := os.WriteFile(damaged, content, 0o644); err != nil {
		t.Fatal(err)
	}
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(ErrInterrupted)
	cilium, old, older := named("cilium", "1.20.2"), named("cilium-1-19", "1.19.8"), named("cilium-1-18", "1.18.1")
	for _, test := range []struct {
		name     string
		ctx      context.Context
		bundle   string
		script   string
		runnable []spec.Scenario
		host     bool
		engine   bool // is asked for anything
		says     []string
	}{
		{"no such bundle", t.Context(), "/nosuch/bundle.tar", "", []spec.Scenario{cilium}, true, false, []string{"check the bundle", "/nosuch/bundle.tar"}},
		{"a damaged one", t.Context(), damaged, "", []spec.Scenario{cilium}, true, false, []string{"check the bundle", damaged, "images/node.tar"}},
		{"an empty directory", t.Context(), t.TempDir(), "", []spec.Scenario{cilium}, true, false, []string{"check the bundle", "has neither"}},
		{"another version", t.Context(), whole, "", []spec.Scenario{cilium, old}, true, false, []string{whole + " lacks what scenario cilium-1-19 needs: cilium 1.19.8 (it was made for cilium)"}},
		{"other versions", t.Context(), whole, "", []spec.Scenario{old, older}, true, false, []string{"scenario cilium-1-19 needs: cilium 1.19.8", "scenario cilium-1-18 needs: cilium 1.18.1"}},
		{"another data plane", t.Context(), whole, "", []spec.Scenario{cilium, withCalico("calico-ebpf", "v3.31.7")}, true, false, []string{whole + " lacks what scenario calico-ebpf needs: tigera-operator v3.31.7 (it was made for cilium)"}},
		{"a chart of another version", t.Context(), given(t, "cilium", "1.20.1"), "", []spec.Scenario{cilium}, true, true, []string{"is chart cilium 1.20.1, want cilium 1.20.2"}},
		{"an engine that does not load", t.Context(), whole, `case "$1" in load) echo no space left on device >&2; exit 1;; esac`, []spec.Scenario{cilium}, true, true, []string{"load the node image into the engine", "docker load --quiet", "no space left on device"}},
		{"interrupted", interrupted, whole, "", []spec.Scenario{cilium}, false, false, []string{ErrInterrupted.Error()}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			asked := engine(t, test.script, nil)
			l := &lab{show: quiet(t), planes: map[string]plane{}}
			l.WorkDir, l.Bundle = t.TempDir(), test.bundle
			err := l.unpack(test.ctx, test.runnable)
			if err == nil || errors.Is(err, ErrHost) != test.host || errors.Is(err, ErrInterrupted) == test.host {
				t.Fatalf("error %v, the host's: %v", err, test.host)
			}
			for _, says := range test.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("says %q, want %q", err, says)
				}
			}
			if (len(asked()) > 0) != test.engine {
				t.Errorf("the engine was asked %q", asked())
			}
		})
	}
}

// TestBundledNode: the engine is given what it does not have, and what it has
// then must be the bundle's.
func TestBundledNode(t *testing.T) {
	b, err := bundle.Open(t.Context(), given(t, "cilium", "1.20.2"), spec.Lock{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		images map[string]string
		script string
		loads  bool
		says   string // "" where it is had
	}{
		{"there already", map[string]string{builtNode: "sha256:1"}, "", false, ""},
		{"not there", nil, "", true, ""},
		{"another by that name", map[string]string{builtNode: "sha256:2"}, "", true, ""},
		{"it becomes another", map[string]string{builtNode: "sha256:2"}, `case "$1" in load) exit 0;; esac`, true, "node image " + builtNode + " of the bundle has become sha256:2 in the engine, want sha256:1"},
		{"it goes by another name", nil, `case "$1" in load) exit 0;; esac`, true, "No such image: " + builtNode},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			asked := engine(t, test.script, test.images)
			image, err := (&lab{show: quiet(t)}).bundledNode(t.Context(), b)
			if slices.Contains(asked(), "load --quiet") != test.loads {
				t.Errorf("the engine was asked %q", asked())
			}
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%+v, %v; want %q", image, err, test.says)
				}
				return
			}
			want := b.Node.Image
			want.Bytes = 1000 // of this engine
			if err != nil || image != want {
				t.Errorf("%+v, %v; want %+v", image, err, want)
			}
		})
	}
}

// TestUnpackDirectory: what a directory does not have is as without one.
func TestUnpackDirectory(t *testing.T) {
	options, images := toPack(t)
	dir := t.TempDir()
	manifest := `[{"Config":"1.json","RepoTags":["localhost/service-dataplane/cilium:v1.20.2-0"]},{"Config":"2.json","RepoTags":["localhost/service-dataplane/cilium-operator:v1.20.2-0"]}]`
	if err := os.WriteFile(filepath.Join(dir, "cilium.tar"), tarOf(t, "manifest.json", manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "deviations.txt"), []byte("built elsewhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	saveChart(t, dir, "cilium", "1.20.2")
	engine(t, "", images)
	l := &lab{show: quiet(t), planes: map[string]plane{}}
	l.Options = options
	l.Bundle = dir
	if err := l.unpack(t.Context(), options.Scenarios[:2]); err != nil {
		t.Fatal(err)
	}
	if l.image.Reference != builtNode || l.image.ID != "sha256:1" {
		t.Errorf("node image %+v, want the engine's", l.image)
	}
	if info, err := os.Stat(l.echo.Binary); err != nil || info.Size() == 0 || !strings.HasPrefix(l.echo.Reference, "localhost/service-dataplane/echo:") {
		t.Errorf("workload %+v, %v", l.echo, err)
	}
	p := l.planes["cilium"]
	if p.Names["operator"] != "localhost/service-dataplane/cilium-operator:v1.20.2-0" || p.Images["operator"].ID != "sha256:2" || len(p.archives) != 1 || p.Chart.Chart == nil {
		t.Errorf("plane %+v", p)
	}
	if len(p.Deviations) != 2 || p.Deviations[1] != "built elsewhere" {
		t.Errorf("deviations %q", p.Deviations)
	}
	if err := l.unpack(t.Context(), options.Scenarios); !errors.Is(err, ErrHost) || !strings.Contains(err.Error(), "scenario cilium-1-19 needs: cilium 1.19.8") || !strings.Contains(err.Error(), "scenario calico-ebpf needs: tigera-operator v3.31.7") {
		t.Errorf("a version that is not there: %v", err)
	}
}

// TestProvenanceOfBundle: a run says which bundle it was made from.
func TestProvenanceOfBundle(t *testing.T) {
	repo := t.TempDir() // a tree without Git
	for _, dir := range []string{"charts", "scenarios"} {
		if err := os.CopyFS(filepath.Join(repo, dir), os.DirFS(filepath.Join("..", "..", dir))); err != nil {
			t.Fatal(err)
		}
	}
	scenarios, err := spec.LoadScenarios(filepath.Join(repo, "scenarios", "iptables.yaml"), spec.Known{Features: host.Known()})
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{show: quiet(t)}
	l.Repo = repo
	l.Experiment.Spec.Workload.Chart = "charts/echo"
	l.Argv = []string{"runner", "run", "--bundle", "/mnt/bundle.tar", "--scenario", "iptables"}
	b, err := bundle.Open(t.Context(), given(t, "cilium", "1.20.2"), spec.Lock{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		bundle *bundle.Bundle
		want   *results.Bundle
	}{
		{"none", nil, nil},
		{"a file", b, &results.Bundle{SHA256: b.SHA256, Created: b.Created, Revision: "c0792f1"}},
		{"a directory", &bundle.Bundle{}, &results.Bundle{}},
	} {
		l.bundle = test.bundle
		run, err := l.provenance(scenarios[0], scenarios[0], observation{Started: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(run.Bundle, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, run.Bundle, test.want)
		}
		if got := strings.Join(run.Argv, " "); got != "runner run --scenario iptables" {
			t.Errorf("%s: recorded as %q", test.name, got)
		}
	}
}
