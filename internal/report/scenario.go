package report

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// Scenario is the README.md of a result directory. raw is its raw directory;
// an error means that a file of it is there and cannot be read.
func Scenario(run results.Run, e collect.Evidence, checks []collect.Check, raw fs.FS) ([]byte, error) {
	var d document
	d.heading(1, "%s: %s", code(e.Scenario), escape(run.Experiment.Metadata.Title))
	d.paragraph("%s %s", answer(e), manner(e))
	d.paragraph("%s.", capital(verdictLine(checks)))
	d.paragraph("Written from the files of this directory by `runner`; `runner verify` writes it again from [raw](raw/) and [run.yaml](run.yaml) and compares. Links lead to the line that is quoted.")
	writeRun(&d, run, e)
	writeMode(&d, e)
	writeObjects(&d, e.Objects)
	writeTraffic(&d, e, checks)
	if err := writeKernel(&d, e, run.Experiment.Spec.Workload.ClientNode, raw); err != nil {
		return nil, err
	}
	writeChecks(&d, checks)
	writeProvenance(&d, run, e.Problems)
	return []byte(strings.TrimRight(d.String(), "\n") + "\n"), nil
}

// answer is what implements the Service, in one sentence.
func answer(e collect.Evidence) string {
	name := code(e.Objects.Service.Namespace + "/" + e.Objects.Service.Name)
	if e.Objects.Service.Name == "" {
		return "The Service under test is not in what the API server answered."
	}
	byNode := perNode(e.Kernel, func(s collect.NodeState) string { return holders(s, e.Objects.Service) })
	switch {
	case len(e.Kernel) == 0:
		return fmt.Sprintf("No node was read: what implements Service %s is not known.", name)
	case len(byNode) == 1 && byNode[0].value != "":
		return fmt.Sprintf("**%s implements Service %s on every node (%s).**", byNode[0].value, name, escape(strings.Join(byNode[0].nodes, ", ")))
	}
	var parts []string
	for _, group := range byNode {
		value := group.value
		if value == "" {
			value = "nothing that was read"
		}
		parts = append(parts, fmt.Sprintf("%s on %s", value, escape(strings.Join(group.nodes, ", "))))
	}
	return fmt.Sprintf("**Not all nodes are alike: Service %s is implemented by %s.**", name, strings.Join(parts, "; "))
}

// manner is how, as far as connections and kernel state show it.
func manner(e collect.Evidence) string {
	text := fmt.Sprintf("Selection of a backend: %s. Source address a backend sees: %s via ClusterIP, %s via NodePort.",
		selection(e), sources(e, false), sources(e, true))
	switch translation(e) {
	case onPackets:
		text += " The destination is translated on the packets, below the socket."
	case inSocket:
		text += " The destination is translated in the socket, by connect(2)."
	}
	return text
}

// holders are the encodings of a node that hold the Service.
func holders(s collect.NodeState, service collect.Service) string {
	var names []string
	for _, t := range s.Tables {
		if len(underTest(t, service)) == 0 {
			continue
		}
		name := escape(t.Encoding)
		if t.Encoding == "iptables" && s.LiveIptables != "" {
			name += fmt.Sprintf(" (back end %s)", escape(s.LiveIptables))
		}
		names = append(names, name)
	}
	return strings.Join(slices.Compact(names), " and ")
}

// group is a value and the nodes that have it.
type group struct {
	value string
	nodes []string
}

// perNode groups nodes by a value, in the order of the nodes.
func perNode(states []collect.NodeState, value func(collect.NodeState) string) []group {
	var groups []group
	for _, s := range states {
		v := value(s)
		i := slices.IndexFunc(groups, func(g group) bool { return g.value == v })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{value: v})
		}
		groups[i].nodes = append(groups[i].nodes, s.Node)
	}
	return groups
}

