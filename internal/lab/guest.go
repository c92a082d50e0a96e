package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"service-dataplane/internal/command"
	"service-dataplane/internal/guest"
	"service-dataplane/internal/host"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
	"service-dataplane/internal/workload"
)

// Whose kernel clusters run on.
const (
	// KernelAuto is the host's where it has what the scenario needs, else a
	// guest's.
	KernelAuto  = "auto"
	KernelHost  = "host"
	KernelGuest = "guest"
)

// Files of a guest's job, beside the runner, and of its output.
const (
	jobFile         = "job.json"
	echoFile        = "echo"
	echoArchive     = "echo.tar"
	observationFile = "observation.json"
	failureFile     = "failure.txt"
)

// job is what a guest is to observe.
type job struct {
	Experiment spec.Experiment `json:"experiment"`
	Scenarios  []spec.Scenario `json:"scenarios"`
	// NodeImage is in the guest's engine by this name.
	NodeImage string `json:"nodeImage"`
	// Echo is the workload's image; archive and program lie beside the job.
	Echo string `json:"echo"`
}

// GuestServes says whether guests run a scenario: those of kube-proxy, which need
// no image but the node's and the workload's.
func GuestServes(scenario spec.Scenario) bool {
	name, _ := scenario.Spec.DataPlane.Chart()
	return name == ""
}

// noGuest says why a scenario cannot run in a guest here, "" where it can.
func (l *lab) noGuest(ctx context.Context, scenario spec.Scenario) string {
	if !GuestServes(scenario) {
		name, _ := scenario.Spec.DataPlane.Chart()
		return "guest: runs kube-proxy's modes only, and this scenario installs " + name
	}
	if finding := host.InspectGuest(ctx, l.sys); finding.State == host.Missing {
		return fmt.Sprintf("%s: %s\n  → %s", finding.Subject, finding.Text, finding.Cure)
	}
	return ""
}

// prepareGuest makes the image of guests, if one is needed.
func (l *lab) prepareGuest(ctx context.Context) (err error) {
	if !slices.Contains(slices.Collect(maps.Values(l.guests)), true) {
		return nil
	}
	if l.Keep {
		l.show.Note("a guest ends with its run: --keep keeps clusters on the host's kernel")
	}
	if l.guestImage, err = guest.Resolve(ctx, l.Repo, l.show); err != nil {
		return fmt.Errorf("%w: no guest image: %w", ErrHost, err)
	}
	l.show.Note("guest image %s (%d MB)", l.guestImage.Reference, l.guestImage.Bytes/1e6)
	return nil
}

// observeInGuest has the same program observe in a guest, and takes over what it
// has brought to an end.
func (l *lab) observeInGuest(ctx context.Context, scenarios []spec.Scenario, raws []string) (observed []observation, err error) {
	first := len(l.show.Timings())
	node, err := tagged(ctx, l.image)
	if err != nil {
		return nil, err
	}
	machine, err := guest.New(guest.Options{Image: l.guestImage, NodeImage: node.Reference, Available: host.Available(l.sys)}, l.show)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, machine.Close()) }()
	if err := l.writeJob(machine.Job(), job{Experiment: l.Experiment, Scenarios: scenarios, NodeImage: node.Reference, Echo: l.echo.Reference}); err != nil {
		return nil, fmt.Errorf("write the guest's job: %w", err)
	}
	l.show.Note("in a guest with a kernel of its own; where it is emulated this takes a quarter of an hour")
	ran, err := machine.Run(ctx)
	if text, readErr := os.ReadFile(filepath.Join(machine.Out(), failureFile)); readErr == nil && err != nil {
		err = errors.New(strings.TrimSpace(string(text)))
	}
	if err != nil {
		err = errors.Join(err, l.keepLogs(machine.Out()))
	}
	timings := l.show.Timings()[first:]
	for i, s := range scenarios {
		o, there, readErr := takeObservation(filepath.Join(machine.Out(), s.Metadata.Name), raws[i])
		if readErr != nil || !there {
			return observed, errors.Join(err, readErr)
		}
		// The first one's are disk and boot as well.
		n := min(len(o.Timings), len(timings))
		if i == 0 {
			n = min(n+ran.Steps, len(timings))
		}
		o.Guest = &ranIn{Ran: ran, image: l.guestImage, timings: timings[:n]}
		timings = timings[n:]
		observed = append(observed, o)
	}
	return observed, err
}

