package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tailLines of a log are enough to see why a container does not get further.
const tailLines = int64(8)

// LogTail returns, as an error to add to another, what is known of the
// containers of selector's pods that are not ready: why they wait, and the last
// lines they logged. It is nil where none is known to be unready.
func (c *Cluster) LogTail(ctx context.Context, namespace, selector string) error {
	pods, err := c.API.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return err
	}
	var all []error
	for _, pod := range pods.Items {
		statuses := append(append([]corev1.ContainerStatus(nil), pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
		for _, status := range statuses {
			if status.Ready || status.State.Terminated != nil && status.State.Terminated.ExitCode == 0 {
				continue
			}
			text := fmt.Sprintf("pod %s on %s, container %s: %s", pod.Name, pod.Spec.NodeName, status.Name, stateOf(status.State))
			lines := tailLines
			log, err := c.API.CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: status.Name, TailLines: &lines}).DoRaw(ctx)
			if err == nil && len(log) > 0 {
				text += "\n    " + strings.ReplaceAll(strings.TrimSpace(string(log)), "\n", "\n    ")
			}
			all = append(all, errors.New(text))
		}
	}
	return errors.Join(all...)
}

func stateOf(state corev1.ContainerState) string {
	switch {
	case state.Waiting != nil:
		return strings.TrimSpace("waiting, " + state.Waiting.Reason + " " + state.Waiting.Message)
	case state.Terminated != nil:
		return strings.TrimSpace(fmt.Sprintf("ended with exit code %d, %s %s", state.Terminated.ExitCode, state.Terminated.Reason, state.Terminated.Message))
	}
	return "running, not ready"
}
