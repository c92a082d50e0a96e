package nodeimage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"service-dataplane/internal/command"
	"service-dataplane/internal/progress"
)

// debian installs packages.txt from the host's own apt sources.
func (b *build) debian(ctx context.Context) error {
	packages, err := readList(filepath.Join(b.repo, "images", "node", "packages.txt"))
	if err != nil {
		return err
	}
	sources, err := aptSources("/etc/apt")
	if err != nil {
		return err
	}
	argv := []string{"mmdebstrap", "--mode=root", "--variant=essential", "--include=" + strings.Join(packages, ","),
		"--dpkgopt=force-unsafe-io"} // a build that dies is begun again
	for _, path := range []string{"doc", "info", "lintian", "locale", "man"} {
		argv = append(argv, "--dpkgopt=path-exclude=/usr/share/"+path+"/*")
	}
	if hook := "/usr/share/mmdebstrap/hooks/merged-usr"; exists(hook) {
		argv = append(argv, "--hook-dir="+hook)
	}
	argv = append(argv, b.in.Release, b.path("root"))
	return command.Run(ctx, command.Command{
		Argv:   append(argv, sources...),
		Stderr: &progress.LineWriter{Line: func(line string) { b.show.Detail("%s", strings.TrimPrefix(line, "I: ")) }},
	})
}

