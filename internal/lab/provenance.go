package lab

import (
	"context"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/command"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
)

// provenance of a scenario's run on the cluster that was made for first.
func (l *lab) provenance(first, scenario spec.Scenario, o observation) (results.Run, error) {
	var image results.WorkloadImage
	if l.Experiment.Spec.Refusal == nil {
		chart, err := loader.Load(filepath.Join(l.Repo, l.Experiment.Spec.Workload.Chart))
		if err != nil {
			return results.Run{}, err
		}
		image = results.WorkloadImage{Reference: l.echo.Reference, Chart: chart.Name() + "-" + chart.Metadata.Version}
	}
	config, err := cluster.KindConfig(first, o.Machine.CgroupVersion != "v2")
	if err != nil {
		return results.Run{}, err
	}
	run := results.Run{
		Started:    o.Started.UTC().Truncate(time.Second),
		Argv:       withoutPaths(l.Argv),
		Harness:    l.harness,
		Host:       l.facts,
		Image:      l.image,
		DataPlane:  o.Installed,
		Workload:   image,
		KindConfig: string(config),
		Scenario:   scenario,
		Experiment: l.Experiment,
		Timings:    o.Timings,
	}
	if first.Metadata.Name != scenario.Metadata.Name {
		run.ClusterOf = first.Metadata.Name
	}
	if o.Guest != nil {
		run.Guest = &results.Guest{Facts: o.Machine, Image: o.Guest.image, Ran: o.Guest.Ran, Timings: o.Timings}
		run.Timings = o.Guest.timings
	}
	if l.bundle != nil {
		run.Bundle = &results.Bundle{SHA256: l.bundle.SHA256, Created: l.bundle.Created, Revision: l.bundle.Revision}
	}
	return run, nil
}

// harness says which program made the run. A tree without Git has no revision.
func harness(ctx context.Context, repo string) results.Harness {
	h := results.Harness{GoVersion: runtime.Version(), Modules: map[string]string{}}
	h.Revision, _ = command.Output(ctx, "git", "-C", repo, "rev-parse", "HEAD")
	changed, _ := command.Output(ctx, "git", "-C", repo, "status", "--porcelain", "--", ".", ":(exclude)results")
	h.Modified = changed != ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if slices.Contains([]string{"sigs.k8s.io/kind", "k8s.io/client-go", "helm.sh/helm/v3"}, module.Path) {
				h.Modules[module.Path] = strings.TrimSpace(module.Version)
			}
		}
	}
	return h
}

// withoutPaths takes out of a command line the flags that say where things are
// on one machine: they are no part of what was run.
func withoutPaths(argv []string) []string {
	var kept []string
	for i := 0; i < len(argv); i++ {
		flag, _, hasValue := strings.Cut(argv[i], "=")
		if slices.Contains([]string{"--repo", "--results", "--work-dir", "--bundle"}, flag) {
			if !hasValue {
				i++
			}
			continue
		}
		kept = append(kept, argv[i])
	}
	return kept
}
