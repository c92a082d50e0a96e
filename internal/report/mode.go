package report

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
)

// writeMode tells what is declared and what runs, of kube-proxy and, where they
// are installed, of Cilium and Calico: first of what declares that it implements
// Services.
func writeMode(d *document, e collect.Evidence, clientNode string, raw fs.FS) error {
	d.heading(2, "1 Mode")
	if !hasPlane(e) {
		writeProxies(d, e)
		return nil
	}
	var before, after []func() error
	place := func(declares bool, section func() error) {
		if declares {
			before = append(before, section)
		} else {
			after = append(after, section)
		}
	}
	if hasAgents(e) {
		place(e.Mode.Agent.Value == "true", func() error { return writeAgents(d, e, clientNode, raw) })
	}
	if hasCalico(e) {
		place(e.Mode.Calico != nil && e.Mode.Calico.Dataplane.Value == "BPF", func() error {
			writeCalico(d, e, clientNode)
			return nil
		})
	}
	proxies := func() error {
		d.heading(3, "kube-proxy")
		writeProxies(d, e)
		return nil
	}
	for _, section := range slices.Concat(before, []func() error{proxies}, after) {
		if err := section(); err != nil {
			return err
		}
	}
	return nil
}

// writeProxies is the mode of kube-proxy, or that there is none.
func writeProxies(d *document, e collect.Evidence) {
	switch declared := e.Mode.Declared; {
	case declared.Value == collect.Absent:
		d.paragraph("There is no ConfigMap `kube-system/kube-proxy`: %s (%s).", code(declared.Ref.Line.Text), link(declared.Ref))
	case declared.Value == "" && declared.Ref.Line.Text == "":
		d.paragraph("What the ConfigMap `kube-system/kube-proxy` declares is not known (%s).", link(declared.Ref))
	default:
		meaning := ""
		if declared.Value == "" {
			meaning = ", which means iptables"
		}
		d.paragraph("Declared in the ConfigMap `kube-system/kube-proxy`: %s%s (%s).", code(declared.Value), meaning, link(declared.Ref))
	}
	switch scheduler := e.Mode.Scheduler; {
	case scheduler.Ref.File == "":
	case scheduler.Value == "":
		d.paragraph("It declares no scheduler for IPVS, which leaves the choice to kube-proxy.")
	default:
		d.paragraph("The scheduler it declares for IPVS: %s.", code(scheduler.Value))
	}
	switch set := e.Mode.KubeProxy; set.Value {
	case collect.Absent:
		d.paragraph("There is no DaemonSet `kube-system/kube-proxy`: %s (%s).", code(set.Ref.Line.Text), link(set.Ref))
	case collect.Present:
		d.paragraph("The DaemonSet `kube-system/kube-proxy` is there: %s (%s).", code(set.Ref.Line.Text), link(set.Ref))
		writeKeptOff(d, e)
	}
	// Beside Cilium or Calico, the processes are in their table.
	processes := !hasPlane(e) && slices.ContainsFunc(e.Mode.Nodes, func(n collect.NodeMode) bool { return n.Process.Value != "" })
	head := []string{"Node", "`/proxyMode`", "Log"}
	if processes {
		head = append(head, "Process")
	}
	switch {
	case len(e.Mode.Nodes) > 0 && !slices.ContainsFunc(e.Mode.Nodes, proxyRuns):
		d.paragraph("No node runs one, by the list of its processes, its endpoint `/proxyMode` and its pods:")
	case hasPlane(e) && !slices.ContainsFunc(e.Mode.Nodes, proxyFound):
		d.paragraph("Nothing of a kube-proxy was found on any node, in what was read of its processes, its endpoint `/proxyMode` and its pods:")
	default:
		d.paragraph("What each kube-proxy says it does, at its endpoint `/proxyMode` and in its log:")
	}
	var rows [][]string
	var quotes []string
	for _, n := range e.Mode.Nodes {
		row := []string{escape(n.Node), said(n.ProxyMode, "nothing answers"), said(n.Log, "no pod")}
		if n.Log.Value != collect.Absent {
			quotes = append(quotes, quoteOf(n.Log)...)
		}
		for _, note := range n.Notes {
			quotes = append(quotes, quoteOf(note)...)
		}
		if n.ProxyMode.Value == collect.Absent {
			quotes = append(quotes, quoteOf(n.ProxyMode)...)
		}
		if processes {
			row = append(row, said(n.Process, "none"))
			quotes = append(quotes, quoteOf(n.Process)...)
		}
		rows = append(rows, row)
	}
	d.table(head, rows)
	d.quotes(quotes)
	writeImages(d, e.Mode.Nodes)
}

