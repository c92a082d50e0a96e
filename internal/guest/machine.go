package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"service-dataplane/internal/command"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
)

// Scratch begins the name of every scratch directory of a guest.
const Scratch = "service-dataplane-guest-"

// Limits of a guest, in our time. An emulated one takes a minute to boot, and a
// quarter of an hour for a cluster; on a busy host three times as long.
const (
	firstWord  = 2 * time.Minute  // from power on to the first line of init
	bootLimit  = 10 * time.Minute // to an engine that answers
	totalLimit = 75 * time.Minute
)

const emulator = "qemu-system-x86_64"

// Memory of a guest in bytes: three nodes, and room for the engine's files.
const Memory = 8 << 30

// roomForDisk is free memory beside the guest's own that its disk needs, while
// it is made and later.
const roomForDisk = 6 << 30

// Where scratch directories are.
const (
	inMemory = "/dev/shm"
	onDisk   = "/var/tmp"
)

// RemoveScratch removes what killed runs and builds left behind, and returns it.
func RemoveScratch() (removed []string, err error) {
	for _, base := range []string{inMemory, onDisk} {
		found, _ := filepath.Glob(filepath.Join(base, Scratch+"*"))
		for _, dir := range found {
			removed = append(removed, dir)
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return removed, err
}

// Options say which guest to make.
type Options struct {
	// Image of the root file system: see Resolve.
	Image imagebuild.Image
	// NodeImage is preloaded, by the name it is to have there.
	NodeImage string
	// Available memory of this host, in bytes: where it suffices the disk is in it.
	Available uint64
}

// Machine is a guest: a scratch directory, and while it runs a process.
type Machine struct {
	options Options
	dir     string
	show    *progress.Reporter
}

// New returns a guest that is not made yet. Close takes away what it leaves.
func New(options Options, show *progress.Reporter) (*Machine, error) {
	base := onDisk
	if roomIn(inMemory, options.Available) {
		base = inMemory
	}
	dir, err := os.MkdirTemp(base, Scratch)
	if err != nil {
		return nil, err
	}
	m := &Machine{options: options, dir: dir, show: show}
	for _, shared := range []string{m.Job(), m.Out()} {
		if err := os.MkdirAll(shared, 0o755); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// roomIn says whether a directory is in memory and has room for the disk beside
// the guest's own memory, of which available bytes are to be had.
func roomIn(dir string, available uint64) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Type != unix.TMPFS_MAGIC {
		return false
	}
	return fs.Bavail*uint64(fs.Bsize) > roomForDisk && available > Memory+roomForDisk
}

func (m *Machine) path(name string) string { return filepath.Join(m.dir, name) }

// Job is the directory of what the guest is to run: the program "runner" and
// what it reads.
func (m *Machine) Job() string { return m.path("share/job") }

// Out is the directory that the job writes to.
func (m *Machine) Out() string { return m.path("share/out") }

// Close takes away the scratch directory.
func (m *Machine) Close() error { return os.RemoveAll(m.dir) }

// accelerator is a way to run a guest.
type accelerator struct {
	name string
	argv []string
	// Clock says what the guest's clock counts.
	clock string
}

// accelerators of this host, the best first.
func accelerators() []accelerator {
	emulation := accelerator{
		name:  "tcg",
		clock: "instructions, 1 ns each",
		// The clock counts instructions, so that timeouts inside hold however
		// slow this host is. It allows one processor. Without erms and fsrm the
		// guest does not copy and clear memory byte by byte, which a processor
		// does at once and an emulator one after the other. What QEMU translates
		// it keeps in 2 GiB, its limit, and throws all away when that is full.
		argv: []string{"-accel", "tcg,thread=single,tb-size=2047", "-icount", "shift=0,sleep=on", "-cpu", "max,la57=off,erms=off,fsrm=off", "-smp", "1"},
	}
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return []accelerator{emulation}
	}
	kvm.Close()
	return []accelerator{{
		name: "kvm", clock: "time",
		argv: []string{"-accel", "kvm", "-cpu", "host", "-smp", "2"},
	}, emulation}
}

// kernelArguments: the root, the program to start, and nothing that costs an
// emulated processor time and is of no use there.
const kernelArguments = "root=/dev/vda rootfstype=ext4 rootflags=noatime rw init=/sbin/guest-init console=ttyS0 quiet panic=1 " +
	"mitigations=off nokaslr audit=0 apparmor=0 selinux=0 nowatchdog random.trust_cpu=on rcupdate.rcu_expedited=1 cgroup_no_v1=all"

func (m *Machine) argv(a accelerator) []string {
	arguments := kernelArguments
	if a.name == "tcg" {
		arguments += " tsc=reliable clocksource=tsc"
	}
	return append([]string{emulator, "-machine", "q35", "-m", strconv.Itoa(Memory >> 20), "-nodefaults", "-no-user-config",
		"-nographic", "-serial", "stdio", "-monitor", "none", "-no-reboot", "-nic", "none",
		"-kernel", m.path("vmlinuz"), "-initrd", m.path("initrd"), "-append", arguments,
		"-drive", "file=" + m.path("disk") + ",format=raw,if=none,id=disk,cache=unsafe,discard=unmap", "-device", "virtio-blk-pci,drive=disk",
		"-virtfs", "local,path=" + m.path("share") + ",mount_tag=share,security_model=none,multidevs=remap",
		"-device", "virtio-rng-pci"}, a.argv...)
}

// Ran says how a guest ran.
type Ran struct {
	// Emulator and its version, as it says them.
	Emulator string `json:"emulator" yaml:"emulator"`
	// Accelerator is tcg, emulation, or kvm.
	Accelerator string `json:"accelerator" yaml:"accelerator"`
	// Clock says what the guest's clock counts.
	Clock string `json:"clock" yaml:"clock"`
	// Steps of the reporter that came before those of the job.
	Steps int `json:"-" yaml:"-"`
}

// Run makes the disk, boots the guest and runs its job to the end. The job's
// progress is shown as it comes. An error is that of the disk, of the guest or
// of its job.
func (m *Machine) Run(ctx context.Context) (Ran, error) {
	version, err := command.Output(ctx, emulator, "--version")
	if err != nil {
		return Ran{}, err
	}
	version, _, _ = strings.Cut(version, " (")
	disk := progress.Step{Name: "make the guest's disk", Run: func(ctx context.Context) error { return m.makeDisk(ctx, m.show) }}
	if err := m.show.Run(ctx, disk); err != nil {
		return Ran{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, totalLimit, fmt.Errorf("the guest has not come to an end within %v", totalLimit))
	defer cancel()
	all := accelerators()
	ran := Ran{Emulator: version, Accelerator: all[0].name, Clock: all[0].clock, Steps: 2} // disk and boot
	spoke, err := m.boot(ctx, all[0])
	for _, next := range all[1:] {
		if err == nil || spoke || context.Cause(ctx) != nil {
			break
		}
		m.show.Note("no guest under %s: %v", ran.Accelerator, err)
		ran.Accelerator, ran.Clock, ran.Steps = next.name, next.clock, ran.Steps+1
		spoke, err = m.boot(ctx, next)
	}
	return ran, err
}

// boot runs the guest until it ends, and says whether it came to its first word.
func (m *Machine) boot(ctx context.Context, a accelerator) (spoke bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	console := newConsole()
	ended := make(chan error, 1)
	go func() {
		defer close(console.lines)
		ended <- command.Run(ctx, command.Command{Argv: m.argv(a), Stdout: console, Bound: true})
	}()
	err = m.show.Run(ctx, progress.Step{Name: "boot the guest (" + a.name + ")", Run: func(ctx context.Context) error {
		if err := console.until(ctx, "guest: kernel ", firstWord); err != nil {
			return err
		}
		spoke = true
		if err := console.until(ctx, "guest: engine ready", bootLimit); err != nil {
			return err
		}
		// The guest has them open: even if this process is killed their gigabytes
		// go with it.
		for _, file := range []string{"disk", "vmlinuz", "initrd"} {
			if err := os.Remove(m.path(file)); err != nil {
				return err
			}
		}
		return nil
	}})
	if err == nil {
		console.replay(m.show)
		err = m.exitCode()
	}
	stop()
	console.drain()
	if end := <-ended; end != nil && err == nil {
		err = end
	}
	if cause := context.Cause(ctx); err != nil && !errors.Is(cause, context.Canceled) {
		return spoke, cause
	}
	if err != nil {
		err = fmt.Errorf("%w\n  the guest's last words:\n  %s", err, strings.Join(console.tail, "\n  "))
	}
	return spoke, err
}

// exitCode says what the job's exit code means.
func (m *Machine) exitCode() error {
	text, err := os.ReadFile(m.path("share/exit-code"))
	switch code := strings.TrimSpace(string(text)); {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("the guest ended before its job did")
	case err != nil:
		return err
	case code != "0":
		return fmt.Errorf("the job in the guest ended with exit code %s", code)
	}
	return nil
}
