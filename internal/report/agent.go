package report

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

// agentStatements are what an agent says of itself, and what is said of its node.
func agentStatements(n collect.NodeMode) []statement {
	var a collect.AgentMode
	if n.Agent != nil {
		a = *n.Agent
	}
	return []statement{
		{"KubeProxyReplacement", a.KubeProxyReplacement},
		{"Socket LB", a.SocketLB},
		{"Attach mode", a.AttachMode},
		{"Version", a.Version},
		{"State", a.State},
		{"Health", a.Health},
		{"kube-proxy process", n.Process},
	}
}

// writeAgents is what is declared to Cilium, and what its agents say they do.
func writeAgents(d *document, e collect.Evidence, clientNode string, raw fs.FS) error {
	d.heading(3, "Cilium's agents")
	if declared := e.Mode.Agent; declared.Value == "" {
		d.paragraph("Whether the ConfigMap `kube-system/cilium-config` declares that Cilium replaces kube-proxy is not known (%s).", link(declared.Ref))
	} else {
		d.paragraph("Declared in the ConfigMap `kube-system/cilium-config`: %s (%s). What the agent of each node says of itself:", code(declared.Ref.Line.Text), link(declared.Ref))
	}
	writeStatements(d, e.Mode.Nodes, clientNode, agentStatements)
	return writeSocketLBKey(d, e, raw)
}

// socketLBKey is the setting of socket LB in the agent's ConfigMap.
const socketLBKey = "bpf-lb-sock"

// writeSocketLBKey warns of the setting where it says otherwise than the agents.
// The replacement turns socket LB on whatever it says (NewKPRConfig in
// pkg/kpr/kpr.go of Cilium 1.20.2).
func writeSocketLBKey(d *document, e collect.Evidence, raw fs.FS) error {
	value, err := configured(raw, socketLBKey)
	if err != nil || value != "false" {
		return err
	}
	on := slices.ContainsFunc(e.Mode.Nodes, func(n collect.NodeMode) bool {
		return n.Agent != nil && n.Agent.SocketLB.Value == collect.Enabled
	})
	if !on {
		return nil
	}
	ref := collect.Ref{File: evidence.CiliumConfigFile}
	d.paragraph("A trap: the same ConfigMap says that socket LB is off (%s), and it is on. Replacing kube-proxy turns it on whatever that key says, so that only the agent's status and the programs at the nodes' cgroups tell:", link(ref))
	d.fence([]string{fmt.Sprintf("%s  %s: %q", place(ref), socketLBKey, value)})
	return nil
}

// configured is a value of Cilium's ConfigMap; "" where it has none.
func configured(raw fs.FS, key string) (string, error) {
	data, err := optional(raw, evidence.CiliumConfigFile)
	if err != nil {
		return "", err
	}
	var config struct {
		Data map[string]string `json:"data"`
	}
	if json.Unmarshal(data, &config) != nil {
		return "", nil // the decoder has said so
	}
	return config.Data[key], nil
}
