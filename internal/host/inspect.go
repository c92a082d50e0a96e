package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/version"
	"os/exec"
	"path"
	"strings"
)

// Finding is one thing that was looked at and what to do about it.
type Finding struct {
	// Subject is what was looked at: "engine", "disk", a kernel feature.
	Subject string `json:"subject" yaml:"subject"`
	State   State  `json:"state" yaml:"state"`
	// Text is what was found.
	Text string `json:"text" yaml:"text"`
	// Cure is a command to run or a thing to get. It is there for every state
	// but OK, and for OK where something can be made better.
	Cure string `json:"cure,omitempty" yaml:"cure,omitempty"`
}

// State of a finding.
type State string

// Missing means that a cluster cannot run, or not this one. Warn and Unknown
// do not stand in the way.
const (
	OK      State = "ok"
	Warn    State = "warn"
	Missing State = "missing"
	Unknown State = "unknown"
)

// What a three-node cluster needs.
const (
	minDisk   = 6 << 30 // node image, one copy a node, images of the workload
	minMemory = 4 << 30
	minGo     = "go1.26"

	// Below these a node or a pod may fail with "too many open files":
	// https://kind.sigs.k8s.io/docs/user/known-issues/#pod-errors-due-to-too-many-open-files
	minInotifyWatches   = 524288
	minInotifyInstances = 512
)

// boundedRuntime is hack/runc-bounded by the name hack/engine.sh gives it.
const boundedRuntime = "bounded"

// Inspect looks at what every scenario needs, in the order of the report.
func Inspect(ctx context.Context, sys System) []Finding {
	engine := askEngine(ctx, sys)
	return []Finding{
		inspectEngine(sys, engine),
		inspectCapabilities(sys, engine),
		inspectCgroup(sys),
		inspectInotify(sys),
		inspectDisk(sys, engine),
		inspectMemory(sys),
		inspectGo(ctx, sys),
		inspectSourceImages(ctx, sys),
	}
}

func inspectEngine(sys System, e engine) Finding {
	const subject = "engine"
	kernel, _ := Release(sys)
	switch {
	case e.err == nil && e.KernelVersion == kernel:
		return Finding{subject, OK, fmt.Sprintf("Docker %s, storage driver %s", e.ServerVersion, e.Driver), ""}
	case e.err == nil:
		return Finding{subject, Warn,
			fmt.Sprintf("Docker %s runs on kernel %s, and this host on %s: the other findings are about this host", e.ServerVersion, e.KernelVersion, kernel),
			"use this host's engine: unset DOCKER_HOST, docker context use default"}
	case errors.Is(e.err, exec.ErrNotFound):
		return Finding{subject, Missing, "there is no docker command",
			"install a Docker engine, 20.10 or newer; on Debian or Ubuntu: make engine"}
	case strings.Contains(e.err.Error(), "permission denied"):
		return Finding{subject, Missing, fmt.Sprintf("user %d may not talk to the Docker engine", sys.UID),
			"sudo usermod -aG docker $USER, then log in again"}
	}
	return Finding{subject, Missing, "the Docker engine does not answer: " + lastLine(e.err.Error()),
		"start docker (systemctl start docker), or where no service manager runs: make engine"}
}

// inspectCapabilities asks whether privileged containers can start. Engines
// before 23.0 give them every capability the kernel knows, later ones those
// the engine holds (moby, oci/caps).
func inspectCapabilities(sys System, e engine) Finding {
	const subject = "capabilities"
	missing, err := sys.missingCapabilities()
	lacks := "the bounding set lacks " + strings.Join(missing, ", ")
	switch {
	case err != nil:
		return Finding{subject, Unknown, err.Error(), "mount -t proc proc /proc"}
	case len(missing) == 0:
		return Finding{subject, OK, "the bounding set holds all", ""}
	case e.err != nil:
		return Finding{subject, Warn, lacks, "hack/engine.sh, whose engine starts privileged containers without"}
	case e.DefaultRuntime == boundedRuntime:
		return Finding{subject, OK, fmt.Sprintf("%s; runtime %s starts privileged containers without", lacks, e.DefaultRuntime), ""}
	case e.major() >= 23:
		return Finding{subject, OK, fmt.Sprintf("%s; Docker %s starts privileged containers without", lacks, e.ServerVersion), ""}
	}
	return Finding{subject, Missing, fmt.Sprintf("%s; Docker %s starts no privileged container without", lacks, e.ServerVersion),
		"stop that engine and run hack/engine.sh, or install Docker 23.0 or newer"}
}

