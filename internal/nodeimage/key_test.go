package nodeimage

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
	"time"
)

func TestKey(t *testing.T) {
	tree := func(content ...string) fstest.MapFS {
		files := fstest.MapFS{}
		for i := 0; i < len(content); i += 2 {
			files[content[i]] = &fstest.MapFile{Data: []byte(content[i+1])}
		}
		return files
	}
	base := func() inputs {
		return inputs{
			Sources:   tree("packages.txt", "systemd\n", "kubernetes/go.mod", "module kubernetes\n", "README.md", "why\n"),
			Builder:   []fs.FS{tree("build.go", "package nodeimage\n"), tree("layer.go", "package imagelayer\n")},
			GoVersion: "go1.26.0", KindVersion: "v0.31.0", Release: "bookworm", Arch: "amd64",
		}
	}
	key := func(in inputs) string {
		t.Helper()
		k, err := in.key()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	want := key(base())
	if len(want) != 16 {
		t.Errorf("key %q, want 16 digits", want)
	}

	for name, change := range map[string]func(*inputs){
		"nothing changed":   func(*inputs) {},
		"a page changed":    func(in *inputs) { in.Sources.(fstest.MapFS)["README.md"].Data = []byte("why not\n") },
		"a page added":      func(in *inputs) { in.Sources.(fstest.MapFS)["kubernetes/NOTES.md"] = &fstest.MapFile{} },
		"another timestamp": func(in *inputs) { in.Sources.(fstest.MapFS)["packages.txt"].ModTime = time.Unix(1, 0) },
		"on a disk": func(in *inputs) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, in.Sources); err != nil {
				t.Fatal(err)
			}
			in.Sources = os.DirFS(dir)
		},
	} {
		in := base()
		change(&in)
		if got := key(in); got != want {
			t.Errorf("%s: key %s, want %s", name, got, want)
		}
	}

	seen := map[string]string{want: "nothing changed"}
	for name, change := range map[string]func(*inputs){
		"a file changed": func(in *inputs) { in.Sources.(fstest.MapFS)["packages.txt"].Data = []byte("systemd \n") },
		"a file renamed": func(in *inputs) {
			in.Sources = tree("package.txt", "systemd\n", "kubernetes/go.mod", "module kubernetes\n")
		},
		"a file added": func(in *inputs) { in.Sources.(fstest.MapFS)["more.txt"] = &fstest.MapFile{} },
		"contents swapped": func(in *inputs) {
			in.Sources = tree("packages.txt", "module kubernetes\n", "kubernetes/go.mod", "systemd\n")
		},
		"another builder":      func(in *inputs) { in.Builder[0] = tree("build.go", "package other\n") },
		"another layer writer": func(in *inputs) { in.Builder[1] = tree("layer.go", "package other\n") },
		"another Go":           func(in *inputs) { in.GoVersion = "go1.26.1" },
		"another kind":         func(in *inputs) { in.KindVersion = "v0.32.0" },
		"another release":      func(in *inputs) { in.Release = "trixie" },
		"another architecture": func(in *inputs) { in.Arch = "arm64" },
	} {
		in := base()
		change(&in)
		got := key(in)
		if other, taken := seen[got]; taken {
			t.Errorf("%s: has the key of: %s", name, other)
		}
		seen[got] = name
	}

	if _, err := (inputs{Sources: os.DirFS("testdata/nosuch")}).key(); err == nil {
		t.Error("sources that are not there have a key")
	}
}

// TestBuilderIsEmbedded: code that makes images and is not in the key would
// leave an image in use that other code made.
func TestBuilderIsEmbedded(t *testing.T) {
	for _, file := range []string{"build.go", "rootfs.go", "components.go"} {
		if content, err := builder.ReadFile(file); err != nil || len(content) == 0 {
			t.Errorf("%s: %d bytes, %v", file, len(content), err)
		}
	}
}

func TestCodename(t *testing.T) {
	tests := []struct{ name, osRelease, want string }{
		{"Debian", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nID=debian\n", "bookworm"},
		{"Ubuntu", "VERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n", "noble"},
		{"only a derivative's base", "UBUNTU_CODENAME=noble\n", ""},
		{"quoted", "VERSION_CODENAME=\"trixie\"\n", "trixie"},
		{"last line without an end", "ID=debian\nVERSION_CODENAME=trixie", "trixie"},
		{"a distribution without", "ID=arch\n", ""},
		{"empty", "", ""},
	}
	for _, test := range tests {
		if got := codename(test.osRelease); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
