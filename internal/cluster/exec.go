package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"service-dataplane/internal/command"
)

// Output is what a command on a node gave back.
type Output struct {
	Stdout []byte
	Stderr []byte
	// ExitCode is -1 where the command did not run to its end.
	ExitCode int
}

// Run runs a command on the node. The error says why it did not run to its
// end; a command that ran and failed has an exit code and no error.
func (n Node) Run(ctx context.Context, argv ...string) (Output, error) {
	var stdout, stderr bytes.Buffer
	err := command.Run(ctx, command.Command{
		Argv:   append([]string{"docker", "exec", n.Name}, argv...),
		Stdout: &stdout,
		Stderr: &stderr,
	})
	out := Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if err == nil {
		return out, nil
	}
	out.ExitCode = command.ExitCode(err)
	if out.ExitCode > 0 && ctx.Err() == nil {
		return out, nil
	}
	out.ExitCode = -1
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return out, err
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
