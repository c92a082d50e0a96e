package dataplane

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/registry"
	chartrepo "helm.sh/helm/v3/pkg/repo"

	"service-dataplane/internal/ciliumimage"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
)

// Chart is a loaded chart with where it came from.
type Chart struct {
	*chart.Chart
	From string
}

// LoadChart loads a pinned chart: that of the module, with repo as the root of
// this project's tree, or that of the repository, downloaded below workDir.
func LoadChart(ctx context.Context, repo, workDir string, pinned spec.Chart) (Chart, error) {
	loaded, err := loadChart(ctx, repo, workDir, pinned)
	if err == nil && loaded.Metadata.Version != pinned.Version {
		err = fmt.Errorf("the chart from %s is of version %s, and version %s is asked for", loaded.From, loaded.Metadata.Version, pinned.Version)
	}
	return loaded, err
}

func loadChart(ctx context.Context, repo, workDir string, pinned spec.Chart) (Chart, error) {
	if pinned.Source != "" {
		dir, err := imagebuild.Module(ctx, filepath.Join(repo, pinned.Source), ciliumimage.Module, "{{.Dir}}")
		if err != nil {
			return Chart{}, err
		}
		chart, err := loader.Load(filepath.Join(dir, "install", "kubernetes", "cilium"))
		return Chart{chart, fmt.Sprintf("module %s v%s, checked by %s/go.sum", ciliumimage.Module, pinned.Version, pinned.Source)}, err
	}
	archive, err := download(workDir, pinned)
	if err != nil {
		return Chart{}, fmt.Errorf("%w: chart %s %s: %w", ErrUnavailable, pinned.Name, pinned.Version, err)
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		return Chart{}, err
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	if pinned.Digest != "" && digest != pinned.Digest {
		return Chart{}, fmt.Errorf("chart %s %s from %s is %s, and charts/lock.yaml pins %s", pinned.Name, pinned.Version, pinned.Repository, digest, pinned.Digest)
	}
	chart, err := loader.LoadFile(archive)
	return Chart{chart, pinned.Repository + " " + digest}, err
}

func download(workDir string, pinned spec.Chart) (string, error) {
	settings := cli.New()
	settings.RepositoryCache = filepath.Join(workDir, "charts")
	// There is none: of what a user has configured for Helm the cache has nothing,
	// which Helm takes for an error.
	settings.RepositoryConfig = filepath.Join(settings.RepositoryCache, "repositories.yaml")
	client, err := registry.NewClient()
	if err != nil {
		return "", err
	}
	configuration := &action.Configuration{RegistryClient: client}
	pull := action.NewInstall(configuration)
	pull.Version = pinned.Version
	reference := pinned.Repository + "/" + pinned.Name
	if !registry.IsOCI(pinned.Repository) {
		// LocateChart would rather take what has the chart's name in the working
		// directory.
		reference, err = chartrepo.FindChartInRepoURL(pinned.Repository, pinned.Name, pinned.Version, "", "", "", getter.All(settings))
		if err != nil {
			return "", err
		}
	}
	return pull.LocateChart(reference, settings)
}
