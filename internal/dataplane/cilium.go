package dataplane

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/registry"

	"service-dataplane/internal/ciliumimage"
	"service-dataplane/internal/cluster"
	"service-dataplane/internal/helm"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
)

// Namespace of the data plane's pods.
const Namespace = "kube-system"

// CgroupRoot is where Cilium's agent mounts the node's cgroup2 tree, by the
// default of its chart (cgroup.hostRoot).
const CgroupRoot = "/run/cilium/cgroupv2"

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

// Cilium installs Cilium into a cluster.
type Cilium struct {
	Spec   spec.Cilium
	Pinned spec.Chart
	Images Images
	// Repo is the root of this project's tree, WorkDir takes downloads.
	Repo, WorkDir string
	// MissingCapabilities are those this host cannot give to any container.
	MissingCapabilities []string
}

// Install installs the chart and returns what was installed. It does not wait.
func (c Cilium) Install(ctx context.Context, to *cluster.Cluster, apiServer string) (Installed, error) {
	chart, from, err := c.chart(ctx)
	if err != nil {
		return Installed{}, err
	}
	values, dropped := c.values(chart.Values, apiServer)
	installed := Installed{
		Name: chart.Name(), Version: chart.Metadata.Version, Chart: from, Images: c.Images, Values: values,
	}
	for _, image := range c.Images {
		if image.Origin == imagebuild.Source {
			installed.Deviations = slices.Clone(ciliumimage.Deviations)
		}
	}
	for _, capability := range dropped {
		installed.Deviations = append(installed.Deviations, fmt.Sprintf("containers without %s, which this host does not hold", capability))
	}
	if chart.Metadata.Version != c.Spec.Version {
		return Installed{}, fmt.Errorf("the chart from %s is of version %s, and version %s is asked for", from, chart.Metadata.Version, c.Spec.Version)
	}
	err = helm.Install(ctx, to.Kubeconfig, helm.Release{Name: "cilium", Namespace: Namespace, Chart: chart, Values: values})
	return installed, err
}

// chart loads the chart of the module, or of the pinned repository.
func (c Cilium) chart(ctx context.Context) (*chart.Chart, string, error) {
	if c.Pinned.Source != "" {
		source := filepath.Join(c.Repo, c.Pinned.Source)
		dir, err := imagebuild.Module(ctx, source, ciliumimage.Module, "{{.Dir}}")
		if err != nil {
			return nil, "", err
		}
		chart, err := loader.Load(filepath.Join(dir, "install", "kubernetes", "cilium"))
		return chart, fmt.Sprintf("module %s v%s, checked by %s/go.sum", ciliumimage.Module, c.Pinned.Version, c.Pinned.Source), err
	}
	archive, err := c.download()
	if err != nil {
		return nil, "", err
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		return nil, "", err
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	if c.Pinned.Digest != "" && digest != c.Pinned.Digest {
		return nil, "", fmt.Errorf("chart %s %s from %s is %s, and charts/lock.yaml pins %s", c.Pinned.Name, c.Pinned.Version, c.Pinned.Repository, digest, c.Pinned.Digest)
	}
	chart, err := loader.LoadFile(archive)
	return chart, c.Pinned.Repository + " " + digest, err
}

func (c Cilium) download() (string, error) {
	settings := cli.New()
	settings.RepositoryCache = filepath.Join(c.WorkDir, "charts")
	client, err := registry.NewClient()
	if err != nil {
		return "", err
	}
	configuration := &action.Configuration{RegistryClient: client}
	pull := action.NewInstall(configuration)
	pull.Version = c.Pinned.Version
	return pull.LocateChart(c.Pinned.Repository+"/"+c.Pinned.Name, settings)
}

// values are the scenario's, with what depends on cluster and host. A value
// that the scenario gives stays as it is.
func (c Cilium) values(defaults map[string]any, apiServer string) (values map[string]any, dropped []string) {
	names := c.Images.InNodes(c.Pinned)
	image := func(part string) map[string]any {
		return map[string]any{"override": names[part], "useDigest": false, "pullPolicy": "Never"}
	}
	added := map[string]any{
		"image":    image("agent"),
		"operator": map[string]any{"image": image("operator")},
	}
	if c.Spec.KubeProxyReplacement() {
		// Nothing translates the Service of the API server before Cilium does.
		added["k8sServiceHost"], added["k8sServicePort"] = apiServer, 6443
	}
	capabilities, dropped := c.capabilities(defaults)
	if len(dropped) > 0 {
		added["securityContext"] = map[string]any{"capabilities": capabilities}
	}
	return chartutil.CoalesceTables(copyTable(c.Spec.Values), added), dropped
}

// capabilities are the chart's without those the host lacks: with one of them a
// container does not start.
func (c Cilium) capabilities(defaults map[string]any) (kept map[string]any, dropped []string) {
	kept = map[string]any{}
	of, err := chartutil.Values(defaults).Table("securityContext.capabilities")
	if err != nil {
		return kept, nil
	}
	for container, list := range of {
		names, ok := list.([]any)
		if !ok {
			continue
		}
		var left []any
		for _, name := range names {
			full := "CAP_" + fmt.Sprint(name)
			if !slices.Contains(c.MissingCapabilities, full) {
				left = append(left, name)
			} else if !slices.Contains(dropped, full) {
				dropped = append(dropped, full)
			}
		}
		kept[container] = left
	}
	slices.Sort(dropped)
	return kept, dropped
}

func copyTable(table map[string]any) map[string]any {
	copied := map[string]any{}
	for key, value := range table {
		if inner, ok := value.(map[string]any); ok {
			value = copyTable(inner)
		}
		copied[key] = value
	}
	return copied
}
