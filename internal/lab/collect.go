package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"service-dataplane/internal/capture"
	"service-dataplane/internal/cluster"
	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/probe"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/conntrack"
	"service-dataplane/pkg/collect/iptables"
	"service-dataplane/pkg/collect/ipvs"
	"service-dataplane/pkg/collect/nftables"
)

// collect captures what the API server holds and the state of every node.
// Nodes are asked side by side; on one node commands follow each other.
func (l *lab) collect(ctx context.Context, c *cluster.Cluster, scenario spec.Scenario, recorder *capture.Recorder) error {
	refusal := l.Experiment.Spec.Refusal != nil
	api := capture.API(c.API.CoreV1().RESTClient())
	all := objects(scenario)
	if refusal {
		logs, err := operatorLogs(ctx, c)
		if err != nil {
			return err
		}
		all = append(all, logs...)
	}
	if err := recorder.Run(ctx, "cluster", api, all...); err != nil {
		return err
	}
	proxies, err := proxyPods(ctx, c)
	if err != nil {
		return err
	}
	commands := nodeCommands()
	if !refusal {
		tracked, err := l.tracked(ctx, c)
		if err != nil {
			return err
		}
		commands = append(tracked, commands...)
	}
	failed := make(chan error, len(c.Nodes))
	for _, node := range c.Nodes {
		go func() {
			failed <- func() error {
				// A node without kube-proxy has no log of it: pods.json says so.
				if pod, ok := proxies[node.Name]; ok {
					log := capture.Get("kube-proxy.log", "/api/v1/namespaces/kube-system/pods/"+pod+"/log")
					if err := recorder.Run(ctx, node.Role, api, log); err != nil {
						return err
					}
				}
				var own []collect.Command
				if !refusal {
					var err error
					if own, err = agentCommands(ctx, node, scenario.Spec.DataPlane); err != nil {
						return fmt.Errorf("%s: %w", node.Role, err)
					}
				}
				// First what tracks connections: closed ones expire.
				return recorder.Run(ctx, node.Role, node.RunAll, append(own, commands...)...)
			}()
		}()
	}
	for range c.Nodes {
		err = errors.Join(err, <-failed)
	}
	for _, record := range recorder.Failed() {
		l.show.Note("%s: not captured: %s%s", record.File, record.Error, record.Stderr)
	}
	return err
}

// agentCommands ask what a data plane runs on every node.
func agentCommands(ctx context.Context, node cluster.Node, of spec.DataPlane) ([]collect.Command, error) {
	switch {
	case of.Cilium != nil:
		agent, err := dataplane.AgentContainer(ctx, node, dataplane.CiliumAgent)
		return cilium.Commands(agent, dataplane.CgroupRoot), err
	case of.Calico != nil:
		agent, err := dataplane.AgentContainer(ctx, node, dataplane.CalicoAgent)
		return calico.Commands(agent), err
	}
	return nil, nil
}

// objects are the API objects that evidence is decoded from.
func objects(scenario spec.Scenario) []collect.Command {
	all := []collect.Command{
		capture.Get("services.json", "/api/v1/services"),
		capture.Get("endpointslices.json", "/apis/discovery.k8s.io/v1/endpointslices"),
		capture.Get("pods.json", "/api/v1/pods"),
		capture.Get("nodes.json", "/api/v1/nodes"),
		capture.GetOptional("kube-proxy-configmap.json", "/api/v1/namespaces/kube-system/configmaps/kube-proxy"),
		capture.GetOptional("kube-proxy-daemonset.json", "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"),
	}
	if scenario.Spec.DataPlane.Cilium != nil {
		all = append(all,
			capture.Get("cilium-config.json", "/api/v1/namespaces/kube-system/configmaps/cilium-config"),
			capture.Get("cilium-daemonset.json", "/apis/apps/v1/namespaces/kube-system/daemonsets/cilium"),
		)
	}
	if scenario.Spec.DataPlane.Calico != nil {
		all = append(all,
			capture.Get("tigerastatus.json", dataplane.TigeraStatusPath),
			capture.Get("installation.json", dataplane.InstallationPath),
			capture.Get("felixconfiguration.json", dataplane.FelixPath),
			capture.GetOptional("calico-daemonset.json", "/apis/apps/v1/namespaces/"+dataplane.CalicoNamespace+"/daemonsets/calico-node"),
		)
	}
	return all
}

