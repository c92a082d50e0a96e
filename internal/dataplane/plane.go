package dataplane

import (
	"context"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
)

// Plane is a data plane with all that it is installed from.
type Plane interface {
	// Install installs the chart and returns what was installed. It does not wait.
	Install(ctx context.Context, to *cluster.Cluster) (Installed, error)
	// Wait waits until the data plane itself says on every node that it works.
	Wait(ctx context.Context, in *cluster.Cluster, show *progress.Reporter) error
}

// Prepared is what a data plane is installed from.
type Prepared struct {
	Chart Chart
	// Images, and the name of each in the nodes.
	Images Images
	Names  map[string]string
	// Deviations of the images from the published ones, as far as whoever
	// brought them says.
	Deviations []string
}

// New is the data plane of a scenario that has one. missing are the
// capabilities this host cannot give to any container.
func New(of spec.DataPlane, from Prepared, missing []string) Plane {
	if of.Calico != nil {
		return Calico{Spec: *of.Calico, Prepared: from}
	}
	return Cilium{Spec: *of.Cilium, Prepared: from, MissingCapabilities: missing}
}

// Installed is what was installed, as provenance records it.
type Installed struct {
	Name    string `json:"name" yaml:"name"`
	Version string `json:"version" yaml:"version"`
	// Chart says where the chart came from, with a digest of what it was.
	Chart  string `json:"chart" yaml:"chart"`
	Images Images `json:"images" yaml:"images"`
	// Values the chart was installed with.
	Values map[string]any `json:"values" yaml:"values"`
	// Deviations from the published images and the chart's defaults.
	Deviations []string `json:"deviations,omitempty" yaml:"deviations,omitempty"`
}

// installed describes what the values make of the chart.
func (p Prepared) installed(values map[string]any) Installed {
	return Installed{
		Name: p.Chart.Name(), Version: p.Chart.Metadata.Version, Chart: p.Chart.From, Images: p.Images, Values: values,
		Deviations: append([]string(nil), p.Deviations...),
	}
}
