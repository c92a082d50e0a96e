package imagebuild

import (
	"io/fs"
	"os"
	"slices"
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
	base := func() Inputs {
		return Inputs{
			Trees: []fs.FS{
				tree("packages.txt", "systemd\n", "kubernetes/go.mod", "module kubernetes\n", "README.md", "why\n"),
				tree("build.go", "package nodeimage\n"),
			},
			Values: []string{"v0.31.0", "bookworm"},
		}
	}
	sources := func(in Inputs) fstest.MapFS { return in.Trees[0].(fstest.MapFS) }
	key := func(in Inputs) string {
		t.Helper()
		k, err := in.Key()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	want := key(base())
	if len(want) != 16 {
		t.Errorf("key %q, want 16 digits", want)
	}

	for name, change := range map[string]func(*Inputs){
		"nothing changed":   func(*Inputs) {},
		"a page changed":    func(in *Inputs) { sources(*in)["README.md"].Data = []byte("why not\n") },
		"a page added":      func(in *Inputs) { sources(*in)["kubernetes/NOTES.md"] = &fstest.MapFile{} },
		"another timestamp": func(in *Inputs) { sources(*in)["packages.txt"].ModTime = time.Unix(1, 0) },
		"on a disk": func(in *Inputs) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, in.Trees[0]); err != nil {
				t.Fatal(err)
			}
			in.Trees[0] = os.DirFS(dir)
		},
	} {
		in := base()
		change(&in)
		if got := key(in); got != want {
			t.Errorf("%s: key %s, want %s", name, got, want)
		}
	}

	seen := map[string]string{want: "nothing changed"}
	for name, change := range map[string]func(*Inputs){
		"a file changed": func(in *Inputs) { sources(*in)["packages.txt"].Data = []byte("systemd \n") },
		"a file renamed": func(in *Inputs) {
			in.Trees[0] = tree("package.txt", "systemd\n", "kubernetes/go.mod", "module kubernetes\n")
		},
		"a file added": func(in *Inputs) { sources(*in)["more.txt"] = &fstest.MapFile{} },
		"contents swapped": func(in *Inputs) {
			in.Trees[0] = tree("packages.txt", "module kubernetes\n", "kubernetes/go.mod", "systemd\n")
		},
		"another builder": func(in *Inputs) { in.Trees[1] = tree("build.go", "package other\n") },
		"another kind":    func(in *Inputs) { in.Values[0] = "v0.32.0" },
		"another release": func(in *Inputs) { in.Values[1] = "trixie" },
		"values swapped":  func(in *Inputs) { slices.Reverse(in.Values) },
	} {
		in := base()
		change(&in)
		got := key(in)
		if other, taken := seen[got]; taken {
			t.Errorf("%s: has the key of: %s", name, other)
		}
		seen[got] = name
	}

	if _, err := (Inputs{Trees: []fs.FS{os.DirFS("testdata/nosuch")}}).Key(); err == nil {
		t.Error("sources that are not there have a key")
	}
}

// TestBuilderIsEmbedded: code that makes images and is not in the key would
// leave an image in use that other code made.
func TestBuilderIsEmbedded(t *testing.T) {
	for _, file := range []string{"compile.go", "debian.go", "files.go"} {
		if content, err := Builder.ReadFile(file); err != nil || len(content) == 0 {
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
