package imagelayer

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSameFilesSameDigest(t *testing.T) {
	digest := func(age time.Duration) string {
		file := filepath.Join(t.TempDir(), "binary")
		if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(file, then, then); err != nil {
			t.Fatal(err)
		}
		layer, err := New([]Entry{{Path: "/bin/echo", From: file}, {Path: "/bin/link", Link: "echo"}})
		if err != nil {
			t.Fatal(err)
		}
		id, err := layer.DiffID()
		if err != nil {
			t.Fatal(err)
		}
		return id.String()
	}
	if a, b := digest(0), digest(time.Hour); a != b {
		t.Errorf("digests differ: %s, %s", a, b)
	}
}

func TestLayerHoldsFilesAndLinks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "binary")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	layer, err := New([]Entry{{Path: "/bin/echo", From: file}, {Path: "/bin/link", Link: "echo"}})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(reader)
	header, err := archive.Next()
	if err != nil || header.Name != "bin/echo" || header.Mode != 0o755 {
		t.Fatalf("first entry = %+v, %v", header, err)
	}
	if content, err := io.ReadAll(archive); string(content) != "content" || err != nil {
		t.Errorf("content = %q, %v", content, err)
	}
	if header, err = archive.Next(); err != nil || header.Linkname != "echo" || header.Typeflag != tar.TypeSymlink {
		t.Errorf("second entry = %+v, %v", header, err)
	}
}

func TestMissingFileIsAnError(t *testing.T) {
	if _, err := New([]Entry{{Path: "/echo", From: filepath.Join(t.TempDir(), "nosuch")}}); err == nil {
		t.Error("a layer of a file that does not exist gives no error")
	}
}
