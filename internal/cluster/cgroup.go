package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"

	"service-dataplane/internal/command"
)

// CgroupRoots returns the cgroup2 path of each node's first process by the
// node's role, as this host sees it.
func (c *Cluster) CgroupRoots(ctx context.Context) (map[string]string, error) {
	roots := map[string]string{}
	for _, node := range c.Nodes {
		pid, err := command.Output(ctx, "docker", "inspect", "--format", "{{.State.Pid}}", node.Name)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile("/proc/" + pid + "/cgroup")
		if err != nil {
			return nil, fmt.Errorf("node %s: %w (is the engine on another machine?)", node.Role, err)
		}
		root, ok := unified(string(text))
		if !ok {
			return nil, fmt.Errorf("node %s: /proc/%s/cgroup names no cgroup2 path", node.Role, pid)
		}
		roots[node.Role] = root
	}
	return roots, nil
}

// unified returns the path of the line "0::PATH" of a /proc/PID/cgroup
// (cgroups(7)): the process's place in the cgroup2 tree.
func unified(text string) (string, bool) {
	for line := range strings.Lines(text) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSpace(path), true
		}
	}
	return "", false
}

// SharedCgroups names nodes whose cgroup2 root lies in another's or is the
// host's own: a program attached to it would act on both.
func SharedCgroups(roots map[string]string) error {
	// systemd puts a node's processes into children of the container's cgroup.
	within := func(a, b string) bool { return a == b || strings.HasPrefix(a, strings.TrimSuffix(b, "/")+"/") }
	for a, rootA := range roots {
		if rootA == "/" {
			return fmt.Errorf("node %s has the host's own cgroup2 root", a)
		}
		for b, rootB := range roots {
			if a < b && (within(rootA, rootB) || within(rootB, rootA)) {
				return fmt.Errorf("nodes %s and %s share the cgroup2 root %s", a, b, rootA)
			}
		}
	}
	return nil
}
