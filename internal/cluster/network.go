package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// Limits of waiting for the cluster; a slow machine needs a tenth of them.
const (
	poll         = 250 * time.Millisecond
	podCIDRLimit = 2 * time.Minute
	readyLimit   = 3 * time.Minute
)

// PodNetwork makes the pod network of the scenario's CNI "ptp": a veth pair a
// pod on each node and a route to every other node's pods. It adds no
// masquerade, so that what evidence shows of addresses is the data plane's.
func (c *Cluster) PodNetwork(ctx context.Context) error {
	nodes, err := c.waitForNodes(ctx, podCIDRLimit, "a pod CIDR", func(n corev1.Node) bool {
		return n.Spec.PodCIDR != "" && internalIP(n).IsValid()
	})
	if err != nil {
		return err
	}
	for _, node := range c.Nodes {
		cidr := nodes[node.Name].Spec.PodCIDR
		if err := nodeutils.WriteFile(node.kind, "/etc/cni/net.d/10-ptp.conflist", conflist(cidr)); err != nil {
			return fmt.Errorf("write the CNI configuration of %s: %w", node.Name, err)
		}
		var routes strings.Builder
		for _, other := range c.Nodes {
			if other.Name != node.Name {
				fmt.Fprintf(&routes, "route replace %s via %s\n", nodes[other.Name].Spec.PodCIDR, internalIP(nodes[other.Name]))
			}
		}
		if err := node.kind.CommandContext(ctx, "ip", "-batch", "-").SetStdin(strings.NewReader(routes.String())).Run(); err != nil {
			return fmt.Errorf("set the pod routes of %s: %w", node.Name, err)
		}
	}
	return nil
}

// conflist is the CNI configuration of one node.
func conflist(podCIDR string) string {
	config, _ := json.MarshalIndent(map[string]any{
		"cniVersion": "0.3.1",
		"name":       "service-dataplane",
		"plugins": []any{
			map[string]any{
				"type":   "ptp",
				"ipMasq": false,
				"ipam": map[string]any{
					"type":    "host-local",
					"dataDir": "/run/cni-ipam-state",
					"ranges":  []any{[]any{map[string]any{"subnet": podCIDR}}},
					"routes":  []any{map[string]any{"dst": "0.0.0.0/0"}},
				},
			},
			map[string]any{"type": "portmap", "capabilities": map[string]any{"portMappings": true}},
		},
	}, "", "  ")
	return string(config) + "\n"
}

// WaitReady waits until every node is Ready and cluster DNS answers.
func (c *Cluster) WaitReady(ctx context.Context) error {
	_, err := c.waitForNodes(ctx, readyLimit, "Ready", func(n corev1.Node) bool {
		for _, condition := range n.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == corev1.ConditionTrue
			}
		}
		return false
	})
	if err != nil {
		return err
	}
	return c.WaitDeployment(ctx, "kube-system", "coredns")
}

// WaitDeployment waits until all replicas of a Deployment are ready.
func (c *Cluster) WaitDeployment(ctx context.Context, namespace, name string) error {
	var last string
	err := wait.PollUntilContextTimeout(ctx, poll, readyLimit, true, func(ctx context.Context) (bool, error) {
		d, err := c.API.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			last = err.Error()
			return false, nil
		}
		last = fmt.Sprintf("%d of %d replicas ready", d.Status.ReadyReplicas, *d.Spec.Replicas)
		c.show.Detail("%s: %s", name, last)
		return d.Status.ObservedGeneration >= d.Generation &&
			d.Status.ReadyReplicas == *d.Spec.Replicas && d.Status.UpdatedReplicas == *d.Spec.Replicas, nil
	})
	if err != nil {
		return fmt.Errorf("deployment %s/%s: %s: %w", namespace, name, last, c.Why(ctx, namespace, err))
	}
	return nil
}

// Why adds to an error what the cluster's events say about it.
func (c *Cluster) Why(ctx context.Context, namespace string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	events, listErr := c.API.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	if listErr != nil {
		return err
	}
	for _, e := range events.Items {
		err = fmt.Errorf("%w\n  %s %s: %s: %s", err, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	}
	return err
}

// waitForNodes waits until every node of the cluster fulfils a condition.
func (c *Cluster) waitForNodes(ctx context.Context, limit time.Duration, what string, fulfilled func(corev1.Node) bool) (map[string]corev1.Node, error) {
	found := map[string]corev1.Node{}
	var last string
	err := wait.PollUntilContextTimeout(ctx, poll, limit, true, func(ctx context.Context) (bool, error) {
		list, err := c.API.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			last = err.Error()
			return false, nil
		}
		clear(found)
		for _, n := range list.Items {
			if fulfilled(n) {
				found[n.Name] = n
			}
		}
		last = fmt.Sprintf("%d of %d nodes have it", len(found), len(c.Nodes))
		c.show.Detail("%s: %s", what, last)
		return len(found) == len(c.Nodes), nil
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for %s on all nodes: %s: %w", what, last, c.Why(ctx, "default", err))
	}
	return found, nil
}

// NodeAddress returns the address of a node in the engine's network.
func (c *Cluster) NodeAddress(ctx context.Context, role string) (netip.Addr, error) {
	node, err := c.Node(role)
	if err != nil {
		return netip.Addr{}, err
	}
	object, err := c.API.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		return netip.Addr{}, err
	}
	if address := internalIP(*object); address.IsValid() {
		return address, nil
	}
	return netip.Addr{}, fmt.Errorf("node %s has no internal address", node.Name)
}

func internalIP(n corev1.Node) netip.Addr {
	for _, a := range n.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); a.Type == corev1.NodeInternalIP && err == nil {
			return ip
		}
	}
	return netip.Addr{}
}
