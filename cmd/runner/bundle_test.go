package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/bundle"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/lab"
	"service-dataplane/internal/spec"
)

// engine puts a docker command on the PATH that does what script says.
func engine(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestBundleUsage: what is refused, or said of the host, before anything is
// pulled. No engine is asked.
func TestBundleUsage(t *testing.T) {
	repo, out := tree(t), t.TempDir()
	asked := filepath.Join(t.TempDir(), "asked")
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(lab.ErrInterrupted)
	const scenarios = "there are: calico-ebpf, cilium-kube-proxy, cilium, cilium-1-19, iptables, ipvs, ipvs-lc, ipvs-sh, nftables"
	tests := []struct {
		name string
		ctx  context.Context
		args string
		want int
		says []string
		asks bool
	}{
		{"an argument too many", t.Context(), "bundle create cilium", 2, []string{`"cilium"`}, false},
		{"an unknown flag", t.Context(), "bundle create --scenarios cilium", 2, []string{"--scenarios"}, false},
		{"no file", t.Context(), "bundle create -o", 2, []string{"-o"}, false},
		{"no such scenario", t.Context(), "bundle create --scenario cilium,nosuch", 2, []string{"there is no nosuch in scenarios; " + scenarios}, false},
		{"no such source", t.Context(), "bundle create --image-source Source", 2, []string{"--image-source Source: want auto, registry or source"}, false},
		{"neither", t.Context(), "bundle create --scenario nosuch --image-source here", 2, []string{"there is no nosuch", "--image-source here"}, false},
		{"no such directory", t.Context(), "bundle create -o " + out + "/nosuch/bundle.tar", 2, []string{"--output " + out + "/nosuch/bundle.tar", "no such directory"}, false},
		{"a file where a directory should be", t.Context(), "bundle create -o " + filepath.Join(repo, "charts", "lock.yaml", "b.tar"), 2, []string{"no such directory"}, false},
		{"no node image", t.Context(), "bundle create --scenario iptables --node-image nosuch:1 -o " + out + "/b.tar", 3, []string{lab.ErrHost.Error(), "no node image", "nosuch:1"}, true},
		{"interrupted", interrupted, "bundle create --scenario iptables -o " + out + "/b.tar", 4, []string{"interrupted"}, false},
		{"a run without its bundle", t.Context(), "run --bundle", 2, []string{"--bundle"}, false},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			engine(t, fmt.Sprintf("echo $* >> %s; exit 1", asked))
			t.Chdir(t.TempDir())
			args := append([]string{"--repo", repo, "--work-dir", t.TempDir()}, strings.Fields(test.args)...)
			stdout, err := runner(test.ctx, args...)
			if got := exitCode(err); got != test.want {
				t.Fatalf("exit code %d, want %d", got, test.want)
			}
			for _, says := range test.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("says %q, want %q", err, says)
				}
			}
			if stdout != "" {
				t.Errorf("stdout is for results: %q", stdout)
			}
			if _, err := os.Stat(asked); err == nil != test.asks {
				t.Errorf("the engine was asked: %v", err == nil)
			}
			if err := os.Remove(asked); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			here, _ := os.ReadDir(".")
			there, _ := os.ReadDir(out)
			if len(here)+len(there) > 0 {
				t.Errorf("left is %v %v", here, there)
			}
		})
	}
}

// TestBundleOfNoVerb: a script with a slip in it must not go on.
func TestBundleOfNoVerb(t *testing.T) {
	if out, err := runner(t.Context(), "bundle", "creat", "-o", "table"); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "creat") || out != "" {
		t.Errorf("exit code %d, %v:\n%s", exitCode(err), err, out)
	}
}

// TestBundleIntoDirectory: a slip that should not cost an hour of building.
func TestBundleIntoDirectory(t *testing.T) {
	repo, out := tree(t), t.TempDir()
	asked := filepath.Join(t.TempDir(), "asked")
	engine(t, fmt.Sprintf("echo $* >> %s; exit 1", asked))
	_, err := runner(t.Context(), "bundle", "create", "--repo", repo, "--scenario", "iptables", "-o", out)
	if exitCode(err) != exitUsage || !strings.Contains(err.Error(), "--output "+out) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(asked); err == nil {
		t.Error("the engine was asked")
	}
}

