package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Facts describe a machine for the record of a run. What could not be found
// out is empty or 0.
type Facts struct {
	// KernelRelease as uname -r prints it.
	KernelRelease string `json:"kernelRelease" yaml:"kernelRelease"`
	// OS is the distribution and its version (os-release's PRETTY_NAME).
	OS   string `json:"os" yaml:"os"`
	Arch string `json:"arch" yaml:"arch"`
	// CgroupVersion is v1, v2 or hybrid: v1 with a v2 tree for systemd.
	CgroupVersion string `json:"cgroupVersion" yaml:"cgroupVersion"`
	CPUs          int    `json:"cpus" yaml:"cpus"`
	// MemoryBytes in all, used or not.
	MemoryBytes   uint64 `json:"memoryBytes" yaml:"memoryBytes"`
	EngineVersion string `json:"engineVersion" yaml:"engineVersion"`
	StorageDriver string `json:"storageDriver" yaml:"storageDriver"`
	// MissingCapabilities are those the kernel knows and the capability
	// bounding set lacks.
	MissingCapabilities []string `json:"missingCapabilities,omitempty" yaml:"missingCapabilities,omitempty"`
}

// Describe collects the facts of a machine.
func Describe(ctx context.Context, sys System) Facts {
	engine := askEngine(ctx, sys)
	release, os := Release(sys)
	missing, _ := sys.missingCapabilities()
	return Facts{
		KernelRelease:       release,
		OS:                  os,
		Arch:                sys.Arch,
		CgroupVersion:       sys.cgroupVersion(),
		CPUs:                sys.CPUs,
		MemoryBytes:         sys.memory("MemTotal"),
		EngineVersion:       engine.ServerVersion,
		StorageDriver:       engine.Driver,
		MissingCapabilities: missing,
	}
}

// Release returns the kernel's release (uname -r) and the name and version of
// the distribution, "" where the machine does not say.
func Release(sys System) (kernel, os string) {
	kernel, _ = sys.read("/proc/sys/kernel/osrelease")
	return kernel, sys.osRelease("PRETTY_NAME")
}

func (s System) osRelease(name string) string {
	value := s.field("/etc/os-release", name, "=")
	if plain, err := strconv.Unquote(value); err == nil {
		return plain
	}
	return value
}

// cgroupVersion looks at the mounts below /sys/fs/cgroup only: some programs
// mount a v1 controller elsewhere on a v2 host.
func (s System) cgroupVersion() string {
	mounts, _ := s.read("/proc/self/mounts")
	types := map[string]bool{}
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 3:
		case fields[1] == "/sys/fs/cgroup" && fields[2] == "cgroup2":
			return "v2"
		case strings.HasPrefix(fields[1], "/sys/fs/cgroup/"):
			types[fields[2]] = true
		}
	}
	switch {
	case types["cgroup"] && types["cgroup2"]:
		return "hybrid"
	case types["cgroup"]:
		return "v1"
	}
	return ""
}

// memory returns a value of /proc/meminfo, which counts in KiB, in bytes.
func (s System) memory(name string) uint64 {
	kib, _ := strconv.ParseUint(strings.TrimSuffix(s.field("/proc/meminfo", name, ":"), " kB"), 10, 64)
	return kib * 1024
}

// Available memory in bytes: what new programs can have (MemAvailable of
// proc_meminfo(5)).
func Available(sys System) uint64 { return sys.memory("MemAvailable") }

// missingCapabilities compares the bounding set (CapBnd of proc_pid_status(5))
// with what the kernel knows.
func (s System) missingCapabilities() ([]string, error) {
	last, err := s.number("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return nil, err
	}
	held, err := strconv.ParseUint(s.field("/proc/self/status", "CapBnd", ":"), 16, 64)
	if err != nil {
		return nil, fmt.Errorf("CapBnd of /proc/self/status: %w", err)
	}
	var missing []string
	for bit := range last + 1 {
		if held&(1<<bit) != 0 {
			continue
		}
		name := fmt.Sprintf("capability %d", bit)
		if bit < len(capabilities) {
			name = "CAP_" + capabilities[bit]
		}
		missing = append(missing, name)
	}
	return missing, nil
}

// capabilities in the order of their bits: linux/capability.h, 6.18.
var capabilities = strings.Fields(`
CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK
IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE
AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND
AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// engine is what docker info says, as far as it matters here.
type engine struct {
	ServerVersion  string
	Driver         string
	DockerRootDir  string
	KernelVersion  string
	DefaultRuntime string
	ServerErrors   []string
	// err says why the engine does not answer.
	err error
}

func askEngine(ctx context.Context, sys System) engine {
	ctx, cancel := context.WithTimeoutCause(ctx, 20*time.Second, errors.New("no answer within 20 s"))
	defer cancel()
	var e engine
	out, err := sys.Run(ctx, "docker", "info", "--format", "{{json .}}")
	if parseErr := json.Unmarshal([]byte(out), &e); err == nil {
		err = parseErr
	}
	// Some clients exit 0 although no engine answered.
	if err == nil && e.ServerVersion == "" {
		err = errors.New("docker info: " + strings.Join(append(e.ServerErrors, "no engine version"), "; "))
	}
	e.err = err
	return e
}

// major is the first number of the engine's version, 0 if there is none.
func (e engine) major() int {
	number, _, _ := strings.Cut(e.ServerVersion, ".")
	n, _ := strconv.Atoi(number)
	return n
}
