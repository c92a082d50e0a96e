package probe

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"service-dataplane/internal/capture"
	"service-dataplane/internal/cluster"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// attemptLimit bounds one connection; the probe of an entry point gets that
// much for each and some time to start.
const attemptLimit = 5 * time.Second

// Place is where an entry point's connections are made from.
type Place struct {
	Run capture.Runner
	// Echo is the workload's binary there.
	Echo string
}

// Run probes the entry points one after another: connections of two would
// share whatever state a data plane keeps between connections.
func Run(ctx context.Context, recorder *capture.Recorder, places map[string]Place, x spec.Experiment, targets Targets) error {
	for _, point := range x.Spec.EntryPoints {
		target, err := targets.of(point, x.Spec.Workload)
		if err != nil {
			return err
		}
		place := places[point.From]
		err = recorder.Run(ctx, point.From, capture.OneByOne(place.Run), collect.Command{
			File: point.Name + ".jsonl",
			Argv: []string{place.Echo, "dial",
				"--entry", point.Name,
				"--target", target,
				"--count", fmt.Sprint(x.Spec.Connections),
				"--timeout", attemptLimit.String()},
			Timeout: time.Duration(x.Spec.Connections)*attemptLimit + 30*time.Second,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Targets are the addresses of a cluster that entry points dial.
type Targets struct {
	ClusterIP string
	NodeIP    map[string]string // by role
}

// FindTargets asks the API for the addresses.
func FindTargets(ctx context.Context, c *cluster.Cluster, workload spec.Workload) (Targets, error) {
	service, err := c.API.CoreV1().Services(workload.Namespace).Get(ctx, workload.Service, metav1.GetOptions{})
	if err != nil {
		return Targets{}, err
	}
	targets := Targets{ClusterIP: service.Spec.ClusterIP, NodeIP: map[string]string{}}
	for _, node := range c.Nodes {
		object, err := c.API.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return Targets{}, err
		}
		for _, address := range object.Status.Addresses {
			if address.Type == corev1.NodeInternalIP && targets.NodeIP[node.Role] == "" {
				targets.NodeIP[node.Role] = address.Address
			}
		}
	}
	return targets, nil
}

func (t Targets) of(point spec.EntryPoint, workload spec.Workload) (string, error) {
	switch point.To {
	case spec.ToServiceName:
		return fmt.Sprintf("%s:%d", workload.Service, workload.ClusterPort), nil
	case spec.ToClusterIP:
		if ip, err := netip.ParseAddr(t.ClusterIP); err == nil { // a headless Service has none
			return fmt.Sprintf("%s:%d", ip, workload.ClusterPort), nil
		}
	case spec.ToNodePort:
		if ip := t.NodeIP[point.Node]; ip != "" {
			return fmt.Sprintf("%s:%d", ip, workload.NodePort), nil
		}
	}
	return "", fmt.Errorf("entry point %s: the cluster has no address for %s %s", point.Name, point.To, point.Node)
}
