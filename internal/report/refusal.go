package report

import (
	"fmt"
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// Refusal is the README.md of a run in which an installation was to be refused.
func Refusal(run results.Run, e collect.Evidence, checks []collect.Check) ([]byte, error) {
	want := run.Experiment.Spec.Refusal
	var d document
	d.heading(1, "%s: %s", code(e.Scenario), escape(run.Experiment.Metadata.Title))
	writeImported(&d, run)
	d.paragraph("%s.", capital(verdictLine(checks)))
	d.paragraph("Written from the files of this directory by `runner`; `runner verify` writes it again from [raw](raw/) and [run.yaml](run.yaml) and compares. Links lead to the line that is quoted.")
	d.heading(2, "What was asked for")
	d.paragraph("The installation of scenario %s on a cluster whose pods have addresses of %s, with this laid over its values:", code(e.Scenario), code(run.Scenario.Spec.Cluster.PodSubnet))
	var values strings.Builder
	encoder := yaml.NewEncoder(&values)
	encoder.SetIndent(2)
	if err := encoder.Encode(want.Values); err != nil {
		return nil, err
	}
	d.fenceOf("yaml", strings.Split(strings.TrimRight(values.String(), "\n"), "\n"))
	if err := writeInstalled(&d, run.DataPlane); err != nil {
		return nil, err
	}
	d.heading(2, "What the operator says")
	d.paragraph("Wanted is that %s is degraded, and %s in the operator's words. The API server took the Installation: the reason is in the operator's status alone.", code(want.Component), code(want.Message))
	var rows [][]string
	if c := e.Mode.Calico; c != nil {
		for _, component := range c.Components {
			rows = append(rows, []string{code(component.Name), escape(component.State.Value), escape(component.State.Ref.Line.Text), link(component.State.Ref)})
		}
	}
	d.table([]string{"Component", "State", "In its words", "Where"}, rows)
	d.heading(2, "What it left of the cluster")
	rows = nil
	if c := e.Mode.Calico; c != nil {
		rows = append(rows,
			[]string{"cluster", "nodes that are meant to have a kube-proxy", code(c.ProxyNodes.Value), link(c.ProxyNodes.Ref)},
			[]string{"cluster", "the operator's selector that keeps it off them", code(c.ProxySelector.Value), link(c.ProxySelector.Ref)})
	}
	for _, node := range e.Mode.Nodes {
		rows = append(rows,
			[]string{escape(node.Node), "process kube-proxy", code(node.Process.Value), link(node.Process.Ref)},
			[]string{escape(node.Node), "mode it answers with", code(node.ProxyMode.Value), link(node.ProxyMode.Ref)})
	}
	d.table([]string{"Node", "What", "Found", "Where"}, rows)
	writeChecks(&d, "Checks", checks)
	writeProvenance(&d, run, e.Problems)
	return []byte(strings.TrimRight(withoutDeadLinks(run, d.String(), e.Problems), "\n") + "\n"), nil
}

// writeRefusals is the table of an experiment that asks for what is to be
// refused.
func writeRefusals(d *document, runs []IndexEntry) {
	var rows [][]string
	for _, r := range runs {
		said, proxies := "", ""
		if c := r.Evidence.Mode.Calico; c != nil {
			proxies = c.ProxyNodes.Value
			for _, component := range c.Components {
				if component.Name == r.Run.Experiment.Spec.Refusal.Component {
					said = component.State.Ref.Line.Text
				}
			}
		}
		rows = append(rows, []string{
			fmt.Sprintf("[%s](%s)", escape(Name(r)), escapePath(path.Join(r.Dir, "README.md"))),
			dash(said), dash(proxies), verdictLine(r.Checks), date(r),
		})
	}
	d.table([]string{"Scenario", "The operator says", "Nodes with a kube-proxy", "Checks", "Date"}, rows)
}
