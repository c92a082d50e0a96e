package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

// hasAgents says whether Cilium was to be there.
func hasAgents(e collect.Evidence) bool {
	return e.Mode.Agent.Ref.File != "" || slices.ContainsFunc(e.Mode.Nodes, func(n collect.NodeMode) bool { return n.Agent != nil })
}

// replaced says whether the agent of a node says that it implements Services in
// kube-proxy's place.
func replaced(e collect.Evidence, node string) bool {
	a := agentOn(e, node)
	return a != nil && a.KubeProxyReplacement.Value == "True"
}

func agentOn(e collect.Evidence, node string) *collect.AgentMode {
	for _, n := range e.Mode.Nodes {
		if n.Node == node {
			return n.Agent
		}
	}
	return nil
}

// statement is one thing an agent says, or that is said of its node.
type statement struct {
	name string
	collect.Observation
}

func statements(n collect.NodeMode) []statement {
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
	head := []string{"Node"}
	var rows [][]string
	for i, n := range e.Mode.Nodes {
		row := []string{escape(n.Node)}
		for _, s := range statements(n) {
			if i == 0 {
				head = append(head, s.name)
			}
			row = append(row, stated(s))
		}
		rows = append(rows, row)
	}
	d.table(head, rows)
	writeStatements(d, e.Mode.Nodes, clientNode)
	return writeSocketLBKey(d, e, raw)
}

// stated is a value that leads to its line.
func stated(s statement) string {
	text := code(s.Value)
	switch {
	case s.Value == "" && s.Ref.File == "":
		return "not asked"
	case s.Value == "":
		text = "does not say"
	case s.Value == collect.Absent && s.name == "Health":
		text = "off"
	case s.Value == collect.Absent:
		text = "none"
	}
	return fmt.Sprintf("[%s](%s)", text, target(s.Ref))
}

// writeStatements quotes one agent whole, the one of the client's node, and
// what the others say otherwise.
func writeStatements(d *document, nodes []collect.NodeMode, clientNode string) {
	if len(nodes) == 0 {
		return
	}
	lines := func(n collect.NodeMode) []quoted {
		var all []quoted
		for _, s := range statements(n) {
			for _, text := range quoteOf(s.Observation) {
				all = append(all, quoted{Line: collect.Line{Text: text}, key: s.name + s.Value})
			}
		}
		return all
	}
	whole := nodes[max(0, slices.IndexFunc(nodes, func(n collect.NodeMode) bool { return n.Node == clientNode }))]
	var texts []string
	for _, l := range lines(whole) {
		texts = append(texts, l.Text)
	}
	if len(texts) > 0 {
		d.fence(texts)
	}
	for _, n := range nodes {
		if n.Node != whole.Node {
			writeDifference(d, "statement", whole.Node, n.Node, lines(whole), lines(n))
		}
	}
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
	data, err := fs.ReadFile(raw, evidence.CiliumConfigFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
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
