package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"service-dataplane/internal/bundle"
	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/host"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/nodeimage"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/internal/workload"
	"service-dataplane/pkg/collect"
)

// Options say what to run and where.
type Options struct {
	// Repo is the root of this tree.
	Repo string
	// WorkDir holds kubeconfigs, the workload image and logs of failed runs.
	WorkDir string
	// ResultsDir gets the results: results/ of the tree, or elsewhere.
	ResultsDir string
	Experiment spec.Experiment
	Scenarios  []spec.Scenario
	// Lock pins charts and images of data planes.
	Lock spec.Lock
	// NodeImage is the choice of nodeimage.Resolve, ImageSource that of
	// dataplane.Resolve.
	NodeImage, ImageSource string
	// Bundle to take everything from, "" for none: see bundle.Open.
	Bundle string
	// Kernel that clusters run on: KernelAuto, KernelHost or KernelGuest.
	Kernel string
	// Program is the runner's executable, which a guest runs too.
	Program string
	// Keep leaves the cluster where it is, unless it is in a guest.
	Keep bool
	// Argv of the runner, for the record.
	Argv []string
}

// Outcome of one scenario's run.
type Outcome struct {
	Scenario   string          `json:"scenario" yaml:"scenario"`
	Experiment string          `json:"experiment" yaml:"experiment"`
	Verdict    collect.Verdict `json:"verdict" yaml:"verdict"`
	// Reason of a skip, with the cure.
	Reason  string          `json:"reason,omitempty" yaml:"reason,omitempty"`
	Seconds float64         `json:"seconds" yaml:"seconds"`
	Checks  []collect.Check `json:"checks,omitempty" yaml:"checks,omitempty"`
	// Dir has the results.
	Dir string `json:"dir,omitempty" yaml:"dir,omitempty"`
}

// ErrHost is wrapped by errors that say this host cannot run it.
var ErrHost = errors.New("this host cannot run it")

// lab is one call of Run.
type lab struct {
	Options
	show  *progress.Reporter
	sys   host.System
	facts host.Facts
	image imagebuild.Image
	echo  workload.Image
	// planes are the data planes to install, by scenario.
	planes map[string]plane
	bundle *bundle.Bundle // nil where there is none
	// guests are the scenarios that need a guest, by name.
	guests     map[string]bool
	guestImage imagebuild.Image
	// harness is this program, as it was when the run began: the tree may change
	// while a run takes its time.
	harness results.Harness
	// disposable is the machine that this process runs on: it is a guest.
	disposable bool
}

// plane is a data plane that is ready to be installed.
type plane struct {
	dataplane.Prepared
	// archives open the images in the form of docker save.
	archives []func() (io.ReadCloser, error)
}

// Run runs the experiment on the scenarios, one cluster after another, and
// returns an outcome for each that came to an end. The error is about what
// did not: a host that cannot run it (ErrHost), an interruption, a failed
// step. Checks that fail are outcomes, not errors.
func Run(ctx context.Context, options Options, show *progress.Reporter) (outcomes []Outcome, err error) {
	l := &lab{Options: options, show: show, sys: host.Local(), guests: map[string]bool{}}
	runnable, skipped, err := l.preflight(ctx)
	if err != nil || len(runnable) == 0 {
		return skipped, err
	}
	unlock, err := lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := os.MkdirAll(l.WorkDir, 0o755); err != nil {
		return nil, err
	}
	if skipped, err = l.prepare(ctx, runnable, skipped); err != nil || len(skipped) == len(l.Scenarios) {
		return skipped, err
	}
	l.harness = harness(ctx, l.Repo)
	for _, scenarios := range l.together(skipped) {
		if reason, ok := skipped.reason(scenarios[0]); ok {
			outcomes = append(outcomes, reason)
			continue
		}
		done, err := l.run(ctx, scenarios)
		outcomes = append(outcomes, done...)
		if err != nil {
			return outcomes, fmt.Errorf("%s: %w", scenarios[min(len(done), len(scenarios)-1)].Metadata.Name, err)
		}
	}
	return outcomes, writeIndex(l.ResultsDir)
}

// outcomes finds a scenario's.
type outcomes []Outcome

func (o outcomes) reason(scenario spec.Scenario) (Outcome, bool) {
	for _, outcome := range o {
		if outcome.Scenario == scenario.Metadata.Name {
			return outcome, true
		}
	}
	return Outcome{}, false
}

// brought says whether the bundle is a file: those have the workload's image too.
func (l *lab) brought() bool {
	info, err := os.Stat(l.Bundle)
	return err == nil && info.Mode().IsRegular()
}

// preflight finds out what this host can run before anything is created.
func (l *lab) preflight(ctx context.Context) (runnable []spec.Scenario, skipped outcomes, err error) {
	for _, finding := range host.Inspect(ctx, l.sys) {
		if finding.State == host.Missing && !(finding.Subject == host.Go && l.brought()) {
			err = errors.Join(err, fmt.Errorf("%w: %s: %s\n  %s", ErrHost, finding.Subject, finding.Text, finding.Cure))
		}
	}
	if err != nil {
		return nil, nil, err
	}
	for _, scenario := range l.Scenarios {
		inGuest, reason, err := l.choose(ctx, scenario)
		if err != nil {
			return nil, nil, err
		}
		if reason != "" {
			skipped = append(skipped, l.skip(scenario, reason))
			continue
		}
		l.guests[scenario.Metadata.Name] = inGuest
		runnable = append(runnable, scenario)
	}
	l.facts = host.Describe(ctx, l.sys)
	return runnable, skipped, nil
}