func inspectCgroup(sys System) Finding {
	const subject = "cgroup"
	switch found := sys.cgroupVersion(); found {
	case "v2":
		return Finding{subject, OK, found, ""}
	case "":
		return Finding{subject, Missing, "nothing is mounted below /sys/fs/cgroup", "mount -t cgroup2 none /sys/fs/cgroup"}
	default:
		return Finding{subject, OK, found + ": the harness sets failCgroupV1: false for the kubelet; node images with systemd 256 or newer do not boot", ""}
	}
}

func inspectInotify(sys System) Finding {
	const subject = "inotify"
	var found, low []string
	for _, limit := range []struct {
		name string
		want int
	}{{"max_user_watches", minInotifyWatches}, {"max_user_instances", minInotifyInstances}} {
		n, err := sys.number("/proc/sys/fs/inotify/" + limit.name)
		if err != nil {
			return Finding{subject, Unknown, err.Error(), "sysctl fs.inotify"}
		}
		found = append(found, fmt.Sprintf("%s %d", limit.name, n))
		if n < limit.want {
			low = append(low, fmt.Sprintf("fs.inotify.%s=%d", limit.name, limit.want))
		}
	}
	text := strings.Join(found, ", ")
	if len(low) > 0 {
		return Finding{subject, Warn, text + `: pods may fail with "too many open files"`, "sysctl -w " + strings.Join(low, " ")}
	}
	return Finding{subject, OK, text, ""}
}

func inspectDisk(sys System, e engine) Finding {
	const subject = "disk"
	dir := cmp.Or(e.DockerRootDir, "/var/lib/docker")
	for dir != "/" && !sys.exists(dir) {
		dir = path.Dir(dir)
	}
	free, err := sys.FreeBytes(dir)
	if err != nil {
		return Finding{subject, Unknown, err.Error(), "df -h " + dir}
	}
	text := fmt.Sprintf("%s free at %s", gib(free), dir)
	if free < minDisk {
		return Finding{subject, Missing, text + ", want " + gib(minDisk),
			"free space there (docker system df says what the engine holds), or give the engine another data-root"}
	}
	return Finding{subject, OK, text, ""}
}

// inspectMemory does no more than warn: what a cluster needs varies, and the
// kernel's estimate of what it can give does too.
func inspectMemory(sys System) Finding {
	available := sys.memory("MemAvailable")
	text := gib(available) + " available"
	if available < minMemory {
		return Finding{"memory", Warn, text + ", want " + gib(minMemory), "end what is not needed, other clusters first: kind get clusters"}
	}
	return Finding{"memory", OK, text, ""}
}

// Go is the subject of the finding that a run from a bundle file can do without:
// the workload's image is in it.
const Go = "go"

func inspectGo(ctx context.Context, sys System) Finding {
	const subject = Go
	found, err := sys.Run(ctx, "go", "env", "GOVERSION")
	if err == nil && version.Compare(found, minGo) >= 0 {
		return Finding{subject, OK, found, ""}
	}
	text := found + " is older than " + minGo
	if err != nil {
		text = lastLine(err.Error())
	}
	return Finding{subject, Missing, text, "install " + minGo + " or newer (https://go.dev/dl/): the workload's image is built with it"}
}

// inspectSourceImages asks for what only node images built here need.
func inspectSourceImages(ctx context.Context, sys System) Finding {
	var lacks, cures []string
	if sys.UID != 0 {
		lacks, cures = append(lacks, "root"), append(cures, "run as root")
	}
	found, err := sys.Run(ctx, "mmdebstrap", "--version")
	if err != nil {
		lacks, cures = append(lacks, "mmdebstrap"), append(cures, "apt-get install mmdebstrap")
	}
	if len(lacks) > 0 {
		return Finding{"source images", Warn, "node images cannot be built here without " + strings.Join(lacks, " and "),
			strings.Join(cures, ", ") + "; not needed where kindest/node is there or can be pulled"}
	}
	return Finding{"source images", OK, found + ", as root", ""}
}

func gib(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// lastLine is where a command's error says why.
func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
