package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"service-dataplane/internal/capture"
	"service-dataplane/internal/cluster"
	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
)

// observeRefusal installs what the operator must not carry out, waits until it
// says why, and records what it left of the cluster. There is no workload.
func (l *lab) observeRefusal(ctx context.Context, c *cluster.Cluster, scenario spec.Scenario, recorder *capture.Recorder) (*dataplane.Installed, error) {
	prepared := l.planes[scenario.Metadata.Name]
	name, version := scenario.Spec.DataPlane.Chart()
	refusal := l.Experiment.Spec.Refusal
	asked := scenario.Spec.DataPlane
	asked.Calico = &spec.Calico{Version: version, Values: laidOver(asked.Calico.Values, refusal.Values)}
	plane := dataplane.New(asked, prepared.Prepared, l.facts.MissingCapabilities)
	var installed dataplane.Installed
	err := l.show.Run(ctx,
		loadImages(c, name, prepared),
		progress.Step{Name: fmt.Sprintf("install chart %s %s", name, version), Run: func(ctx context.Context) (err error) {
			installed, err = plane.Install(ctx, c)
			return err
		}},
		progress.Step{Name: "wait until the operator refuses it", Run: func(ctx context.Context) error {
			err := plane.Wait(ctx, c, l.show)
			var refused *dataplane.Refused
			switch {
			case err == nil:
				return fmt.Errorf("the operator has carried out what it was to refuse")
			case errors.As(err, &refused) && refused.Component == refusal.Component:
				l.show.Note("%v", refused)
				return nil
			}
			return err
		}},
		progress.Step{Name: "collect evidence from API and nodes", Run: func(ctx context.Context) error {
			return l.collect(ctx, c, scenario, recorder)
		}},
	)
	return &installed, err
}

// laidOver returns values with others over them; neither is changed, since both
// are recorded. Lists take each other's place.
func laidOver(values, over map[string]any) map[string]any {
	merged := map[string]any{}
	maps.Copy(merged, values)
	for key, value := range over {
		above, isTable := value.(map[string]any)
		below, onTable := merged[key].(map[string]any)
		if isTable && onTable {
			value = laidOver(below, above)
		}
		merged[key] = value
	}
	return merged
}