// writeImages names the images that kube-proxy runs from. Where something takes
// its place the version of interest is another one.
func writeImages(d *document, nodes []collect.NodeMode) {
	states := []collect.NodeState{}
	images := map[string]collect.Observation{}
	for _, n := range nodes {
		if n.Version.Ref.File == evidence.PodsFile && n.Version.Value != "" && n.Version.Value != collect.Absent {
			states = append(states, collect.NodeState{Node: n.Node})
			images[n.Node] = n.Version
		}
	}
	for _, g := range perNode(states, func(s collect.NodeState) string { return images[s.Node].Value }) {
		d.paragraph("Image of kube-proxy on %s: %s (%s).", escape(strings.Join(g.nodes, ", ")), code(g.value), link(images[g.nodes[0]].Ref))
	}
}

// proxyFound says whether anything of a kube-proxy was found on a node.
func proxyFound(n collect.NodeMode) bool {
	none := func(o collect.Observation) bool { return o.Value == "" || o.Value == collect.Absent }
	return !none(n.ProxyMode) || !none(n.Log) || n.Process.Value == collect.Running
}

// proxyRuns says whether a node may have one: something of it was found, or not
// looked for.
func proxyRuns(n collect.NodeMode) bool {
	return n.ProxyMode.Value != collect.Absent || n.Log.Value != collect.Absent || n.Process.Value == collect.Running
}

// said is an observation; absent is what its absence means.
func said(o collect.Observation, absent string) string {
	switch o.Value {
	case "":
		return fmt.Sprintf("does not say (%s)", link(o.Ref))
	case collect.Absent:
		return fmt.Sprintf("%s (%s)", absent, link(o.Ref))
	case collect.Running:
		return fmt.Sprintf("%s (%s)", escape(o.Value), link(o.Ref))
	}
	return fmt.Sprintf("%s (%s)", code(o.Value), link(o.Ref))
}

// quoteOf is the line of an observation behind its place; nothing where there
// is no value or no line.
func quoteOf(o collect.Observation) []string {
	if o.Value == "" || o.Ref.Line.Text == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s  %s", place(o.Ref), strings.TrimSpace(o.Ref.Line.Text))}
}

// modes are what implements Services by its own account.
func modes(r IndexEntry) Cell {
	var states []collect.NodeState // nodes of a mode, as nodeCell groups them
	said := map[string]string{}
	for _, n := range r.Evidence.Mode.Nodes {
		states = append(states, collect.NodeState{Node: n.Node})
		said[n.Node] = modeOf(r.Evidence.Mode, n)
	}
	return cells(perNode(states, func(s collect.NodeState) string { return said[s.Node] }))
}

// modeOf is what a node's Services are implemented by, beside what else is there.
func modeOf(m collect.Mode, n collect.NodeMode) string {
	var name string
	var replaces, leaves bool // neither where that is not known
	switch {
	case n.Agent != nil:
		said := n.Agent.KubeProxyReplacement.Value
		name, replaces, leaves = "cilium", said == "True", said == "False"
	case m.Calico != nil:
		name, replaces, leaves = "calico", felixTranslates(m) == collect.Enabled, felixTranslates(m) == collect.Disabled
	default:
		return n.ProxyMode.Value
	}
	proxy := n.ProxyMode.Value
	if proxy == collect.Absent {
		proxy = ""
	}
	switch {
	case replaces && proxy == "":
		return name + " (kube-proxy replacement)"
	case replaces:
		return name + " (kube-proxy replacement) and kube-proxy in mode " + proxy
	case leaves:
		return fmt.Sprintf("%s (%s as pod network)", cmp.Or(proxy, "no kube-proxy"), name)
	}
	return fmt.Sprintf("%s (%s, not known what for)", cmp.Or(proxy, "no kube-proxy"), name)
}
