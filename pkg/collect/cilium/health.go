package cilium

import (
	"fmt"
	"slices"
)

// Health is which nodes the health probes of one node reach, its own node among
// them. A node is probed by ICMP and HTTP, at its addresses and at those of a
// test endpoint on it.
type Health struct {
	// Reachable and Total are the "3/3 reachable" of the text output. Both are 0
	// until the first probe, and a failure of that one stays until the next, some
	// two minutes later.
	Reachable, Total int
	// Unreachable are the names of the nodes with a failed probe, sorted.
	Unreachable []string
	// Unproven are the nodes that count as reachable without an answer to each
	// probe: some were not made yet, or there was no address to probe. Sorted.
	Unproven []string
}

// healthStatus is the part of api/v1/health/models/health_status_response.go that
// counts.
type healthStatus struct {
	Nodes []*struct {
		Name           string       `json:"name"`
		Host           *healthPaths `json:"host"`
		HealthEndpoint *healthPaths `json:"health-endpoint"`
	} `json:"nodes"`
}

type healthPaths struct {
	PrimaryAddress     *healthPath   `json:"primary-address"`
	SecondaryAddresses []*healthPath `json:"secondary-addresses"`
}

type healthPath struct {
	Icmp *healthProbe `json:"icmp"`
	HTTP *healthProbe `json:"http"`
}

// healthProbe is a probe that was made; its status is empty if it succeeded.
type healthProbe struct {
	Status string `json:"status"`
}

// DecodeHealth reads the output of `cilium-health status -o json` and counts as
// Cilium 1.20.2 does for the text (pkg/health/client, nodeIsHealthy): a node is
// reachable while no probe of it failed. An error means that the file is not such
// an answer.
func DecodeHealth(raw []byte) (Health, error) {
	r := newReader(HealthFile, raw)
	if r.err != nil {
		return Health{}, r.err
	}
	var status healthStatus
	if r.keep(r.root.Decode(&status)); r.err != nil {
		return Health{}, r.err
	}
	var health Health
	for i, node := range status.Nodes {
		if node == nil || node.Name == "" {
			return Health{}, fmt.Errorf("%s: node %d of the list has no name", HealthFile, i+1)
		}
		host, endpoint := node.Host.probe(), node.HealthEndpoint.probe()
		health.Total++
		if host.failed || endpoint.failed {
			health.Unreachable = append(health.Unreachable, node.Name)
			continue
		}
		health.Reachable++
		if !host.proven || !endpoint.proven {
			health.Unproven = append(health.Unproven, node.Name)
		}
	}
	slices.Sort(health.Unreachable)
	slices.Sort(health.Unproven)
	return health, nil
}

type probeResult struct {
	// failed: a probe of some address did, or the primary address is missing.
	failed bool
	// proven: each probe of each address was answered.
	proven bool
}

func (p *healthPaths) probe() probeResult {
	if p == nil {
		return probeResult{}
	}
	result := probeResult{proven: true}
	for _, path := range append([]*healthPath{p.PrimaryAddress}, p.SecondaryAddresses...) {
		if path == nil {
			return probeResult{failed: true}
		}
		for _, probe := range []*healthProbe{path.Icmp, path.HTTP} {
			if probe == nil {
				result.proven = false
			} else if probe.Status != "" {
				result.failed = true
			}
		}
	}
	return result
}
