package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"service-dataplane/internal/capture"
	"service-dataplane/internal/cluster"
	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/probe"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
	"service-dataplane/internal/workload"
)

// observe is every part of a run with side effects: the cluster lives as long as
// this function. It serves all scenarios that share it, one after another, and
// writes the raw files of each into its directory of raws. What has come to its
// end is observed, also where a later scenario fails.
func (l *lab) observe(ctx context.Context, scenarios []spec.Scenario, raws []string) (observed []observation, err error) {
	c := cluster.New(cluster.Options{
		Scenario: scenarios[0],
		Image:    l.image.Reference,
		WorkDir:  l.WorkDir,
		CgroupV1: l.facts.CgroupVersion != "v2",
	}, l.show)
	if err := c.Free(ctx); err != nil {
		return nil, err
	}
	first := len(l.show.Timings())
	defer func() {
		err = errors.Join(err, l.dismiss(ctx, c, err))
		// What ended a later scenario is no part of the one before it.
		if n := len(observed); n == len(scenarios) {
			observed[n-1].Timings = append(observed[n-1].Timings, l.show.Timings()[first:]...)
		}
	}()
	for i, scenario := range scenarios {
		if i > 0 {
			l.heading(scenario)
		}
		o := observation{Started: time.Now(), Machine: l.facts}
		recorder, err := capture.NewRecorder(raws[i])
		if err != nil {
			return observed, err
		}
		if i == 0 {
			o.Installed, err = l.begin(ctx, c, scenario)
		} else {
			err = l.show.Run(ctx,
				progress.Step{Name: "restart kube-proxy with scheduler " + scenario.Spec.Cluster.IPVSScheduler, Run: func(ctx context.Context) error {
					return c.Reschedule(ctx, scenario.Spec.Cluster.IPVSScheduler)
				}},
				progress.Step{Name: "wait until IPVS has forgotten former connections", Run: func(ctx context.Context) error {
					return l.waitForgotten(ctx, c)
				}},
			)
		}
		if err != nil {
			return observed, err
		}
		if l.Experiment.Spec.Refusal == nil {
			err = l.measure(ctx, c, scenario, recorder)
		} else {
			o.Installed, err = l.observeRefusal(ctx, c, scenario, recorder)
		}
		if err == nil {
			err = recorder.WriteIndex()
		}
		if err != nil {
			return observed, err
		}
		all := l.show.Timings()
		o.Timings, first = all[first:], len(all)
		observed = append(observed, o)
	}
	return observed, nil
}

// begin creates the cluster, and what the workload needs of it.
func (l *lab) begin(ctx context.Context, c *cluster.Cluster, scenario spec.Scenario) (installed *dataplane.Installed, err error) {
	if err := l.show.Run(ctx, progress.Step{Name: "create cluster " + c.Name, Run: c.Create}); err != nil {
		return nil, err
	}
	if l.Experiment.Spec.Refusal != nil {
		return nil, nil
	}
	if name, _ := scenario.Spec.DataPlane.Chart(); name == "" {
		err = l.show.Run(ctx, progress.Step{Name: "set up the pod network", Run: c.PodNetwork})
	} else {
		installed, err = l.install(ctx, c, scenario)
	}
	if err != nil {
		return nil, err
	}
	w := l.Experiment.Spec.Workload
	return installed, l.show.Run(ctx,
		progress.Step{Name: "load the echo image, install the chart", Run: func(ctx context.Context) error {
			if err := c.LoadImage(ctx, l.echo.Open, workerRoles(w)...); err != nil {
				return err
			}
			return workload.Install(ctx, c, l.Repo, w, l.echo)
		}},
		progress.Step{Name: "wait for nodes, DNS and workload", Run: func(ctx context.Context) error {
			if err := c.WaitReady(ctx); err != nil {
				return err
			}
			return workload.WaitReady(ctx, c, w)
		}},
	)
}

// measure sends the connections and records what they left.
func (l *lab) measure(ctx context.Context, c *cluster.Cluster, scenario spec.Scenario, recorder *capture.Recorder) error {
	return l.show.Run(ctx,
		progress.Step{Name: "wait until every node has programmed the Service", Run: func(ctx context.Context) error {
			return l.waitProgrammed(ctx, c, scenario)
		}},
		progress.Step{Name: fmt.Sprintf("send %d new connections through %d entry points", l.Experiment.Spec.Connections, len(l.Experiment.Spec.EntryPoints)), Run: func(ctx context.Context) error {
			return l.probe(ctx, c, recorder)
		}},
		progress.Step{Name: "collect evidence from API and nodes", Run: func(ctx context.Context) error {
			return l.collect(ctx, c, scenario, recorder)
		}},
	)
}

