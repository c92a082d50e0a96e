package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"service-dataplane/internal/command"
	"service-dataplane/internal/imagebuild"
)

// debian installs packages.txt from the host's own apt sources.
func (b *build) debian(ctx context.Context) error {
	packages, err := imagebuild.ReadList(filepath.Join(b.repo, "images", "node", "packages.txt"))
	if err != nil {
		return err
	}
	return imagebuild.Debian{Root: b.path("root"), Release: b.in.release, Variant: "essential", Packages: packages}.Install(ctx, b.show)
}

// assemble adds what is not Debian's: kind's static files, adapted where this
// base differs from theirs, and the binaries.
func (b *build) assemble(ctx context.Context) error {
	static, err := imagebuild.Module(ctx, b.repo, kindModule, "{{.Dir}}")
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
			return fmt.Errorf("%s of kind %s has nothing that matches %q: adapt the edits of the node image", e.file, b.in.kind, e.pattern)
		}
		if err := os.WriteFile(file, pattern.ReplaceAll(content, []byte(e.with)), 0o644); err != nil {
			return err
		}
	}
	return os.Remove(b.path("root", "etc/systemd/system/containerd-fuse-overlayfs.service"))
}

// masked units have no task in a node; an emulated processor takes a second
// for some of them.
var masked = []string{
	// They register in binfmt_misc, which belongs to the whole kernel.
	"systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount",
	// Modules and devices are the host's.
	"systemd-modules-load.service", "kmod-static-nodes.service", "systemd-tmpfiles-setup-dev.service",
	"hwclock.service", "e2scrub_all.timer", "dev-hugepages.mount", "sys-fs-fuse-connections.mount",
	// Nobody logs in, and nothing is kept from one boot to the next.
	"getty.target", "systemd-logind.service", "systemd-ask-password-console.path",
	"systemd-update-utmp.service", "systemd-update-utmp-runlevel.service",
	"systemd-firstboot.service", "systemd-machine-id-commit.service", "systemd-random-seed.service",
	"systemd-sysusers.service", "systemd-repart.service", "systemd-journal-flush.service",
	"systemd-pcrphase-sysinit.service", "systemd-pcrphase.service", "systemd-tmpfiles-clean.timer",
	// It would load virtual services that somebody has saved.
	"ipvsadm.service",
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
		append([]string{"mask"}, masked...),
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