// aptSources returns the distribution's own source files below dir. Files a
// user added name repositories the root file system must not depend on.
func aptSources(dir string) ([]string, error) {
	var found []string
	for _, name := range []string{"sources.list", "sources.list.d/debian.sources", "sources.list.d/ubuntu.sources"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Size() > 0 {
			found = append(found, filepath.Join(dir, name))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no sources.list, debian.sources or ubuntu.sources: apt on this host has no distribution to install from", dir)
	}
	return found, nil
}

// assemble adds what is not Debian's: kind's static files, adapted where this
// base differs from theirs, and the binaries.
func (b *build) assemble(ctx context.Context) error {
	static, err := module(ctx, b.repo, "{{.Dir}}")
	if err != nil {
		return err
	}
	static = filepath.Join(static, "images", "base", "files")
	for _, dir := range []string{"etc", "kind", "usr"} {
		if err := command.Run(ctx, command.Command{Argv: []string{
			"cp", "--recursive", "--no-preserve=mode,ownership", filepath.Join(static, dir), b.path("root") + "/"}}); err != nil {
			return err
		}
	}
	for _, pattern := range []string{"usr/local/bin/*", "kind/bin/*"} {
		scripts, _ := filepath.Glob(b.path("root", pattern))
		for _, script := range scripts {
			if err := os.Chmod(script, 0o755); err != nil {
				return err
			}
		}
	}
	if err := b.adapt(); err != nil {
		return err
	}
	if err := b.enableUnits(ctx); err != nil {
		return err
	}
	return b.installBinaries(ctx)
}

// edit is one change to one of kind's files. A pattern that no longer matches
// means that kind has changed and the edit has to be thought through again.
type edit struct {
	file    string
	pattern string
	with    string
}

var edits = []edit{
	// The fuse-overlayfs snapshotter serves rootless engines and is not here.
	{"etc/containerd/config.toml", `(?m)^\[proxy_plugins\]\n(.*\n)*?\n`, ""},
	// A host without CAP_SYS_RESOURCE cannot lower an OOM score.
	{"etc/containerd/config.toml", `restrict_oom_score_adj = false`, `restrict_oom_score_adj = true`},
	{"etc/systemd/system/containerd.service", `(?m)^(OOMScoreAdjust|Limit\w+)=.*\n`, ""},
	// Debian installs containerd in /usr/bin.
	{"etc/systemd/system/containerd.service", `/usr/local/bin/containerd`, `/usr/bin/containerd`},
}

func (b *build) adapt() error {
	for _, e := range edits {
		file := b.path("root", e.file)
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		pattern := regexp.MustCompile(e.pattern)
		if !pattern.Match(content) {
			return fmt.Errorf("%s of kind %s has nothing that matches %q: adapt the edits of the node image", e.file, b.in.KindVersion, e.pattern)
		}
		if err := os.WriteFile(file, pattern.ReplaceAll(content, []byte(e.with)), 0o644); err != nil {
			return err
		}
	}
	return os.Remove(b.path("root", "etc/systemd/system/containerd-fuse-overlayfs.service"))
}

// enableUnits leaves only the services a node needs: kind gives systemd 30 s.
func (b *build) enableUnits(ctx context.Context) error {
	for _, pattern := range []string{
		"etc/systemd/system/*.wants/*",
		"lib/systemd/system/multi-user.target.wants/*",
		"lib/systemd/system/local-fs.target.wants/*",
		"lib/systemd/system/sockets.target.wants/*udev*",
		"lib/systemd/system/sockets.target.wants/*initctl*",
		"lib/systemd/system/basic.target.wants/*",
		"lib/systemd/system/timers.target.wants/*",
		"lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
	} {
		units, _ := filepath.Glob(b.path("root", pattern))
		for _, unit := range units {
			if err := os.Remove(unit); err != nil {
				return err
			}
		}
	}
	conf, err := os.OpenFile(b.path("root/etc/systemd/journald.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	// Kernel messages are the host's and would confuse a reader of the node's.
	_, err = conf.WriteString("ReadKMsg=no\n")
	if err := errors.Join(err, conf.Close()); err != nil {
		return err
	}
	for _, argv := range [][]string{
		{"enable", "kubelet.service", "containerd.service", "undo-mount-hacks.service"},
		// It registers in binfmt_misc, which belongs to the whole kernel.
		{"mask", "systemd-binfmt.service"},
	} {
		inRoot := append([]string{"chroot", b.path("root"), "systemctl"}, argv...)
		if err := command.Run(ctx, command.Command{Argv: inRoot}); err != nil {
			return err
		}
	}
	return nil
}

func (b *build) installBinaries(ctx context.Context) error {
	root := b.path("root")
	for _, dir := range []string{"opt/cni/bin", "etc/kubernetes/manifests", "var/lib/kubelet", "LICENSES"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	copies := map[string]string{"crictl": "usr/local/bin/crictl"}
	for _, plugin := range []string{"host-local", "loopback", "portmap", "ptp"} {
		copies[plugin] = "opt/cni/bin/" + plugin
	}
	for from, to := range copies {
		if err := os.Rename(b.path("bin", from), filepath.Join(root, to)); err != nil {
			return err
		}
	}
	// kind's scripts and users call these by the paths of kindest/node.
	links := map[string]string{
		"usr/bin/kubeadm":          componentPath,
		"usr/bin/kubelet":          componentPath,
		"usr/bin/kubectl":          componentPath,
		"usr/local/bin/containerd": "/usr/bin/containerd",
		"usr/local/bin/ctr":        "/usr/bin/ctr",
		"usr/local/sbin/runc":      "/usr/sbin/runc",
	}
	for link, target := range links {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(root, "kind/version"), []byte(kubernetesVersion), 0o644); err != nil {
		return err
	}
	return b.writeRuntimeSpec(ctx)
}

// writeRuntimeSpec makes the base of every container's OCI spec, with kind's
// hook and without the limits a host may not be allowed to set.
func (b *build) writeRuntimeSpec(ctx context.Context) error {
	const script = `ctr oci spec | jq '
		.hooks.createContainer[.hooks.createContainer | length] |= . + {"path": "/kind/bin/mount-product-files.sh"}
		| del(.process.rlimits)' >/etc/containerd/cri-base.json`
	return command.Run(ctx, command.Command{Argv: []string{"chroot", b.path("root"), "sh", "-euc", script}})
}

// readList reads a file of one entry a line, with # comments.
func readList(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var entries []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			entries = append(entries, line)
		}
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s lists nothing", file)
	}
	return entries, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
