package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
)

const (
	// contentKey of locally built images.
	contentKey = "0123456789abcdef"
	// nodeFile is the first file of a small bundle.
	nodeFile = "images/node.tar"
)

// packed is a small bundle with what it holds, by name.
type packed struct {
	path     string
	index    Index
	contents map[string]string
}

// pack writes a small bundle whose index change may alter before it is
// committed.
func pack(tb testing.TB, change func(w *Writer, index *Index)) packed {
	tb.Helper()
	dir := tb.TempDir()
	p := packed{path: filepath.Join(dir, "bundle.tar"), contents: map[string]string{}}
	w, err := NewWriter(p.path)
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Discard()
	add := func(name, content string) Entry {
		file := filepath.Join(dir, "content")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
		defer os.Remove(file)
		e, err := w.Add(tb.Context(), name, file)
		if err != nil {
			tb.Fatal(err)
		}
		p.contents[name] = content
		return e
	}
	archive, err := os.ReadFile(saveChart(tb, tb.TempDir(), "cilium", "1.20.2"))
	if err != nil {
		tb.Fatal(err)
	}
	const agent, operator = "localhost/service-dataplane/cilium:v1.20.2-" + contentKey, "localhost/service-dataplane/cilium-operator:v1.20.2-" + contentKey
	p.index = Index{
		APIVersion: spec.APIVersion, Kind: kind,
		Created:  time.Date(2026, 11, 29, 20, 12, 4, 0, time.UTC),
		Revision: "c0792f1", Scenarios: []string{"nftables", "cilium"},
		Node: Node{
			Image:   imagebuild.Image{Reference: "localhost/service-dataplane/node:v1.35.0-" + contentKey, ID: "sha256:1", Origin: imagebuild.Source, ContentKey: contentKey, Bytes: 1 << 29},
			Archive: add(nodeFile, "the node image"),
		},
		Echo: Echo{Reference: "localhost/service-dataplane/echo:0123", Binary: add("echo/echo", "\x7fELF\x00\x01"), Archive: add("images/echo.tar", strings.Repeat("\x00", 512))},
		Planes: []Plane{{
			Name: "cilium", Version: "1.20.2",
			Images: map[string]imagebuild.Image{
				"agent":    {Reference: agent, ID: "sha256:2", Origin: imagebuild.Source, ContentKey: contentKey, Bytes: 300},
				"operator": {Reference: operator, ID: "sha256:3", Origin: imagebuild.Source, ContentKey: contentKey, Bytes: 100},
			},
			Names:    map[string]string{"agent": agent, "operator": operator},
			Archives: []Entry{add("images/cilium-1.20.2-0.tar", strings.Repeat("agent and operator", 40))},
			Chart:    add("charts/cilium-1.20.2.tgz", string(archive)), ChartFrom: "module github.com/cilium/cilium v1.20.2",
		}},
	}
	if change != nil {
		change(w, &p.index)
	}
	if err := w.Commit(p.index); err != nil {
		tb.Fatal(err)
	}
	return p
}

// saveChart writes the archive of a tiny chart and returns its path.
func saveChart(tb testing.TB, dir, name, version string) string {
	tb.Helper()
	archive, err := chartutil.Save(&chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: chart.APIVersionV2, Name: name, Version: version},
		Templates: []*chart.File{{Name: "templates/config.yaml", Data: []byte("kind: ConfigMap\n")}},
	}, dir)
	if err != nil {
		tb.Fatal(err)
	}
	return archive
}

// contents reads all that a bundle's index describes.
func contents(tb testing.TB, b *Bundle) map[string]string {
	tb.Helper()
	all := map[string]string{}
	for _, e := range b.entries() {
		content, err := b.read(e)
		if err != nil {
			tb.Fatal(err)
		}
		all[e.File] = string(content)
	}
	return all
}

// same says in what a bundle is not the one that was packed, "" for nothing.
func (p packed) same(tb testing.TB, b *Bundle) string {
	tb.Helper()
	switch got := contents(tb, b); {
	case !reflect.DeepEqual(b.Index, p.index):
		return fmt.Sprintf("index is\n%+v, want\n%+v", b.Index, p.index)
	case !reflect.DeepEqual(got, p.contents):
		return fmt.Sprintf("contents are\n%q, want\n%q", got, p.contents)
	}
	return ""
}

// part is a file of a bundle that is put together by hand.
type part struct {
	name, content string
	form          byte // of the entry in the tar
}

// parts reads a bundle for what it is made of, without this package.
func parts(tb testing.TB, path string) []part {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var all []part
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		content, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil {
			tb.Fatal(err)
		}
		all = append(all, part{header.Name, string(content), header.Typeflag})
	}
}

// build puts a file together from parts.
func build(tb testing.TB, all []part) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, p := range all {
		header := &tar.Header{Name: p.name, Mode: 0o644, Typeflag: p.form}
		if p.form == tar.TypeReg {
			header.Size = int64(len(p.content))
		} else {
			header.Linkname, p.content = p.content, ""
		}
		err := w.WriteHeader(header)
		if _, writeErr := w.Write([]byte(p.content)); errors.Join(err, writeErr) != nil {
			tb.Fatal(err, writeErr)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// edit changes a file, where a text stands in it first.
func edit(tb testing.TB, all []part, name, old, with string) []part {
	tb.Helper()
	at := slices.IndexFunc(all, func(p part) bool { return p.name == name })
	if at < 0 || !strings.Contains(all[at].content, old) {
		tb.Fatalf("%s has no %q", name, old)
	}
	all[at].content = strings.Replace(all[at].content, old, with, 1)
	return all
}

// reindex changes the index and gives it its digest.
func reindex(tb testing.TB, all []part, old, with string) []part {
	tb.Helper()
	return seal(edit(tb, all, indexFile, old, with))
}

func seal(all []part) []part {
	for _, p := range all {
		if p.name == indexFile {
			sum := part{digestFile, fmt.Sprintf("%x\n", sha256.Sum256([]byte(p.content))), tar.TypeReg}
			return append(without(all, digestFile), sum)
		}
	}
	return all
}

func without(all []part, names ...string) []part {
	return slices.DeleteFunc(all, func(p part) bool { return slices.Contains(names, p.name) })
}

func file(tb testing.TB, content []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "bundle.tar")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

// countdown is a context that is cancelled when it has been asked so often.
type countdown struct {
	context.Context
	left int
}

var errCountdown = errors.New("countdown")

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return errCountdown
	}
	return nil
}

// lock is charts/lock.yaml.
func lock(tb testing.TB) spec.Lock {
	tb.Helper()
	l, err := spec.LoadLock("../../charts/lock.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}
