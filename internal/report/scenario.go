package report

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"service-dataplane/internal/host"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// Scenario is the README.md of a result directory. raw is its raw directory;
// an error means that a file of it is there and cannot be read.
func Scenario(run results.Run, e collect.Evidence, checks []collect.Check, raw fs.FS) ([]byte, error) {
	var d document
	d.heading(1, "%s: %s", code(e.Scenario), escape(run.Experiment.Metadata.Title))
	writeImported(&d, run)
	d.paragraph("%s %s", answer(e), manner(e))
	d.paragraph("%s.", capital(verdictLine(checks)))
	d.paragraph("Written from the files of this directory by `runner`; `runner verify` writes it again from [raw](raw/) and [run.yaml](run.yaml) and compares. Links lead to the line that is quoted.")
	writeRun(&d, run, e)
	if err := writeInstalled(&d, run.DataPlane); err != nil {
		return nil, err
	}
	if err := writeMode(&d, e, run.Experiment.Spec.Workload.ClientNode, raw); err != nil {
		return nil, err
	}
	writeObjects(&d, e.Objects)
	writeTraffic(&d, e, run.Scenario.Spec.Expect.Translation, checks)
	if err := writeKernel(&d, e, run.Experiment.Spec.Workload.ClientNode, raw); err != nil {
		return nil, err
	}
	writeChecks(&d, "5 Checks", checks)
	writeProvenance(&d, run, e.Problems)
	return []byte(strings.TrimRight(withoutDeadLinks(run, d.String(), e.Problems), "\n") + "\n"), nil
}

func writeRun(d *document, run results.Run, e collect.Evidence) {
	var kubelets, runtimes, kernels []string
	for _, n := range e.Nodes {
		kubelets = append(kubelets, n.KubeletVersion)
		runtimes = append(runtimes, n.ContainerRuntime)
		kernels = append(kernels, n.KernelRelease)
	}
	w := run.Experiment.Spec.Workload
	clients := fmt.Sprintf("pod %s on %s", code(w.Namespace+"/"+w.Client), escape(w.ClientNode))
	if slices.ContainsFunc(e.Traffic, func(p collect.EntryPoint) bool { return p.From == spec.FromHost }) {
		clients += ", and the host"
		if run.Guest != nil {
			clients += " of the nodes, which is the guest"
		}
	}
	service := "not there"
	if s := e.Objects.Service; s.Name != "" {
		service = fmt.Sprintf("%s, %s: ClusterIP %s, node port %s, to port %s", code(s.Namespace+"/"+s.Name), escape(s.Type),
			code(fmt.Sprintf("%s:%d/%s", s.ClusterIP, s.Port, s.Protocol)), code(fmt.Sprint(s.NodePort)), code(s.TargetPort))
	}
	// Of evidence that was recorded elsewhere it is not known how its cluster was
	// made: the scenario's file has made none.
	facts := []struct {
		name, text string
		made       bool // known of a cluster that a run has made
	}{
		{"Scenario", escape(run.Scenario.Metadata.Title), false},
		{"Installed", installedShort(run), true},
		{"Kubernetes", fmt.Sprintf("%s, %s, container runtime %s", codes(distinct(kubelets)), plural(len(e.Nodes), "node"), codes(distinct(runtimes))), false},
		{"Node image", imageSource(run.Image), true},
		{"Kernel", codes(distinct(kernels)), false},
		{"Guest", guestLine(run.Guest), true},
		{"Host", machine(run.Host), true},
		{"CNI", fmt.Sprintf("%s, pods %s, Services %s", dash(run.Scenario.Spec.Cluster.CNI), code(run.Scenario.Spec.Cluster.PodSubnet), code(run.Scenario.Spec.Cluster.ServiceSubnet)), true},
		{"Service", service, false},
		{"Clients", clients, false},
		{"When", escape(run.Started.UTC().Format("2006-01-02 15:04:05 UTC")), true},
		{"Repeat", code(repeat(run)), true},
	}
	var rows [][]string
	for _, f := range facts {
		if unknown := run.Imported != nil && (f.made || f.text == code("")); f.text != "" && !unknown {
			rows = append(rows, []string{f.name, f.text})
		}
	}
	d.heading(2, "What was run")
	d.table([]string{"", ""}, rows)
}

// machine is what a cluster ran on, or what that ran on.
func machine(h host.Facts) string {
	text := fmt.Sprintf("%s, %s, %d CPUs, %.1f GiB, cgroup %s, engine %s (%s)", dash(h.OS), dash(h.Arch), h.CPUs,
		float64(h.MemoryBytes)/(1<<30), dash(h.CgroupVersion), dash(h.EngineVersion), dash(h.StorageDriver))
	if len(h.MissingCapabilities) > 0 {
		text += ", without " + codes(h.MissingCapabilities)
	}
	return text
}

// guestLine is the virtual machine that the cluster ran on, "" where it ran on
// the host itself. What it means for times a reader of milliseconds must know.
func guestLine(g *results.Guest) string {
	if g == nil {
		return ""
	}
	text := "a virtual machine with kernel " + code(g.KernelRelease) + ", run by " + escape(g.Emulator) + " (" + code(g.Accelerator) + "); " + machine(g.Facts)
	if g.Accelerator != "kvm" {
		text += fmt.Sprintf("; its clock counts %s, and all times below are by it", escape(g.Clock))
	}
	return text
}

// installedShort names the data plane that was installed, "" where there is none.
func installedShort(run results.Run) string {
	if run.DataPlane == nil {
		return ""
	}
	return fmt.Sprintf("%s %s, see below", code(run.DataPlane.Name), escape(run.DataPlane.Version))
}

// repeat is the command that makes a run again. Where a bundle lies is another
// matter on every machine.
func repeat(run results.Run) string {
	command := "make experiment SCENARIOS=" + run.Scenario.Metadata.Name
	if run.Bundle != nil {
		command += " BUNDLE=FILE"
	}
	return command
}

func writeObjects(d *document, o collect.Objects) {
	d.heading(2, "2 Objects")
	letters := LettersOf(o)
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
	if run.Imported != nil {
		d.table([]string{"", ""}, importedRows(run.Imported))
		return
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
	}
	if w := run.Workload; w.Reference != "" {
		rows = append(rows, []string{"Workload", fmt.Sprintf("image %s, chart %s", code(w.Reference), code(w.Chart))})
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