// install makes a data plane the cluster's pod network, and what implements
// Services where the scenario's values say so.
func (l *lab) install(ctx context.Context, c *cluster.Cluster, scenario spec.Scenario) (*dataplane.Installed, error) {
	prepared := l.planes[scenario.Metadata.Name]
	name, version := scenario.Spec.DataPlane.Chart()
	plane := dataplane.New(scenario.Spec.DataPlane, prepared.Prepared, l.facts.MissingCapabilities)
	var installed dataplane.Installed
	err := l.show.Run(ctx,
		progress.Step{Name: "check that no node shares its cgroups", Run: func(ctx context.Context) error {
			roots, err := c.CgroupRoots(ctx)
			if err == nil {
				err = cluster.SharedCgroups(roots)
			}
			if err != nil {
				err = fmt.Errorf("%w: %w: programs at connect() would rewrite the addresses of other nodes' and clusters' connections\n  start the engine with --default-cgroupns-mode=private", ErrHost, err)
			}
			return err
		}},
		loadImages(c, name, prepared),
		progress.Step{Name: fmt.Sprintf("install chart %s %s", name, version), Run: func(ctx context.Context) (err error) {
			installed, err = plane.Install(ctx, c)
			return err
		}},
		progress.Step{Name: "wait until it says that it works", Run: func(ctx context.Context) error {
			return plane.Wait(ctx, c, l.show)
		}},
	)
	return &installed, err
}

func loadImages(c *cluster.Cluster, name string, of plane) progress.Step {
	return progress.Step{Name: "load the images of " + name + " into the nodes", Run: func(ctx context.Context) error {
		for _, archive := range of.archives {
			if err := c.LoadImage(ctx, archive, spec.Roles...); err != nil {
				return err
			}
		}
		return nil
	}}
}

func workerRoles(w spec.Workload) []string {
	roles := append([]string(nil), w.BackendNodes...)
	for _, role := range roles {
		if role == w.ClientNode {
			return roles
		}
	}
	return append(roles, w.ClientNode)
}

// dismiss ends the cluster. After a failure its logs are kept first; an
// interrupted run leaves none, it is asked to stop.
func (l *lab) dismiss(ctx context.Context, c *cluster.Cluster, failure error) error {
	if l.Keep && !l.disposable {
		l.show.Note("cluster kept. Reach it with: kubectl --kubeconfig %s get pods -A", c.Kubeconfig)
		l.show.Note("take it away with: runner clean")
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if failure != nil && !errors.Is(failure, ErrInterrupted) {
		logs := filepath.Join(l.WorkDir, "logs", c.Name+"-"+time.Now().UTC().Format("20060102T150405Z"))
		if err := c.ExportLogs(logs); err != nil {
			l.show.Note("not all logs could be collected: %v", err)
		}
		if err := os.WriteFile(filepath.Join(logs, "failure.txt"), []byte(failure.Error()+"\n"), 0o644); err != nil {
			l.show.Note("the reason could not be kept: %v", err)
		}
		if !l.disposable {
			l.show.Note("logs of the failed run, and why it failed: %s", logs)
		}
	}
	if l.disposable {
		return nil // the whole machine goes
	}
	return l.show.Run(ctx, progress.Step{Name: "delete cluster " + c.Name, Run: c.Delete})
}

// ErrInterrupted is the cause of a context that a signal has ended.
var ErrInterrupted = errors.New("interrupted")

// probe sends the connections from the client pod and from this host.
func (l *lab) probe(ctx context.Context, c *cluster.Cluster, recorder *capture.Recorder) error {
	w := l.Experiment.Spec.Workload
	targets, err := probe.FindTargets(ctx, c, w)
	if err != nil {
		return err
	}
	places := map[string]probe.Place{
		spec.FromClient: {Run: probe.InPod(c, w.Namespace, w.Client), Echo: "/echo"},
		spec.FromHost:   {Run: probe.OnHost(l.echo.Binary), Echo: "echo"},
	}
	return probe.Run(ctx, recorder, places, l.Experiment, targets)
}
