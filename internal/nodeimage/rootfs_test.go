package nodeimage

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"
)

const images = "../../images/node"

// TestEdits makes the edits to the static files of the kind module in go.mod:
// a kind that has changed them fails here, not minutes into a build.
func TestEdits(t *testing.T) {
	b := withStaticFiles(t)
	before := b.contents(t)
	if err := b.adapt(); err != nil {
		t.Fatal(err)
	}
	after := b.contents(t)

	tests := []struct {
		file        string
		gone, added []string
		kept        []string // beginnings of lines that the builder or kind's entrypoint looks for
	}{
		{
			file: "etc/containerd/config.toml",
			gone: []string{
				`[proxy_plugins]`,
				`# fuse-overlayfs is used for rootless`,
				`[proxy_plugins."fuse-overlayfs"]`,
				`  type = "snapshot"`,
				`  address = "/run/containerd-fuse-overlayfs.sock"`,
				`  restrict_oom_score_adj = false`,
				``,
			},
			added: []string{`  restrict_oom_score_adj = true`},
			kept: []string{
				`version = 2`,
				`[plugins."io.containerd.grpc.v1.cri".containerd]`,
				`  snapshotter = "overlayfs"`,
				`  base_runtime_spec = "/etc/containerd/cri-base.json"`,
				`  sandbox_image = "registry.k8s.io/pause:`,
			},
		},
		{
			file: "etc/systemd/system/containerd.service",
			gone: []string{
				`ExecStart=/usr/local/bin/containerd`,
				`LimitNPROC=infinity`,
				`LimitCORE=infinity`,
				`LimitNOFILE=infinity`,
				`OOMScoreAdjust=-999`,
			},
			added: []string{`ExecStart=/usr/bin/containerd`},
			kept:  []string{`StartLimitIntervalSec=0`, `TasksMax=infinity`, `Delegate=yes`},
		},
	}
	edited := map[string]bool{"etc/systemd/system/containerd-fuse-overlayfs.service": true}
	for _, test := range tests {
		edited[test.file] = true
		is, was := strings.Split(after[test.file], "\n"), strings.Split(before[test.file], "\n")
		if gone := without(was, is); !slices.Equal(gone, test.gone) {
			t.Errorf("%s: gone are %q, want %q", test.file, gone, test.gone)
		}
		if added := without(is, was); !slices.Equal(added, test.added) {
			t.Errorf("%s: added are %q, want %q", test.file, added, test.added)
		}
		for _, beginning := range test.kept {
			if !slices.ContainsFunc(is, func(line string) bool { return strings.HasPrefix(line, beginning) }) {
				t.Errorf("%s: has no %s", test.file, beginning)
			}
		}
	}
	for _, e := range edits {
		if !edited[e.file] {
			t.Errorf("the edit of %s is not tested", e.file)
		}
	}
	for file, content := range before {
		if got, there := after[file]; !edited[file] && got != content {
			t.Errorf("%s has changed (there: %v)", file, there)
		}
	}
	if _, there := after["etc/systemd/system/containerd-fuse-overlayfs.service"]; there {
		t.Error("the unit of the fuse-overlayfs snapshotter is still there")
	}
}

// TestEditThatNoLongerMatches: each edit notices that its file has changed.
func TestEditThatNoLongerMatches(t *testing.T) {
	for _, e := range edits {
		b := withStaticFiles(t)
		write(t, b.path("root", e.file), "rewritten\n")
		err := b.adapt()
		if err == nil {
			t.Fatalf("%s: an edit without a match is no error", e.file)
		}
		for _, want := range []string{e.file, "v9.9.9"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not name %s", err, want)
			}
		}
	}
}

// TestOneKubernetes: a run is the same whether its node image was pulled or
// built.
func TestOneKubernetes(t *testing.T) {
	if !strings.HasPrefix(defaults.Image, "kindest/node:"+kubernetesVersion+"@sha256:") {
		t.Errorf("kind's image is %s, the builder's Kubernetes %s", defaults.Image, kubernetesVersion)
	}
	module, err := os.ReadFile(filepath.Join(images, "kubernetes", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(module), "k8s.io/kubernetes "+kubernetesVersion+"\n") {
		t.Errorf("kubernetes/go.mod does not pin %s", kubernetesVersion)
	}
}

// withStaticFiles is a build that has copied kind's etc/.
func withStaticFiles(t *testing.T) *build {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kind").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("the kind module is not in the module cache: %q, %v", dir, err)
	}
	b := &build{dir: t.TempDir(), in: inputs{kind: "v9.9.9"}}
	static := os.DirFS(filepath.Join(dir, "images", "base", "files", "etc"))
	err = fs.WalkDir(static, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(static, path)
		write(t, b.path("root", "etc", path), string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// contents are the files of the root file system by their path in it.
func (b *build) contents(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS(b.path("root"))
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var content []byte
			content, err = fs.ReadFile(root, path)
			files[path] = string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// without returns the lines that others does not have, as often as it lacks
// them.
func without(lines, others []string) []string {
	left := slices.Clone(others)
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		i := slices.Index(left, line)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		return i >= 0
	})
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
