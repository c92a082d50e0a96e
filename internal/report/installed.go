package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/imagebuild"
)

// mostOpenLines of a block are shown without a click.
const mostOpenLines = 15

// writeInstalled tells what was installed into the cluster, and in what it is
// not what its makers publish.
func writeInstalled(d *document, p *dataplane.Installed) error {
	if p == nil {
		return nil
	}
	d.heading(3, "The data plane that was installed")
	d.paragraph("%s %s. Chart: %s.", code(p.Name), escape(p.Version), dash(p.Chart))
	var rows [][]string
	for _, part := range slices.Sorted(maps.Keys(p.Images)) {
		rows = append(rows, []string{escape(part), imageSource(p.Images[part])})
	}
	d.table([]string{"Part", "Image"}, rows)
	if len(p.Deviations) > 0 {
		d.paragraph("It differs from the published images and from the chart's defaults in this:")
		var items []string
		for _, text := range p.Deviations {
			items = append(items, escape(text))
		}
		d.list(items)
	}
	if len(p.Values) == 0 {
		return nil
	}
	var values strings.Builder
	encoder := yaml.NewEncoder(&values)
	encoder.SetIndent(2)
	if err := encoder.Encode(p.Values); err != nil {
		return fmt.Errorf("values of the chart %s: %w", p.Name, err)
	}
	lines := strings.Split(strings.TrimRight(values.String(), "\n"), "\n")
	d.folded(len(lines) > mostOpenLines, "Values the chart was installed with", func() { d.fenceOf("yaml", lines) })
	return nil
}

// imageSource is an image and where it comes from.
func imageSource(i imagebuild.Image) string {
	text := fmt.Sprintf("%s, origin: %s", code(i.Reference), dash(i.Origin))
	if i.ContentKey != "" {
		text += ", content key " + code(i.ContentKey)
	}
	return text
}
