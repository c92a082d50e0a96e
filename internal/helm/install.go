// Package helm installs charts with the Helm v3 SDK.
package helm

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/cli"
)

// installLimit bounds an installation; none here waits for pods.
const installLimit = 2 * time.Minute

// Release is what is installed, and where.
type Release struct {
	Name string
	// Namespace is created where it is not there.
	Namespace string
	Chart     *chart.Chart
	Values    map[string]any
}

// Install installs a release into the cluster of a kubeconfig. It does not wait
// for what the release starts.
func Install(ctx context.Context, kubeconfig string, release Release) error {
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	settings := cli.New()
	settings.KubeConfig = kubeconfig
	settings.SetNamespace(release.Namespace)
	configuration := new(action.Configuration)
	if err := configuration.Init(settings.RESTClientGetter(), release.Namespace, "secret", func(string, ...any) {}); err != nil {
		return err
	}
	install := action.NewInstall(configuration)
	install.ReleaseName = release.Name
	install.Namespace = release.Namespace
	install.CreateNamespace = true
	// The API server judges what it is given; to have its schemas made and sent
	// beforehand costs both sides more than all the rest.
	install.DisableOpenAPIValidation = true
	_, err := install.RunWithContext(ctx, release.Chart, release.Values)
	return err
}
