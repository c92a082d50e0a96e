package lab

import (
	"context"
	"errors"
	"time"

	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/guest"
	"service-dataplane/internal/host"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/results"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// observation is what the side effects of a scenario's run leave beside its raw
// files: what provenance says of how they came.
type observation struct {
	Started   time.Time            `json:"started"`
	Installed *dataplane.Installed `json:"installed,omitempty"`
	// Machine is what the cluster ran on.
	Machine host.Facts `json:"machine"`
	// Timings by the clock of that machine.
	Timings []progress.Timing `json:"timings"`
	// Guest is nil where the machine is this host.
	Guest *ranIn `json:"-"`
}

// ranIn is the guest of an observation.
type ranIn struct {
	guest.Ran
	image imagebuild.Image
	// timings by this host's clock.
	timings []progress.Timing
}

// together are the scenarios that one cluster serves, in their order: neighbours
// that differ in no more than what kube-proxy can be told anew. One that is
// skipped stands alone.
func (l *lab) together(skipped outcomes) [][]spec.Scenario {
	var all [][]spec.Scenario
	var last *spec.Scenario // nil where the next one makes a cluster of its own
	for _, s := range l.Scenarios {
		_, skips := skipped.reason(s)
		if last != nil && !skips && last.SharesCluster(s) && l.guests[s.Metadata.Name] == l.guests[last.Metadata.Name] {
			all[len(all)-1] = append(all[len(all)-1], s)
			continue
		}
		all = append(all, []spec.Scenario{s})
		if last = &s; skips {
			last = nil
		}
	}
	return all
}

// run is scenarios that share a cluster, from cluster to results. Whatever ends
// it, the cluster is gone afterwards (or kept on request) and the results of
// each are whole or those of before.
func (l *lab) run(ctx context.Context, scenarios []spec.Scenario) (done []Outcome, err error) {
	drafts, raws := make([]*results.Draft, len(scenarios)), make([]string, len(scenarios))
	for i, s := range scenarios {
		if drafts[i], err = results.NewDraft(l.ResultsDir, l.Experiment.Metadata.Name, s.Metadata.Name); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, drafts[i].Discard()) }()
		raws[i] = drafts[i].Raw()
	}
	l.heading(scenarios[0])
	observe := l.observe
	if l.guests[scenarios[0].Metadata.Name] {
		observe = l.observeInGuest
	}
	observed, err := observe(ctx, scenarios, raws)
	for i, o := range observed {
		outcome, finishErr := l.conclude(ctx, scenarios[0], scenarios[i], o, drafts[i])
		if finishErr != nil {
			return done, errors.Join(err, finishErr)
		}
		done = append(done, outcome)
	}
	return done, err
}

// conclude makes results of an observation.
func (l *lab) conclude(ctx context.Context, first, scenario spec.Scenario, o observation, draft *results.Draft) (Outcome, error) {
	record, err := l.provenance(first, scenario, o)
	if err != nil {
		return Outcome{}, err
	}
	var derived Derived
	step := progress.Step{Name: "decode, check, write results of " + scenario.Metadata.Name, Run: func(context.Context) (err error) {
		derived, err = finish(draft, record)
		return err
	}}
	if err := l.show.Run(ctx, step); err != nil {
		return Outcome{}, err
	}
	seconds := 0.0
	for _, t := range record.Timings {
		seconds += t.Seconds
	}
	return Outcome{
		Scenario:   scenario.Metadata.Name,
		Experiment: l.Experiment.Metadata.Name,
		Verdict:    collect.Overall(derived.Checks),
		Seconds:    seconds,
		Checks:     derived.Checks,
		Dir:        draft.Target(),
	}, nil
}

func (l *lab) heading(scenario spec.Scenario) {
	l.show.Heading("%s on %s", l.Experiment.Metadata.Name, scenario.Metadata.Name)
}
