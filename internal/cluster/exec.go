package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"service-dataplane/internal/command"
	"service-dataplane/pkg/collect"
)

// Run runs a command on the node for its answer, whatever its exit code.
func (n Node) Run(ctx context.Context, argv []string) (command.Captured, error) {
	return command.Capture(ctx, append([]string{"docker", "exec", n.Name}, argv...)...)
}

// RunAll runs commands one after another in one session on the node.
func (n Node) RunAll(ctx context.Context, commands []collect.Command) ([]command.Answer, error) {
	timed := make([]command.Timed, len(commands))
	for i, c := range commands {
		timed[i] = command.Timed{Argv: c.Argv, Limit: c.Limit()}
	}
	return command.Session(ctx, []string{"docker", "exec", "--interactive", n.Name, "bash"}, timed)
}

// LoadImage imports an image archive into the container runtime of the nodes
// with the given roles.
func (c *Cluster) LoadImage(ctx context.Context, open func() (io.ReadCloser, error), roles ...string) error {
	failed := make(chan error, len(roles))
	for _, role := range roles {
		go func() {
			failed <- func() error {
				node, err := c.Node(role)
				if err != nil {
					return err
				}
				archive, err := open()
				if err != nil {
					return err
				}
				defer archive.Close()
				if err := nodeutils.LoadImageArchive(node.kind, archive); err != nil {
					return fmt.Errorf("load image into %s: %w", node.Name, err)
				}
				return nil
			}()
		}()
	}
	var err error
	for range roles {
		err = errors.Join(err, <-failed)
	}
	return err
}
