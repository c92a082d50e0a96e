package report

import (
	"path"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
)

// cure is what to do next about a check that did not pass.
func cure(c collect.Check) string {
	layer, _, _ := strings.Cut(c.ID, ".")
	switch {
	case c.Verdict == collect.Inconclusive:
		return "raw/index.json has exit code and stderr of each command; run the scenario again"
	case c.Verdict != collect.Fail:
		return ""
	case c.ID == "mode.declared" && against(c, aboutCalico):
		return "linuxDataplane, bpfNetworkBootstrap and kubeProxyManagement in the scenario's file decide, and bpfEnabled follows once the operator is content: kubectl get tigerastatus; create the cluster anew"
	case c.ID == "mode.declared" && against(c, aboutCilium):
		return "kubeProxyReplacement and kubeProxyMode in the scenario's file decide; create the cluster anew"
	case c.ID == "mode.declared":
		return "kubeProxyMode in the scenario's file decides; create the cluster anew"
	case c.ID == "mode.actual" && against(c, aboutCalico):
		return "the operator says what is in its way: kubectl get tigerastatus -o yaml, and kubectl -n tigera-operator logs deployment/tigera-operator"
	case c.ID == "mode.actual" && against(c, aboutCilium):
		return "Cilium's agent reads its ConfigMap only when it starts: kubectl -n kube-system rollout restart daemonset cilium"
	case c.ID == "mode.actual":
		return "kube-proxy reads its ConfigMap only when it starts: kubectl -n kube-system rollout restart daemonset kube-proxy"
	case c.ID == "mode.version" && against(c, aboutCalico):
		return "an update may not have come to every node: kubectl -n calico-system rollout status daemonset calico-node; Calico's version is the one in the scenario's file"
	case c.ID == "mode.version":
		return "an update may not have come to every node: kubectl -n kube-system rollout status daemonset NAME; Cilium's version is the one in the scenario's file"
	case c.ID == "mode.sole" && against(c, aboutProxy):
		return "two data planes would serve at once: kubectl -n kube-system delete daemonset,configmap kube-proxy, or create the cluster anew; with Calico its operator has to keep kube-proxy off the nodes: kubectl get tigerastatus kubeproxy-monitor -o yaml"
	case c.ID == "mode.sole":
		return "rules of an earlier mode stay until they are removed: run kube-proxy --cleanup on the node, or create the cluster anew"
	case layer == "objects":
		return "compare with the API: kubectl -n NAMESPACE get service,endpointslice,pod -o wide"
	case c.ID == "traffic.translation":
		return "each line of raw/client and raw/host has dialedAddress, peername and kernelRemote; what translates is in raw/NODE: cilium-status.json (socketLB), cilium-cgroup.txt, cilium-bpf-ct-list.txt, calico-cgroup.json, calico-conntrack.json, conntrack-*.txt; and in raw/cluster/felixconfiguration.json (bpfConnectTimeLoadBalancing)"
	case layer == "traffic":
		return "the lines of raw/client and raw/host hold each connection with its error"
	case c.ID == "kernel.table" && against(c, aboutCilium):
		return "what the agent's list (cilium-service-list.json) lacks as well has not come from the API, what the maps (cilium-bpf-lb-list.json) alone lack was not programmed: kubectl -n kube-system logs daemonset/cilium -c cilium-agent"
	case c.ID == "kernel.table" && against(c, aboutCalico):
		return "Felix fills the NAT maps (calico-nat-dump.json) from Services and EndpointSlices: kubectl -n calico-system logs daemonset/calico-node -c calico-node"
	case c.ID == "kernel.conntrack" && against(c, aboutCalico):
		return "an entry outlives what it was translated by: compare it with raw/NODE/calico-nat-dump.json, and run the scenario again on a new cluster"
	case c.ID == "kernel.unparsed" && against(c, aboutCalico):
		return "what stands behind the # is why the line is not in the table: another version may print another form, and maps that are written while they are read contradict each other; run the scenario again"
	case c.ID == "kernel.conntrack" && against(c, aboutCilium):
		return "an entry outlives what it was translated by: compare it with raw/NODE/cilium-bpf-lb-list.json, and run the scenario again on a new cluster"
	case layer == "kernel":
		return "look for errors of the last sync in raw/NODE/kube-proxy.log"
	}
	return ""
}

// against says whether the findings of a check point at certain files.
func against(c collect.Check, about func(file string) bool) bool {
	return slices.ContainsFunc(c.Findings, func(f collect.Finding) bool { return about(f.Ref.File) })
}

func aboutCilium(file string) bool {
	return file == evidence.CiliumConfigFile || printedBy(cilium.Commands("", ""), file)
}

func aboutCalico(file string) bool {
	return file == evidence.InstallationFile || file == evidence.FelixFile || file == evidence.TigeraStatusFile ||
		printedBy(calico.Commands(""), file)
}

// printedBy says whether one of the commands printed a node's file.
func printedBy(commands []collect.Command, file string) bool {
	return slices.ContainsFunc(commands, func(c collect.Command) bool { return c.File == path.Base(file) })
}

func aboutProxy(file string) bool {
	return file == evidence.DaemonSetFile || path.Base(file) == evidence.ProcessesFile
}
