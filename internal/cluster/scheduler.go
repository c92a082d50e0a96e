package cluster

import (
	"context"
	"fmt"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	proxyName    = "kube-proxy"
	proxyConfig  = "config.conf"
	restartLimit = 2 * time.Minute
)

// Reschedule gives kube-proxy another IPVS scheduler and restarts it on every
// node. Of what was, conntrack forgets all, and IPVS what it can: a kernel since
// 5.9 drops the connections of real servers that go, as kube-proxy sets it.
func (c *Cluster) Reschedule(ctx context.Context, scheduler string) error {
	maps := c.API.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	config, err := maps.Get(ctx, proxyName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if config.Data[proxyConfig], err = withScheduler(config.Data[proxyConfig], scheduler); err != nil {
		return err
	}
	if _, err := maps.Update(ctx, config, metav1.UpdateOptions{}); err != nil {
		return err
	}
	for _, node := range c.Nodes {
		// Images of kind have no ipvsadm; there connections go with time.
		forget := "conntrack --flush && if command -v ipvsadm; then ipvsadm --clear; fi"
		out, err := node.Run(ctx, []string{"bash", "-c", forget})
		if err == nil && out.ExitCode != 0 {
			err = fmt.Errorf("%s: %s", forget, out.Stderr)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", node.Role, err)
		}
	}
	return c.restartProxies(ctx)
}

// schedulerLine is the line of kube-proxy's configuration as kubeadm writes it.
var schedulerLine = regexp.MustCompile(`(?m)^(ipvs:\n(?:  .*\n)*?  scheduler:) .*$`)

// withScheduler changes that line and no other.
func withScheduler(config, scheduler string) (string, error) {
	if !schedulerLine.MatchString(config) {
		return "", fmt.Errorf("the ConfigMap %s has no line ipvs.scheduler in its %s", proxyName, proxyConfig)
	}
	return schedulerLine.ReplaceAllString(config, "${1} "+scheduler), nil
}

// restartProxies deletes the pods of kube-proxy and waits for others in their
// place. A rolling update would do one node after another.
func (c *Cluster) restartProxies(ctx context.Context) error {
	pods := c.API.CoreV1().Pods(metav1.NamespaceSystem)
	selector := metav1.ListOptions{LabelSelector: "k8s-app=" + proxyName}
	before, err := pods.List(ctx, selector)
	if err != nil {
		return err
	}
	old := sets.New[types.UID]()
	for _, pod := range before.Items {
		old.Insert(pod.UID)
		if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	ready := 0
	err = wait.PollUntilContextTimeout(ctx, poll, restartLimit, false, func(ctx context.Context) (bool, error) {
		now, err := pods.List(ctx, selector)
		if err != nil {
			return false, nil // the API server may be slow; the limit holds
		}
		ready = 0
		for _, pod := range now.Items {
			if old.Has(pod.UID) {
				return false, nil
			}
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		return ready == len(c.Nodes), nil
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return fmt.Errorf("%d of %d kube-proxies are ready again after %v: %w", ready, len(c.Nodes), restartLimit, err)
	}
	return nil
}
