package dataplane

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chartutil"

	"service-dataplane/internal/ciliumimage"
	"service-dataplane/internal/cluster"
	"service-dataplane/internal/helm"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
)

// Namespace of Cilium's pods.
const Namespace = "kube-system"

// CgroupRoot is where Cilium's agent mounts the node's cgroup2 tree, by the
// default of its chart (cgroup.hostRoot).
const CgroupRoot = "/run/cilium/cgroupv2"

// Cilium installs Cilium into a cluster.
type Cilium struct {
	Spec spec.Cilium
	Prepared
	// MissingCapabilities are those this host cannot give to any container.
	MissingCapabilities []string
}

// Install implements Plane.
func (c Cilium) Install(ctx context.Context, to *cluster.Cluster) (Installed, error) {
	apiServer, err := to.NodeAddress(ctx, spec.Roles[0])
	if err != nil {
		return Installed{}, err
	}
	values, dropped := c.values(c.Chart.Values, apiServer.String())
	if values, err = asRead(values); err != nil {
		return Installed{}, err
	}
	installed := c.installed(values)
	fromSource := func(image imagebuild.Image) bool { return image.Origin == imagebuild.Source }
	if slices.ContainsFunc(slices.Collect(maps.Values(c.Images)), fromSource) {
		installed.Deviations = append(installed.Deviations, ciliumimage.Deviations...)
	}
	for _, capability := range dropped {
		installed.Deviations = append(installed.Deviations, fmt.Sprintf("containers without %s, which this host does not hold", capability))
	}
	err = helm.Install(ctx, to.Kubeconfig, helm.Release{Name: "cilium", Namespace: Namespace, Chart: c.Chart.Chart, Values: values})
	return installed, err
}

// values are the scenario's, with what depends on cluster and host. A value
// that the scenario gives stays as it is.
func (c Cilium) values(defaults map[string]any, apiServer string) (values map[string]any, dropped []string) {
	image := func(part string) map[string]any {
		return map[string]any{"override": c.Names[part], "useDigest": false, "pullPolicy": "Never"}
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

// asRead returns values as Helm reads them from a file: charts ask for the types
// that has (a number is a float64).
func asRead(values map[string]any) (map[string]any, error) {
	text, err := yaml.Marshal(values)
	if err != nil {
		return nil, err
	}
	return chartutil.ReadValues(text)
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