// writeJob puts into dir what the guest's runner reads.
func (l *lab) writeJob(dir string, j job) error {
	content, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, jobFile), content, 0o644); err != nil {
		return err
	}
	for name, file := range map[string]string{"runner": l.Program, echoFile: l.echo.Binary, echoArchive: l.echo.Archive} {
		if _, err := command.Output(context.Background(), "cp", file, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	chart := l.Experiment.Spec.Workload.Chart
	return os.CopyFS(filepath.Join(dir, chart), os.DirFS(filepath.Join(l.Repo, chart)))
}

// takeObservation moves an observation's raw files and reads the rest; false
// where the guest has not come to its end.
func takeObservation(dir, raw string) (o observation, there bool, err error) {
	content, err := os.ReadFile(filepath.Join(dir, observationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	if err != nil {
		return o, false, err
	}
	if err := json.Unmarshal(content, &o); err != nil {
		return o, false, fmt.Errorf("%s of the guest: %w", observationFile, err)
	}
	return o, true, os.CopyFS(raw, os.DirFS(filepath.Join(dir, "raw")))
}

// keepLogs takes over the logs of what failed in a guest.
func (l *lab) keepLogs(out string) error {
	logs := os.DirFS(filepath.Join(out, "work", "logs"))
	if _, err := fs.Stat(logs, "."); err != nil {
		return nil // it did not come to having any
	}
	target := filepath.Join(l.WorkDir, "logs")
	l.show.Note("logs of the failed run, and why it failed: %s", target)
	return os.CopyFS(target, logs)
}

// ObserveJob is the part of a guest: it observes what the job in dir says, on the
// kernel it runs on, and writes what it finds below out, each scenario whole or
// not at all. The cluster stays; the machine ends.
func ObserveJob(ctx context.Context, dir, out string, show *progress.Reporter) error {
	err := observeJob(ctx, dir, out, show)
	if err != nil {
		err = errors.Join(err, os.WriteFile(filepath.Join(out, failureFile), []byte(err.Error()+"\n"), 0o644))
	}
	return err
}

func observeJob(ctx context.Context, dir, out string, show *progress.Reporter) error {
	content, err := os.ReadFile(filepath.Join(dir, jobFile))
	if err != nil {
		return err
	}
	var j job
	if err := json.Unmarshal(content, &j); err != nil {
		return fmt.Errorf("%s: %w", jobFile, err)
	}
	l := &lab{
		Options:    Options{Repo: dir, WorkDir: filepath.Join(out, "work"), Experiment: j.Experiment, Scenarios: j.Scenarios},
		show:       show,
		sys:        host.Local(),
		image:      imagebuild.Image{Reference: j.NodeImage},
		echo:       workload.Image{Reference: j.Echo, Binary: filepath.Join(dir, echoFile), Archive: filepath.Join(dir, echoArchive)},
		disposable: true,
	}
	if err := os.MkdirAll(l.WorkDir, 0o755); err != nil {
		return err
	}
	l.facts = host.Describe(ctx, l.sys)
	raws := make([]string, len(j.Scenarios))
	for i, s := range j.Scenarios {
		missing, err := l.missing(ctx, s)
		if err != nil || len(missing) > 0 {
			return errors.Join(err, fmt.Errorf("the guest's kernel lacks what %s needs:\n%s", s.Metadata.Name, strings.Join(missing, "\n")))
		}
		raws[i] = filepath.Join(out, s.Metadata.Name, "raw")
	}
	observed, err := l.observe(ctx, j.Scenarios, raws)
	for i, o := range observed {
		content, marshalErr := json.Marshal(o)
		if marshalErr == nil {
			marshalErr = os.WriteFile(filepath.Join(out, j.Scenarios[i].Metadata.Name, observationFile), content, 0o644)
		}
		err = errors.Join(err, marshalErr)
	}
	return err
}
