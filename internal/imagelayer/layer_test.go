package imagelayer

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"slices"
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

// TestSort: entries that come from a map are a layer of one digest.
func TestSort(t *testing.T) {
	tests := []struct {
		name       string
		have, want []Entry
	}{
		{"nothing", nil, nil},
		{"files and links alike", []Entry{{Path: "/usr/bin/tc", From: "tc"}, {Path: "/bin/sh", Link: "dash"}},
			[]Entry{{Path: "/bin/sh", Link: "dash"}, {Path: "/usr/bin/tc", From: "tc"}}},
		{"by the path in the image alone", []Entry{{Path: "/b", From: "1"}, {Path: "/c", From: "0"}, {Path: "/a", From: "2"}},
			[]Entry{{Path: "/a", From: "2"}, {Path: "/b", From: "1"}, {Path: "/c", From: "0"}}},
		{"a path within another", []Entry{{Path: "/opt/cni/bin"}, {Path: "/opt/cni"}, {Path: "/opt/cni-plugins"}},
			[]Entry{{Path: "/opt/cni"}, {Path: "/opt/cni-plugins"}, {Path: "/opt/cni/bin"}}},
		{"in no language's order", []Entry{{Path: "/a"}, {Path: "/B"}, {Path: "/ä"}}, []Entry{{Path: "/B"}, {Path: "/a"}, {Path: "/ä"}}},
	}
	for _, test := range tests {
		got := slices.Clone(test.have)
		if Sort(got); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
