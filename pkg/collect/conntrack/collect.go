package conntrack

import (
	"net/netip"
	"strconv"

	"service-dataplane/pkg/collect"
)

// Files of the raw evidence on a node.
const (
	ClusterIPFile = "conntrack-clusterip.txt"
	NodePortFile  = "conntrack-nodeport.txt"
	StatsFile     = "conntrack-stats.txt"
)

// Commands lists what to run on a node for a TCP Service: the connections whose
// original destination is its ClusterIP and port, those to its node port, and
// the counters. The zero Addr and port 0 leave their command out.
//
// conntrack -L prints "N flow entries have been shown." on standard error and
// exits 0 with none as well: no output is an answer.
func Commands(clusterIP netip.Addr, port, nodePort uint16) []collect.Command {
	var commands []collect.Command
	if clusterIP.IsValid() {
		commands = append(commands, collect.Command{
			File: ClusterIPFile,
			Argv: []string{
				"conntrack", "-L", "-p", "tcp",
				"--orig-dst", clusterIP.String(), "--orig-port-dst", portText(port),
			},
		})
	}
	if nodePort != 0 {
		commands = append(commands, collect.Command{
			File: NodePortFile,
			Argv: []string{"conntrack", "-L", "-p", "tcp", "--orig-port-dst", portText(nodePort)},
		})
	}
	return append(commands, collect.Command{File: StatsFile, Argv: []string{"conntrack", "-S"}})
}

func portText(port uint16) string {
	return strconv.FormatUint(uint64(port), 10)
}