// operatorLogs are the logs of the Tigera operator's pods, which tell the reason
// of a refusal at length.
func operatorLogs(ctx context.Context, c *cluster.Cluster) ([]collect.Command, error) {
	pods, err := c.API.CoreV1().Pods(dataplane.OperatorNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var logs []collect.Command
	for _, pod := range pods.Items {
		uri := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/log", pod.Namespace, pod.Name)
		logs = append(logs, capture.Get(operatorLog(len(logs)+1), uri))
	}
	return logs, nil
}

// operatorLog is the file of the operator's n-th pod, from 1.
func operatorLog(n int) string { return fmt.Sprintf("operator-%d.log", n) }

// tracked are the commands that list the connections to the Service which a node
// tracks.
func (l *lab) tracked(ctx context.Context, c *cluster.Cluster) ([]collect.Command, error) {
	w := l.Experiment.Spec.Workload
	targets, err := probe.FindTargets(ctx, c, w)
	if err != nil {
		return nil, err
	}
	clusterIP, err := netip.ParseAddr(targets.ClusterIP)
	if err != nil {
		return nil, fmt.Errorf("the Service %s/%s has no ClusterIP: %w", w.Namespace, w.Service, err)
	}
	return conntrack.Commands(clusterIP, uint16(w.ClusterPort), uint16(w.NodePort)), nil
}

// nodeCommands are the same on every node and in every scenario: what must not
// be there is looked for where it could be.
func nodeCommands() []collect.Command {
	commands := append(iptables.Commands(), nftables.Commands()...)
	commands = append(commands, ipvs.Commands()...)
	return append(commands,
		collect.Command{
			File:   "proxyMode.txt",
			Argv:   []string{"curl", "--silent", "--show-error", "--fail", "--max-time", "5", "http://127.0.0.1:10249/proxyMode"},
			Absent: regexp.MustCompile(`Connection refused|Failed to connect|Couldn't connect`),
		},
		collect.Command{File: "processes.txt", Argv: []string{"ps", "-eo", "pid,comm,args"}},
		collect.Command{File: "ip-addr.json", Argv: []string{"ip", "-j", "addr", "show"}},
		collect.Command{File: "uname.txt", Argv: []string{"uname", "-r"}},
	)
}

// proxyPods returns the kube-proxy pod of each node by the node's name.
func proxyPods(ctx context.Context, c *cluster.Cluster) (map[string]string, error) {
	list, err := c.API.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-proxy"})
	if err != nil {
		return nil, err
	}
	pods := map[string]string{}
	for _, pod := range list.Items {
		pods[pod.Spec.NodeName] = pod.Name
	}
	return pods, nil
}

// programmedLimit bounds the wait for the data plane. When it runs out the run
// goes on: the evidence then shows what is missing and where.
const programmedLimit = 30 * time.Second

// waitProgrammed waits until the kernel of every node has the Service with all
// its backends in the scenario's encoding: ready endpoints in the API are
// promises, and a connection sent before they are kept proves nothing.
func (l *lab) waitProgrammed(ctx context.Context, c *cluster.Cluster, scenario spec.Scenario) error {
	w := l.Experiment.Spec.Workload
	last := ""
	err := wait.PollUntilContextTimeout(ctx, 300*time.Millisecond, programmedLimit, true, func(ctx context.Context) (bool, error) {
		for _, node := range c.Nodes {
			table, err := readTable(ctx, node, scenario.Spec.Expect.Encoding)
			if err != nil {
				last = fmt.Sprintf("%s: %v", node.Role, err)
				return false, nil
			}
			if lacks := unprogrammed(table, w, scenario.Spec.Expect.Selection); lacks != "" {
				last = node.Role + ": " + lacks
				l.show.Detail("%s", last)
				return false, nil
			}
		}
		return true, nil
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		l.show.Note("after %v %s; the evidence will show it", programmedLimit, last)
	}
	return nil
}

// readTable reads one node's service table as it is now.
func readTable(ctx context.Context, node cluster.Node, encoding string) (collect.ServiceTable, error) {
	output := func(argv ...string) ([]byte, error) {
		out, err := node.Run(ctx, argv)
		if err == nil && out.ExitCode != 0 {
			err = fmt.Errorf("%v: exit code %d: %s", argv, out.ExitCode, out.Stderr)
		}
		return out.Stdout, err
	}
	switch encoding {
	case "iptables":
		raw, err := output("iptables-nft-save")
		if err != nil {
			return collect.ServiceTable{}, err
		}
		if table, err := iptables.Decode(raw); err != nil || len(table.Frontends) > 0 {
			return table, err
		}
		if raw, err = output("iptables-legacy-save"); err != nil {
			return collect.ServiceTable{}, err
		}
		return iptables.Decode(raw)
	case "nftables":
		raw, err := output("nft", "list", "ruleset")
		if err != nil {
			return collect.ServiceTable{}, err
		}
		return nftables.Decode(raw)
	case cilium.Encoding:
		agent, err := dataplane.AgentContainer(ctx, node, dataplane.CiliumAgent)
		if err != nil {
			return collect.ServiceTable{}, err
		}
		raw, err := output("crictl", "exec", agent, "cilium-dbg", "bpf", "lb", "list", "-o", "json")
		if err != nil {
			return collect.ServiceTable{}, err
		}
		return cilium.Decode(cilium.Raw{LB: raw})
	case calico.Encoding:
		agent, err := dataplane.AgentContainer(ctx, node, dataplane.CalicoAgent)
		if err != nil {
			return collect.ServiceTable{}, err
		}
		raw, err := output("crictl", "exec", agent, "calico-node", "-bpf", "nat", "dump", "--json")
		if err != nil {
			return collect.ServiceTable{}, err
		}
		return calico.Decode(calico.Raw{NAT: raw})
	case "ipvs":
		rows, err := output("cat", "/proc/net/ip_vs")
		if err != nil {
			return collect.ServiceTable{}, err
		}
		sets, err := output("ipset", "save")
		if err != nil {
			return collect.ServiceTable{}, err
		}
		return ipvs.Decode(ipvs.Raw{IPVS: rows, IPSet: sets})
	}
	return collect.ServiceTable{}, fmt.Errorf("no decoder for encoding %s", encoding)
}

// forgottenLimit is what IPVS keeps a closed connection for, and some more.
const forgottenLimit = 3 * time.Minute

// waitForgotten waits until no node's IPVS has a connection to the workload: one
// that was closed still counts for a scheduler.
func (l *lab) waitForgotten(ctx context.Context, c *cluster.Cluster) error {
	w := l.Experiment.Spec.Workload
	last := ""
	err := wait.PollUntilContextTimeout(ctx, 2*time.Second, forgottenLimit, true, func(ctx context.Context) (bool, error) {
		for _, node := range c.Nodes {
			out, err := node.Run(ctx, []string{"cat", "/proc/net/ip_vs_conn"})
			if err != nil {
				return false, err
			}
			connections, err := ipvs.Connections(out.Stdout)
			if err != nil {
				return false, fmt.Errorf("%s: %w", node.Role, err)
			}
			if n := toWorkload(connections, w); n > 0 {
				last = fmt.Sprintf("%s: %d", node.Role, n)
				l.show.Detail("%s", last)
				return false, nil
			}
		}
		return true, nil
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return fmt.Errorf("connections are left (%s): %w", last, err)
	}
	return nil
}

// toWorkload counts the connections to a port of the workload's Service. Another
// Service of that port makes a wait longer, no more.
func toWorkload(connections []ipvs.Connection, w spec.Workload) int {
	n := 0
	for _, c := range connections {
		if port := int(c.Virtual.Port()); port == w.ClusterPort || port == w.NodePort {
			n++
		}
	}
	return n
}

// unprogrammed says what the workload's NodePort lacks, "" where it is as it has
// to be: all backends behind one of its frontends, chosen among as expected. The
// latter counts where kube-proxy can be told: a restart leaves what was until it
// is programmed anew.
func unprogrammed(table collect.ServiceTable, w spec.Workload, selection string) string {
	most, chosen := 0, collect.Selection("")
	for _, f := range table.Frontends {
		if f.Kind == collect.NodePort && int(f.Port) == w.NodePort && len(f.Backends) > most {
			most, chosen = len(f.Backends), f.Selection
		}
	}
	switch {
	case most < len(w.BackendNodes):
		return fmt.Sprintf("NodePort %d has %d of %d backends", w.NodePort, most, len(w.BackendNodes))
	case table.Encoding == "ipvs" && string(chosen) != selection:
		return fmt.Sprintf("NodePort %d selects by %s, not yet by %s", w.NodePort, chosen, selection)
	}
	return ""
}