func writeRun(d *document, run results.Run, e collect.Evidence) {
	var kubelets, runtimes, kernels []string
	for _, n := range e.Nodes {
		kubelets = append(kubelets, n.KubeletVersion)
		runtimes = append(runtimes, n.ContainerRuntime)
		kernels = append(kernels, n.KernelRelease)
	}
	h, w := run.Host, run.Experiment.Spec.Workload
	host := fmt.Sprintf("%s, %s, %d CPUs, %.1f GiB, cgroup %s, engine %s (%s)", dash(h.OS), dash(h.Arch), h.CPUs,
		float64(h.MemoryBytes)/(1<<30), dash(h.CgroupVersion), dash(h.EngineVersion), dash(h.StorageDriver))
	if len(h.MissingCapabilities) > 0 {
		host += ", without " + codes(h.MissingCapabilities)
	}
	clients := fmt.Sprintf("pod %s on %s", code(w.Namespace+"/"+w.Client), escape(w.ClientNode))
	if slices.ContainsFunc(e.Traffic, func(p collect.EntryPoint) bool { return p.From == spec.FromHost }) {
		clients += ", and the host"
	}
	service := "not there"
	if s := e.Objects.Service; s.Name != "" {
		service = fmt.Sprintf("%s, %s: ClusterIP %s, node port %s, to port %s", code(s.Namespace+"/"+s.Name), escape(s.Type),
			code(fmt.Sprintf("%s:%d/%s", s.ClusterIP, s.Port, s.Protocol)), code(fmt.Sprint(s.NodePort)), code(s.TargetPort))
	}
	image := fmt.Sprintf("%s, origin: %s", code(run.Image.Reference), dash(run.Image.Origin))
	if run.Image.ContentKey != "" {
		image += ", content key " + code(run.Image.ContentKey)
	}
	d.heading(2, "What was run")
	d.table([]string{"", ""}, [][]string{
		{"Scenario", escape(run.Scenario.Metadata.Title)},
		{"Kubernetes", fmt.Sprintf("%s, %s, container runtime %s", codes(distinct(kubelets)), plural(len(e.Nodes), "node"), codes(distinct(runtimes)))},
		{"Node image", image},
		{"Kernel", codes(distinct(kernels))},
		{"Host", host},
		{"CNI", fmt.Sprintf("%s, pods %s, Services %s", dash(run.Scenario.Spec.Cluster.CNI), code(run.Scenario.Spec.Cluster.PodSubnet), code(run.Scenario.Spec.Cluster.ServiceSubnet))},
		{"Service", service},
		{"Clients", clients},
		{"When", escape(run.Started.UTC().Format("2006-01-02 15:04:05 UTC"))},
		{"Repeat", code("make experiment SCENARIOS=" + run.Scenario.Metadata.Name)},
	})
}

func writeMode(d *document, e collect.Evidence) {
	d.heading(2, "1 Mode")
	declared := e.Mode.Declared
	meaning := ""
	if declared.Value == "" {
		meaning = ", which means iptables"
	}
	d.paragraph("Declared in the ConfigMap `kube-system/kube-proxy`: %s%s (%s).", code(declared.Value), meaning, link(declared.Ref))
	d.paragraph("What each kube-proxy says it does, at its endpoint `/proxyMode` and in its log:")
	said := func(o collect.Observation) string {
		if o.Value == "" {
			return fmt.Sprintf("does not say (%s)", link(o.Ref))
		}
		return fmt.Sprintf("%s (%s)", code(o.Value), link(o.Ref))
	}
	var rows [][]string
	var logs []string
	for _, n := range e.Mode.Nodes {
		rows = append(rows, []string{escape(n.Node), said(n.ProxyMode), said(n.Log)})
		if n.Log.Value != "" {
			logs = append(logs, fmt.Sprintf("%s  %s", place(n.Log.Ref), n.Log.Ref.Line.Text))
		}
	}
	d.table([]string{"Node", "`/proxyMode`", "Log"}, rows)
	if len(logs) > 0 {
		d.fence(logs)
	}
}

func writeObjects(d *document, o collect.Objects) {
	d.heading(2, "2 Objects")
	letters := lettersOf(o)
	var rows [][]string
	for _, e := range o.Endpoints {
		state := "ready"
		switch {
		case e.Terminating && e.Serving:
			state = "terminating, serving"
		case e.Terminating:
			state = "terminating"
		case !e.Ready:
			state = "not ready"
		}
		rows = append(rows, []string{letters[e.Address], code(fmt.Sprintf("%s:%d", e.Address, e.Port)), dash(e.Pod), dash(e.Node), state})
	}
	if len(rows) == 0 {
		d.paragraph("The Service has no endpoints.")
	} else {
		d.paragraph("Endpoints of Service %s by its EndpointSlices; the letters name them on this page:", code(o.Service.Namespace+"/"+o.Service.Name))
	}
	d.table([]string{"", "Endpoint", "Pod", "Node", "State"}, rows)
	d.paragraph("The cluster's Services ask for %s on every node.", plural(len(o.Expected.Frontends), "frontend"))
}

func writeProvenance(d *document, run results.Run, problems []collect.Problem) {
	d.heading(2, "Provenance")
	if len(problems) > 0 {
		d.paragraph("Files that could not be used, and what depends on them is missing above:")
		var rows [][]string
		for _, p := range problems {
			rows = append(rows, []string{escape(p.Node), code(p.File), escape(p.Text)})
		}
		d.table([]string{"Node", "File", "Why"}, rows)
	}
	revision := "not from a Git checkout"
	if run.Harness.Revision != "" {
		revision = code(run.Harness.Revision)
	}
	if run.Harness.Modified {
		revision += ", with changes that are not in it"
	}
	rows := [][]string{
		{"Revision", revision},
		{"Command", code(strings.Join(run.Argv, " "))},
		{"Go", code(run.Harness.GoVersion)},
		{"Workload", fmt.Sprintf("image %s, chart %s", code(run.Workload.Reference), code(run.Workload.Chart))},
	}
	for _, module := range slices.Sorted(maps.Keys(run.Harness.Modules)) {
		rows = append(rows, []string{code(module), code(run.Harness.Modules[module])})
	}
	d.table([]string{"", ""}, rows)
	rows = nil
	for _, t := range run.Timings {
		name := escape(t.Step)
		if t.Failed {
			name += " (**failed**)"
		}
		rows = append(rows, []string{name, fmt.Sprintf("%.1f", t.Seconds)})
	}
	d.table([]string{"Step", "Seconds"}, rows)
}