// choose says whose kernel a scenario runs on, or why on none.
func (l *lab) choose(ctx context.Context, scenario spec.Scenario) (inGuest bool, reason string, err error) {
	var missing []string
	if l.Kernel != KernelGuest {
		if missing, err = l.missing(ctx, scenario); err != nil || len(missing) == 0 {
			return false, "", err
		}
	}
	if l.Kernel != KernelHost {
		reason := l.noGuest(ctx, scenario)
		if reason == "" {
			return true, "", nil
		}
		missing = append(missing, reason)
	}
	return false, strings.Join(missing, "\n"), nil
}

// missing are the features a scenario needs that this kernel does not have.
func (l *lab) missing(ctx context.Context, scenario spec.Scenario) ([]string, error) {
	features, err := host.Features(ctx, scenario.Spec.Requires, l.sys)
	var missing []string
	for _, finding := range features {
		if finding.State == host.Missing {
			missing = append(missing, fmt.Sprintf("%s: %s\n  → %s", finding.Subject, finding.Text, finding.Cure))
		}
	}
	return missing, err
}

// prepare makes what runs need before there is a cluster. A scenario whose
// images cannot be had joins the skipped ones.
func (l *lab) prepare(ctx context.Context, runnable []spec.Scenario, skipped outcomes) (outcomes, error) {
	l.show.Heading("prepare")
	l.planes = map[string]plane{}
	if l.Bundle != "" {
		if err := l.unpack(ctx, runnable); err != nil {
			return skipped, err
		}
		return skipped, l.prepareGuest(ctx)
	}
	archives, unavailable := map[string]plane{}, map[string]string{}
	for _, scenario := range runnable {
		name, version := scenario.Spec.DataPlane.Chart()
		if name == "" {
			continue
		}
		key := name + " " + version
		p, ready := archives[key]
		if !ready && unavailable[key] == "" {
			var err error
			p, err = l.preparePlane(ctx, name, version)
			switch {
			case errors.Is(err, dataplane.ErrUnavailable) && context.Cause(ctx) == nil:
				unavailable[key] = err.Error()
			case err != nil:
				return skipped, err
			}
			archives[key] = p
		}
		if reason := unavailable[key]; reason != "" {
			name := scenario.Metadata.Name
			reason += fmt.Sprintf("\n  → where a registry answers: runner bundle create --scenario %[1]s -o %[1]s.tar\n    then here: runner run --scenario %[1]s --bundle %[1]s.tar", name)
			skipped = append(skipped, l.skip(scenario, reason))
			continue
		}
		l.planes[scenario.Metadata.Name] = p
	}
	if len(skipped) == len(l.Scenarios) {
		return skipped, nil
	}
	var err error
	if l.image, err = nodeimage.Resolve(ctx, l.NodeImage, l.Repo, l.show); err != nil {
		return skipped, fmt.Errorf("%w: no node image: %w", ErrHost, err)
	}
	l.show.Note("node image %s (%s, %d MB)", l.image.Reference, l.image.Origin, l.image.Bytes/1e6)
	if err := l.prepareGuest(ctx); err != nil {
		return skipped, err
	}
	return skipped, l.show.Run(ctx, progress.Step{Name: "build the echo image", Run: func(ctx context.Context) (err error) {
		l.echo, err = workload.BuildImage(ctx, l.Repo, l.WorkDir)
		return err
	}})
}

func (l *lab) preparePlane(ctx context.Context, name, version string) (plane, error) {
	pinned, _ := l.Lock.Chart(name, version) // the scenario's version has been checked
	images, err := dataplane.Resolve(ctx, l.ImageSource, l.Repo, pinned, l.show)
	if err != nil {
		return plane{}, err
	}
	for _, part := range slices.Sorted(maps.Keys(images)) {
		l.show.Note("%s %s image %s (%s, %d MB)", name, part, images[part].Reference, images[part].Origin, images[part].Bytes/1e6)
	}
	archive := filepath.Join(l.WorkDir, name+"-"+version+".tar")
	open := func() (io.ReadCloser, error) { return os.Open(archive) }
	p := plane{archives: []func() (io.ReadCloser, error){open}}
	p.Images, p.Names = images, images.InNodes()
	err = l.show.Run(ctx,
		progress.Step{Name: "load chart " + name, Run: func(ctx context.Context) (err error) {
			p.Chart, err = dataplane.LoadChart(ctx, l.Repo, l.WorkDir, pinned)
			return err
		}},
		progress.Step{Name: "save the images of " + name, Run: func(ctx context.Context) error {
			return images.Save(ctx, archive)
		}},
	)
	return p, err
}

func (l *lab) skip(scenario spec.Scenario, reason string) Outcome {
	l.show.Heading("%s on %s: skip, this host cannot run it", l.Experiment.Metadata.Name, scenario.Metadata.Name)
	return Outcome{
		Scenario: scenario.Metadata.Name, Experiment: l.Experiment.Metadata.Name,
		Verdict: collect.Skip, Reason: reason,
	}
}

// since rounds to what a reader can use.
func since(start time.Time) float64 { return float64(time.Since(start).Milliseconds()) / 1000 }
