package workload

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/helm"
	"service-dataplane/internal/spec"
)

// The release's name; there is one of it in a cluster.
const release = "echo"

// Limits of waiting for the workload.
const (
	readyLimit = 2 * time.Minute
	poll       = 200 * time.Millisecond
)

// Install installs the experiment's chart with Helm. It does not wait.
func Install(ctx context.Context, c *cluster.Cluster, repo string, workload spec.Workload, image Image) error {
	client, err := c.Node(workload.ClientNode)
	if err != nil {
		return err
	}
	chart, err := loader.Load(filepath.Join(repo, workload.Chart))
	if err != nil {
		return err
	}
	return helm.Install(ctx, c.Kubeconfig, helm.Release{
		Name: release, Namespace: workload.Namespace, Chart: chart, Values: values(workload, image, client.Name),
	})
}

// values are what an experiment sets of its chart.
func values(workload spec.Workload, image Image, clientNode string) map[string]any {
	repository, tag, _ := strings.Cut(image.Reference, ":")
	return map[string]any{
		"image":   map[string]any{"repository": repository, "tag": tag},
		"server":  map[string]any{"replicas": len(workload.BackendNodes)},
		"service": map[string]any{"nodePort": workload.NodePort},
		"client":  map[string]any{"node": clientNode},
	}
}

// WaitReady waits until both sides of a connection are there: the client pod,
// every replica, and the EndpointSlice that data planes read. What programs
// the kernel from it is waited for by the probe's first answers, not here.
func WaitReady(ctx context.Context, c *cluster.Cluster, workload spec.Workload) error {
	if err := c.WaitDeployment(ctx, workload.Namespace, workload.Service); err != nil {
		return err
	}
	missing := ""
	err := wait.PollUntilContextTimeout(ctx, poll, readyLimit, true, func(ctx context.Context) (bool, error) {
		pod, err := c.API.CoreV1().Pods(workload.Namespace).Get(ctx, workload.Client, metav1.GetOptions{})
		if err != nil || !podReady(pod) {
			missing = "the client pod is not ready"
			return false, nil
		}
		found, err := c.API.DiscoveryV1().EndpointSlices(workload.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: discoveryv1.LabelServiceName + "=" + workload.Service,
		})
		if err != nil {
			missing = err.Error()
			return false, nil
		}
		ready := readyEndpoints(found.Items)
		missing = fmt.Sprintf("%d of %d endpoints ready", ready, len(workload.BackendNodes))
		return ready == len(workload.BackendNodes), nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", missing, err)
	}
	return nil
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func readyEndpoints(items []discoveryv1.EndpointSlice) int {
	ready := 0
	for _, slice := range items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				ready += len(endpoint.Addresses)
			}
		}
	}
	return ready
}
