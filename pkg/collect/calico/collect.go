package calico

import (
	"regexp"

	"service-dataplane/pkg/collect"
)

// Files of the raw evidence on a node. calico-bpf knows --json since v3.31.5, for
// the affinity map since v3.31.7; versions before them say it is unknown or print
// text.
const (
	NATFile       = "calico-nat-dump.json"  // calico-node -bpf nat dump --json
	NATTextFile   = "calico-nat-dump.txt"   // calico-node -bpf nat dump
	AffinityFile  = "calico-nat-aff.json"   // calico-node -bpf nat aff --json
	ConntrackFile = "calico-conntrack.json" // calico-node -bpf conntrack dump --json
	VersionFile   = "calico-version.txt"    // calico-node -v
	CgroupFile    = "calico-cgroup.json"    // bpftool -j cgroup show CgroupRoot
)

// Encoding is that of the service table: the NAT maps.
const Encoding = "calico"

// CgroupRoot is where calico-node's init container mounts the node's cgroup2 and
// Felix attaches the programs that translate at connect() (felix/bpf/bpfdefs).
const CgroupRoot = "/run/calico/cgroup"

// Commands lists what to run on a node whose calico-node runs in the container
// with that ID, as crictl knows it. Its image has a bpftool, which nodes need not
// have. With an empty container the commands name the files and cannot run.
//
// All of them read only. `connect-time` is not among them: its one subcommand
// removes the programs.
//
// A captured command is not yet a success: `nat` logs to standard error that it
// cannot read a map, prints nothing and exits 0. Decode makes that an error.
func Commands(container string) []collect.Command {
	command := func(file string, argv ...string) collect.Command {
		return collect.Command{File: file, Argv: append([]string{"crictl", "exec", container, "calico-node"}, argv...)}
	}
	json := func(file string, argv ...string) collect.Command {
		c := command(file, append(argv, "--json")...)
		c.Absent = regexp.MustCompile(`unknown flag: --json`)
		return c
	}
	return []collect.Command{
		json(NATFile, "-bpf", "nat", "dump"),
		command(NATTextFile, "-bpf", "nat", "dump"),
		json(AffinityFile, "-bpf", "nat", "aff"),
		json(ConntrackFile, "-bpf", "conntrack", "dump"),
		command(VersionFile, "-v"),
		{
			File:   CgroupFile,
			Argv:   []string{"crictl", "exec", container, "bpftool", "-j", "cgroup", "show", CgroupRoot},
			Absent: regexp.MustCompile(`executable file not found`),
		},
	}
}
