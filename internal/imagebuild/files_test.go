package imagebuild

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadList(t *testing.T) {
	tests := []struct {
		name, content string
		want          []string // nil is an error
	}{
		{"entries", "systemd\niproute2\n", []string{"systemd", "iproute2"}},
		{"comments and blank lines", "# what a node needs\n\nsystemd\n  # more\n\n", []string{"systemd"}},
		{"space around", "  systemd\t\r\n", []string{"systemd"}},
		{"no end of line", "systemd", []string{"systemd"}},
		{"a list with a * and inner #", "/usr/lib/*/xtables/*.so\na#b\n", []string{"/usr/lib/*/xtables/*.so", "a#b"}},
		{"nothing", "", nil},
		{"comments only", "# systemd\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "list.txt")
			write(t, file, test.content)
			got, err := ReadList(file)
			if !slices.Equal(got, test.want) || (err != nil) != (test.want == nil) {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), file) {
				t.Errorf("%v does not name the file", err)
			}
		})
	}
	if _, err := ReadList("testdata/nosuch"); err == nil {
		t.Error("a file that is not there is a list")
	}
	lists, _ := filepath.Glob("../../images/*/*.txt")
	if len(lists) == 0 {
		t.Error("no lists")
	}
	for _, list := range lists {
		if _, err := ReadList(list); err != nil {
			t.Error(err)
		}
	}
}

func TestAptSources(t *testing.T) {
	tests := []struct {
		name  string
		files []string // an empty one ends in !
		want  []string // nil is an error
	}{
		{"one-line format", []string{"sources.list"}, []string{"sources.list"}},
		{"deb822", []string{"sources.list.d/debian.sources"}, []string{"sources.list.d/debian.sources"}},
		{"Ubuntu", []string{"sources.list!", "sources.list.d/ubuntu.sources"}, []string{"sources.list.d/ubuntu.sources"}},
		{"both formats", []string{"sources.list.d/debian.sources", "sources.list"}, []string{"sources.list", "sources.list.d/debian.sources"}},
		{"what a user added is left out", []string{"sources.list", "sources.list.d/docker.list", "sources.list.d/vscode.sources"}, []string{"sources.list"}},
		{"nothing but what a user added", []string{"sources.list!", "sources.list.d/docker.list"}, nil},
		{"nothing", nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range test.files {
				name, empty := strings.CutSuffix(file, "!")
				content := "deb http://mirror.example/debian bookworm main\n"
				if empty {
					content = ""
				}
				write(t, filepath.Join(dir, name), content)
			}
			got, err := aptSources(dir)
			var want []string
			for _, file := range test.want {
				want = append(want, filepath.Join(dir, file))
			}
			if !slices.Equal(got, want) || (err != nil) != (test.want == nil) {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		})
	}
}

// TestResolve follows links as a process in the root file system would, never
// out of it.
func TestResolve(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "usr/lib/libc.so.6"), "library")
	for link, target := range map[string]string{
		"lib": "usr/lib", "usr/lib/libc.so": "libc.so.6", "etc": "/usr/lib", "up": "../../../usr/lib/libc.so.6", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	want := filepath.Join(root, "usr/lib/libc.so.6")
	for _, file := range []string{"/usr/lib/libc.so.6", "/lib/libc.so", "/etc/libc.so", "/up"} {
		if got, err := resolve(root, file); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", file, got, err, want)
		}
	}
	for _, file := range []string{"/loop", "/nosuch"} {
		if got, err := resolve(root, file); err == nil {
			t.Errorf("%s: %s and no error", file, got)
		}
	}
}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"bpf_lxc.c", "lib/lb.h", "tests/tc.c"} {
		write(t, filepath.Join(dir, file), file)
	}
	entries, err := Tree(dir, "/var/lib/bpf", func(below string) bool { return below == "tests" })
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range entries {
		paths = append(paths, e.Path)
	}
	if want := []string{"/var/lib/bpf/bpf_lxc.c", "/var/lib/bpf/lib/lb.h"}; !slices.Equal(paths, want) {
		t.Errorf("%q, want %q", paths, want)
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
