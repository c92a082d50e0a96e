package dataplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/progress"
	"service-dataplane/pkg/collect/cilium"
)

// Limits of waiting for the agents: on a slow machine each compiles its BPF
// programs for minutes. Asking an agent costs a second of what it compiles
// with, so it is asked seldom, and not before its pod is ready.
const (
	agentsLimit = 6 * time.Minute
	podPoll     = time.Second
	agentPoll   = 4 * time.Second
	answerLimit = 30 * time.Second
)

// agentLabel selects the pods of Cilium's agents.
const agentLabel = "k8s-app=cilium"

// Wait implements Plane: until the agent of every node says that it is well and
// that it reaches every node. That its DaemonSet is ready says neither: programs are
// compiled later, and an agent that reaches nobody is as ready as another.
func (Cilium) Wait(ctx context.Context, c *cluster.Cluster, show *progress.Reporter) error {
	limited, cancel := context.WithTimeout(ctx, agentsLimit)
	defer cancel()
	var waiting error
	// What is asked may take longer than is left of the wait: its answer is the
	// reason that is told.
	ask := func(question func(context.Context) error) bool {
		answer, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		if waiting = question(answer); waiting != nil {
			show.Detail("%s", firstLine(waiting.Error()))
		}
		return waiting == nil
	}
	err := wait.PollUntilContextCancel(limited, podPoll, true, func(context.Context) (bool, error) {
		return ask(func(ctx context.Context) error { return podsReady(ctx, c) }), nil
	})
	for _, node := range c.Nodes {
		if err != nil {
			break
		}
		err = wait.PollUntilContextCancel(limited, agentPoll, true, func(context.Context) (bool, error) {
			return ask(func(ctx context.Context) error {
				if why := agentWell(ctx, node, len(c.Nodes)); why != nil {
					return fmt.Errorf("%s: %w", node.Role, why)
				}
				return nil
			}), nil
		})
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		err = fmt.Errorf("Cilium is not well after %v: %w", agentsLimit, errors.Join(waiting, c.LogTail(ctx, Namespace, agentLabel)))
		return c.Why(ctx, Namespace, err)
	}
	return nil
}

// podsReady says what keeps the agents' pods from being ready.
func podsReady(ctx context.Context, c *cluster.Cluster) error {
	pods, err := c.API.CoreV1().Pods(Namespace).List(ctx, metav1.ListOptions{LabelSelector: agentLabel})
	if err != nil {
		return err
	}
	ready := 0
	for _, pod := range pods.Items {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready < len(c.Nodes) {
		return fmt.Errorf("%d of %d agents are ready", ready, len(c.Nodes))
	}
	return nil
}

// agentWell says what keeps a node's agent from being well, nil if nothing does.
func agentWell(ctx context.Context, node cluster.Node, nodes int) error {
	container, err := AgentContainer(ctx, node, CiliumAgent)
	if err != nil {
		return err
	}
	output := func(argv ...string) ([]byte, error) {
		out, err := node.Run(ctx, append([]string{"crictl", "exec", container}, argv...))
		if err == nil && out.ExitCode != 0 {
			err = fmt.Errorf("%s: exit code %d: %s", strings.Join(argv, " "), out.ExitCode, firstLine(string(out.Stderr)))
		}
		return out.Stdout, err
	}
	raw, err := output("cilium-dbg", "status", "-o", "json")
	if err != nil {
		return err
	}
	status, err := cilium.DecodeStatus(raw)
	if err != nil {
		return err
	}
	if status.State != "Ok" || status.KubernetesState != "Ok" {
		return fmt.Errorf("the agent's state is %s (%s), its connection to the API server %s", status.State, status.Message, status.KubernetesState)
	}
	// What the last round found: there is no way to ask for one.
	if raw, err = output("cilium-health", "status", "-o", "json"); err != nil {
		return err
	}
	health, err := cilium.DecodeHealth(raw)
	if err != nil {
		return err
	}
	switch {
	case health.Total != nodes:
		return fmt.Errorf("the agent knows %d of %d nodes", health.Total, nodes)
	case len(health.Unreachable) > 0:
		return fmt.Errorf("the agent does not reach %s", strings.Join(health.Unreachable, ", "))
	case len(health.Unproven) > 0:
		return fmt.Errorf("the agent has not probed %s yet", strings.Join(health.Unproven, ", "))
	}
	return nil
}

// The containers that run on every node.
const (
	CiliumAgent = "cilium-agent"
	CalicoAgent = "calico-node"
)

// AgentContainer returns the ID of the running agent's container on a node.
func AgentContainer(ctx context.Context, node cluster.Node, name string) (string, error) {
	out, err := node.Run(ctx, []string{"crictl", "ps", "--name", "^" + name + "$", "--state", "running", "--quiet"})
	if err != nil {
		return "", err
	}
	if ids := strings.Fields(string(out.Stdout)); len(ids) == 1 {
		return ids[0], nil
	}
	return "", fmt.Errorf("no %s is running yet", name)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
