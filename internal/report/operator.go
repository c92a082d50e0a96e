package report

import (
	"fmt"
	"path"
	"slices"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
)

// writeCalico is what Calico's operator was asked for, what it made of that, and
// what is attached on the nodes.
func writeCalico(d *document, e collect.Evidence, clientNode string) {
	d.heading(3, "Calico and its operator")
	if c := e.Mode.Calico; c == nil {
		d.paragraph("What the Tigera operator was asked for and what it says of that was not read.")
	} else {
		writeSettings(d, *c)
		writeComponents(d, c.Components)
	}
	d.paragraph("What is attached at the cgroup of each node, where connect(2) can be translated, and what runs on the node:")
	ofCalico := slices.ContainsFunc(e.Mode.Nodes, func(n collect.NodeMode) bool { return path.Base(n.Version.Ref.File) == calico.VersionFile })
	writeStatements(d, e.Mode.Nodes, clientNode, func(n collect.NodeMode) []statement {
		all := []statement{{"Calico's programs at its cgroup", n.Hooks}}
		if ofCalico { // else it is kube-proxy's
			all = append(all, statement{"Version", n.Version})
		}
		return append(all, statement{"kube-proxy process", n.Process})
	})
	if slices.ContainsFunc(e.Mode.Nodes, func(n collect.NodeMode) bool { return n.Hooks.Value == collect.Absent }) {
		d.paragraph("That no program is listed does not prove that there is none: a bpftool that is older than a way to attach programs lists none attached that way.")
	}
}

// writeSettings are the fields that decide whether Calico implements Services.
func writeSettings(d *document, c collect.CalicoMode) {
	d.paragraph("Asked of the Tigera operator in the Installation `default`, and what Felix, Calico's agent on every node, is configured to in the FelixConfiguration `default`, where the operator sets `bpfEnabled`:")
	var rows [][]string
	var quotes []string
	for _, s := range []struct {
		object string
		statement
		means map[string]string
	}{
		{"Installation", statement{"linuxDataplane", c.Dataplane}, map[string]string{
			"BPF": "Services are to be implemented by Calico's eBPF programs",
			"":    "Services are left to kube-proxy",
		}},
		{"Installation", statement{"bpfNetworkBootstrap", c.Bootstrap}, map[string]string{
			"Enabled":  "the operator tells Calico how to reach the API server without kube-proxy",
			"Disabled": "the operator does not tell Calico how to reach the API server without kube-proxy",
		}},
		{"Installation", statement{"kubeProxyManagement", c.KubeProxyManagement}, map[string]string{
			"Enabled":  "the operator keeps kube-proxy off the nodes",
			"Disabled": "the operator leaves kube-proxy where it is",
		}},
		{"Installation, its status", statement{"calicoVersion", c.Version}, nil},
		{"FelixConfiguration", statement{"bpfEnabled", c.BPF}, map[string]string{
			collect.Enabled:  "Felix programs Services for eBPF",
			collect.Disabled: "Felix programs no Services",
		}},
		{"FelixConfiguration", statement{"bpfConnectTimeLoadBalancing", c.ConnectTime}, map[string]string{
			"TCP":      "connect(2) of a TCP socket is translated; of UDP the packets are",
			"Enabled":  "connect(2) is translated, and what a UDP socket sends without it",
			"Disabled": "no connect(2) is translated",
		}},
		{"FelixConfiguration", statement{"usageReportingEnabled", c.UsageReporting}, map[string]string{
			collect.Enabled:  "Felix reports version and size of the cluster to its maker",
			collect.Disabled: "Felix reports nothing to its maker",
		}},
	} {
		means, known := s.means[s.Value]
		if !known {
			means = s.means[""]
		}
		if s.Value == "" {
			means = ""
		}
		rows = append(rows, []string{s.object, code(s.name), stated(s.statement), dash(means)})
		quotes = append(quotes, quoteOf(s.Observation)...)
	}
	d.table([]string{"Object", "Field", "Value", "Which means"}, rows)
	d.quotes(quotes)
}

// writeComponents is what the operator says of its components.
func writeComponents(d *document, components []collect.Component) {
	if len(components) == 0 {
		d.paragraph("The operator says nothing of any component (%s).", link(collect.Ref{File: evidence.TigeraStatusFile}))
		return
	}
	d.paragraph("What the operator says of its components, in the TigeraStatus of each:")
	var rows [][]string
	for _, c := range components {
		state := stated(statement{c.Name, c.State})
		if c.State.Value != "available" {
			state = "**" + state + "**"
		}
		rows = append(rows, []string{code(c.Name), state, dash(c.State.Ref.Line.Text)})
	}
	d.table([]string{"Component", "State", "In the operator's words"}, rows)
}

// writeKeptOff tells how Calico's operator keeps kube-proxy off the nodes: by a
// selector, and not by deleting anything.
func writeKeptOff(d *document, e collect.Evidence) {
	c := e.Mode.Calico
	if c == nil || felixTranslates(e.Mode) != collect.Enabled && c.KubeProxyManagement.Value != "Enabled" {
		return
	}
	const label = "`operator.tigera.io/disable-kube-proxy`"
	selector := fmt.Sprintf("%s (%s)", code(c.ProxySelector.Ref.Line.Text), link(c.ProxySelector.Ref))
	left := ""
	if declared := e.Mode.Declared; declared.Value != collect.Absent && declared.Ref.Line.Text != "" {
		left = " The operator deletes neither the DaemonSet nor the ConfigMap, so that kube-proxy can come back: **the mode in the ConfigMap says nothing of what runs.**"
	}
	switch none, kept := c.ProxyNodes.Value == "0", c.ProxySelector.Value == collect.Present; {
	case c.ProxyNodes.Value == collect.Absent:
	case c.ProxyNodes.Value == "":
		d.paragraph("How many nodes the DaemonSet is meant for is not known (%s).", link(c.ProxyNodes.Ref))
	case none && kept:
		d.paragraph("It is meant for 0 nodes: its selector asks for the label %s, which the operator has put there and no node has: %s.%s", label, selector, left)
	case none:
		d.paragraph("It is meant for 0 nodes, but not by the operator's doing: its selector does not ask for the label %s: %s.", label, selector)
	case kept:
		d.paragraph("**It is meant for %s nodes**, although its selector asks for the label %s, with which the operator keeps it off all of them: %s.", escape(c.ProxyNodes.Value), label, selector)
	default:
		d.paragraph("**It is meant for %s nodes:** its selector does not ask for the label %s, with which the operator keeps it off all of them: %s. What runs there goes by the ConfigMap.", escape(c.ProxyNodes.Value), label, selector)
	}
}
