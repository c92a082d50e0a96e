package report

import (
	"path"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
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
	case c.ID == "mode.declared" && against(c, aboutCilium):
		return "kubeProxyReplacement and kubeProxyMode in the scenario's file decide; create the cluster anew"
	case c.ID == "mode.declared":
		return "kubeProxyMode in the scenario's file decides; create the cluster anew"
	case c.ID == "mode.actual" && against(c, aboutCilium):
		return "Cilium's agent reads its ConfigMap only when it starts: kubectl -n kube-system rollout restart daemonset cilium"
	case c.ID == "mode.actual":
		return "kube-proxy reads its ConfigMap only when it starts: kubectl -n kube-system rollout restart daemonset kube-proxy"
	case c.ID == "mode.version":
		return "an update may not have come to every node: kubectl -n kube-system rollout status daemonset NAME; Cilium's version is the one in the scenario's file"
	case c.ID == "mode.sole" && against(c, aboutProxy):
		return "two data planes would serve at once: kubectl -n kube-system delete daemonset,configmap kube-proxy, or create the cluster anew"
	case c.ID == "mode.sole":
		return "rules of an earlier mode stay until they are removed: run kube-proxy --cleanup on the node, or create the cluster anew"
	case layer == "objects":
		return "compare with the API: kubectl -n NAMESPACE get service,endpointslice,pod -o wide"
	case c.ID == "traffic.translation":
		return "each line of raw/client and raw/host has dialedAddress, peername and kernelRemote; what translates is in raw/NODE: cilium-status.json (socketLB), cilium-cgroup.txt, cilium-bpf-ct-list.txt, conntrack-*.txt"
	case layer == "traffic":
		return "the lines of raw/client and raw/host hold each connection with its error"
	case c.ID == "kernel.table" && against(c, aboutCilium):
		return "what the agent's list (cilium-service-list.json) lacks as well has not come from the API, what the maps (cilium-bpf-lb-list.json) alone lack was not programmed: kubectl -n kube-system logs daemonset/cilium -c cilium-agent"
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
	of := []string{path.Base(evidence.CiliumConfigFile)}
	for _, c := range cilium.Commands("", "") {
		of = append(of, c.File)
	}
	return slices.Contains(of, path.Base(file))
}

func aboutProxy(file string) bool {
	return file == evidence.DaemonSetFile || path.Base(file) == evidence.ProcessesFile
}
