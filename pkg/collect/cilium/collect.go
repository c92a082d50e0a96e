package cilium

import (
	"regexp"

	"service-dataplane/pkg/collect"
)

// Files of the raw evidence on a node.
const (
	StatusFile    = "cilium-status.json"           // cilium-dbg status -o json
	HealthFile    = "cilium-health.json"           // cilium-health status -o json
	VersionFile   = "cilium-version.json"          // cilium-dbg version -o json
	ServicesFile  = "cilium-service-list.json"     // cilium-dbg service list -o json
	LBFile        = "cilium-bpf-lb-list.json"      // cilium-dbg bpf lb list -o json
	FrontendsFile = "cilium-bpf-lb-frontends.json" // cilium-dbg bpf lb list --frontends -o json
	ConntrackFile = "cilium-bpf-ct-list.txt"       // cilium-dbg bpf ct list global
	ConfigFile    = "cilium-config.txt"            // cilium-dbg config --all
	CgroupFile    = "cilium-cgroup.txt"            // bpftool cgroup tree ROOT
)

// The encodings of the two service tables.
const (
	// Encoding is the BPF maps: what a connection meets.
	Encoding = "cilium"
	// AgentEncoding is the agent's own list: what it means to program.
	AgentEncoding = "cilium-agent"
)

// Commands lists what to run on a node whose agent runs in the container with
// that ID, as crictl knows it; cgroupRoot is where the agent mounted cgroup2
// (CGroupRoot of its configuration). Everything runs inside the container, so
// that bpftool is the agent image's and knows the kernel's newer attach types.
// With an empty container the commands name the files and cannot run.
func Commands(container, cgroupRoot string) []collect.Command {
	command := func(file string, argv ...string) collect.Command {
		return collect.Command{File: file, Argv: append([]string{"crictl", "exec", container}, argv...)}
	}
	health := command(HealthFile, "cilium-health", "status", "-o", "json")
	// The agent serves this socket only where health checking is on.
	health.Absent = regexp.MustCompile(`health\.sock: connect: no such file or directory`)
	return []collect.Command{
		command(StatusFile, "cilium-dbg", "status", "-o", "json"),
		health,
		command(VersionFile, "cilium-dbg", "version", "-o", "json"),
		command(ServicesFile, "cilium-dbg", "service", "list", "-o", "json"),
		// One after the other: Decode joins these two.
		command(LBFile, "cilium-dbg", "bpf", "lb", "list", "-o", "json"),
		command(FrontendsFile, "cilium-dbg", "bpf", "lb", "list", "--frontends", "-o", "json"),
		command(ConntrackFile, "cilium-dbg", "bpf", "ct", "list", "global"),
		command(ConfigFile, "cilium-dbg", "config", "--all"),
		command(CgroupFile, "bpftool", "cgroup", "tree", cgroupRoot),
	}
}
