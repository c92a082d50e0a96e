package ipvs

import (
	"regexp"

	"service-dataplane/pkg/collect"
)

// Files of the raw evidence on a node.
const (
	ConnectionsFile = "ip_vs_conn.txt"
	ServicesFile    = "ip_vs.txt"
	StatsFile       = "ip_vs_stats.txt"
	IPSetFile       = "ipset.txt"
	DummyFile       = "kube-ipvs0.json"
	TimerListFile   = "timer_list.txt"
)

// Commands lists what to run on a node. On a node of another mode each of them
// may answer that what it reads does not exist, except ipset save, which
// succeeds and prints nothing where the kernel has ip sets and none is made.
func Commands() []collect.Command {
	noFile := regexp.MustCompile(`No such file or directory`)
	return []collect.Command{
		// First, since closed connections expire.
		{File: ConnectionsFile, Argv: []string{"cat", "/proc/net/ip_vs_conn"}, Absent: noFile},
		{File: ServicesFile, Argv: []string{"cat", "/proc/net/ip_vs"}, Absent: noFile},
		{File: StatsFile, Argv: []string{"cat", "/proc/net/ip_vs_stats"}, Absent: noFile},
		{
			File:   DummyFile,
			Argv:   []string{"ip", "-j", "addr", "show", "dev", DummyDevice},
			Absent: regexp.MustCompile(`does not exist|Cannot find device`),
		},
		{
			File: IPSetFile,
			Argv: []string{"ipset", "save"},
			// A kernel without nfnetlink or without ip_set.
			Absent: regexp.MustCompile(`Cannot open session to kernel|Kernel error received: Invalid argument`),
		},
		{
			// Tells the tick rate, see tickRate; the whole file has a line a timer.
			File:   TimerListFile,
			Argv:   []string{"grep", "-m", "2", "-E", "^(now at|jiffies)", "/proc/timer_list"},
			Absent: noFile,
		},
	}
}