// TestBundleCreate: -o is the file, wherever it stands, as it is with cp and
// tar, and what was written is told as a table.
func TestBundleCreate(t *testing.T) {
	repo := tree(t)
	for file, content := range map[string]string{"go.mod": "module tree\n", "cmd/echo/main.go": "package main\n\nfunc main() {}\n"} {
		file = filepath.Join(repo, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	const node = "localhost/service-dataplane/node:v1.35.0-0123456789abcdef"
	for _, test := range []struct {
		name, args, file string
	}{
		{"by default", "bundle create", "bundle.tar"},
		{"named", "bundle create -o b.tar", "b.tar"},
		{"named at length", "bundle create --output=b.tar", "b.tar"},
		{"named first", "-o b.tar bundle create", "b.tar"},
		{"of a name that is a form elsewhere", "bundle create -o json", "json"},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			engine(t, `case "$1" in image) echo sha256:0123 1000;; save) head -c 3000000 /dev/zero > "$3";; *) exit 1;; esac`)
			dir := t.TempDir()
			t.Chdir(dir)
			args := append(strings.Fields(test.args), "--repo", repo, "--scenario", "nftables,iptables", "--node-image", node)
			stdout, err := runner(t.Context(), args...)
			if err != nil {
				t.Fatal(err)
			}
			b, err := bundle.Open(t.Context(), test.file, spec.Lock{})
			if err != nil || !slices.Equal(b.Scenarios, []string{"nftables", "iptables"}) || b.Node.Image.Reference != node {
				t.Fatalf("%+v, %v", b, err)
			}
			lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
			if len(lines) != 3 || lines[0] != test.file || lines[1] != "  images/node.tar                   3 MB  "+node || !strings.HasPrefix(lines[2], "  images/echo.tar  ") {
				t.Errorf("got:\n%s", stdout)
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("left is %v", left)
			}
			if left, _ := os.ReadDir(filepath.Join(repo, ".work")); len(left) != 0 {
				t.Errorf("left in .work is %v", left)
			}
		})
	}
}

func TestBundleCreateFails(t *testing.T) {
	repo := tree(t) // has no cmd/echo
	engine(t, `case "$1" in image) echo sha256:0123 1000;; save) : > "$3"; echo x > "$3";; *) exit 1;; esac`)
	t.Chdir(t.TempDir())
	stdout, err := runner(t.Context(), "bundle", "create", "--repo", repo, "--scenario", "iptables", "--node-image", "node:1")
	if exitCode(err) != exitIncomplete || !strings.Contains(err.Error(), "pack the echo image") || stdout != "" {
		t.Errorf("exit code %d, %v\n%s", exitCode(err), err, stdout)
	}
	if left, _ := os.ReadDir("."); len(left) != 0 {
		t.Errorf("left is %v", left)
	}
}

func TestPrintBundle(t *testing.T) {
	entry := func(file string, bytes int64) bundle.Entry { return bundle.Entry{File: file, Bytes: bytes} }
	var out strings.Builder
	printBundle(&out, "bundle.tar", bundle.Index{
		Node: bundle.Node{Image: imagebuild.Image{Reference: "kindest/node:v1.35.0"}, Archive: entry("images/node.tar", 1_234_567_890)},
		Echo: bundle.Echo{Reference: "localhost/service-dataplane/echo:0123", Binary: entry("echo/echo", 9e6), Archive: entry("images/echo.tar", 9_400_000)},
		Planes: []bundle.Plane{{
			Name: "cilium", Version: "1.20.2", Images: map[string]imagebuild.Image{"agent": {}, "operator": {}},
			Archives: []bundle.Entry{entry("images/cilium-1.20.2-0.tar", 500e6)}, Chart: entry("charts/cilium-1.20.2.tgz", 200e3), ChartFrom: "module github.com/cilium/cilium v1.20.2",
		}},
	})
	const want = `bundle.tar
  images/node.tar                1234 MB  kindest/node:v1.35.0
  images/echo.tar                   9 MB  localhost/service-dataplane/echo:0123
  images/cilium-1.20.2-0.tar      500 MB  2 images
  charts/cilium-1.20.2.tgz          0 MB  module github.com/cilium/cilium v1.20.2
`
	if out.String() != want {
		t.Errorf("got:\n%s", out.String())
	}
}

func TestBundleHelp(t *testing.T) {
	t.Chdir(t.TempDir())
	for verb, says := range map[string][]string{
		"":              {"bundle "},
		"bundle":        {"create ", "a machine that reaches no registry"},
		"bundle create": {"runner bundle create --scenario NAMES -o FILE.tar", `-o, --output string         the file to write (default "bundle.tar")`, "--node-image string", "--image-source string", "runner run --bundle FILE.tar"},
		"run":           {"--bundle string", "directory of archives"},
	} {
		out, err := runner(t.Context(), append(strings.Fields(verb), "--help")...)
		if exitCode(err) != exitPassed {
			t.Errorf("%s: %v", verb, err)
		}
		for _, want := range says {
			if !strings.Contains(out, want) {
				t.Errorf("%s --help does not say %q:\n%s", verb, want, out)
			}
		}
		if strings.Contains(out, "table, json or yaml") == (verb == "bundle create") {
			t.Errorf("%s --help has the flag -o for a form of output, or has none:\n%s", verb, out)
		}
	}
}
