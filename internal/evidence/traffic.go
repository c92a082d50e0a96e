package evidence

import (
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// traffic has an entry for each entry point whose file could be read.
func (s *source) traffic(experiment spec.ExperimentSpec) []collect.EntryPoint {
	points := []collect.EntryPoint{}
	for _, p := range experiment.EntryPoints {
		file := TrafficFile(p)
		raw, ok := s.captured(file)
		if !ok {
			continue
		}
		attempts, err := traffic.Parse(raw)
		if err != nil {
			s.problem(file, "%v", err)
			continue
		}
		points = append(points, collect.EntryPoint{
			Name: p.Name, From: p.From, To: p.To, Node: p.Node,
			Sent: experiment.Connections, Attempts: attempts, File: file,
		})
	}
	return points
}
