package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/log"

	"service-dataplane/internal/command"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
)

// Prefix begins the name of every cluster of this project.
const Prefix = "service-dataplane-"

// deletion bounds taking a cluster away. It starts when the work is over or
// was interrupted, so it has a time of its own.
const deletion = 2 * time.Minute

// Options say which cluster to make.
type Options struct {
	Scenario spec.Scenario
	// Image is the node image as the engine knows it.
	Image string
	// WorkDir holds the kubeconfig; it exists.
	WorkDir string
	// CgroupV1 is set where the host has cgroup v1, which kubelet 1.35 refuses
	// unless told otherwise.
	CgroupV1 bool
}

// Cluster is a running kind cluster.
type Cluster struct {
	Name       string
	Kubeconfig string
	// Nodes in the order of spec.Roles, once the cluster is created.
	Nodes []Node
	// API and REST reach the API server, once the cluster is created.
	API  kubernetes.Interface
	REST *rest.Config

	options  Options
	provider *cluster.Provider
	show     *progress.Reporter
}

// Node is a container that is a node of the cluster.
type Node struct {
	// Role is the name without the cluster's: control-plane, worker, worker2.
	Role string
	// Name of the container and of the Node object.
	Name string

	kind nodes.Node
}

// New returns a cluster that is not created yet.
func New(options Options, show *progress.Reporter) *Cluster {
	name := Prefix + options.Scenario.Metadata.Name
	return &Cluster{
		Name:       name,
		Kubeconfig: filepath.Join(options.WorkDir, name+".kubeconfig"),
		options:    options,
		provider:   newProvider(show),
		show:       show,
	}
}

func newProvider(show *progress.Reporter) *cluster.Provider {
	return cluster.NewProvider(cluster.ProviderWithDocker(), cluster.ProviderWithLogger(logger{show}))
}

// Free makes sure that the name is nobody's: what has it is not this run's to
// take away, least of all after a failure.
func (c *Cluster) Free(ctx context.Context) error {
	left, err := containers(ctx, c.Name)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("nodes of an earlier run are in the way (%s): runner clean", strings.Join(left, ", "))
	}
	return err
}

// Create makes the cluster, whose name is free. When ctx ends meanwhile, the
// containers are taken away under kind, which cannot be interrupted itself;
// Create returns when kind has noticed.
func (c *Cluster) Create(ctx context.Context) error {
	config, err := c.kindConfig()
	if err != nil {
		return err
	}
	created := make(chan error, 1)
	go func() {
		created <- c.provider.Create(c.Name,
			cluster.CreateWithRawConfig(config),
			cluster.CreateWithNodeImage(c.options.Image),
			cluster.CreateWithKubeconfigPath(c.Kubeconfig),
			cluster.CreateWithRetain(true), // logs are collected before it goes
			cluster.CreateWithDisplayUsage(false),
			cluster.CreateWithDisplaySalutation(false),
		)
	}()
	select {
	case err = <-created:
	case <-ctx.Done():
		// kind starts further containers until one of its commands fails.
		for done := false; !done; {
			removeContainers(context.WithoutCancel(ctx), c.Name)
			select {
			case <-created:
				done = true
			case <-time.After(time.Second):
			}
		}
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("kind: %w", err)
	}
	return c.connect()
}

func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	// The run's own steps wait on objects; client-go's default of 5 requests
	// a second would be most of their time.
	config.QPS, config.Burst = 100, 200
	if c.API, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	c.REST = config
	found, err := c.provider.ListInternalNodes(c.Name)
	if err != nil {
		return err
	}
	for _, role := range spec.Roles {
		i := slices.IndexFunc(found, func(n nodes.Node) bool { return n.String() == c.Name+"-"+role })
		if i < 0 {
			return fmt.Errorf("kind made no node %s-%s", c.Name, role)
		}
		c.Nodes = append(c.Nodes, Node{Role: role, Name: found[i].String(), kind: found[i]})
	}
	return nil
}

// Node returns the node of a role.
func (c *Cluster) Node(role string) (Node, error) {
	for _, n := range c.Nodes {
		if n.Role == role {
			return n, nil
		}
	}
	return Node{}, fmt.Errorf("cluster %s has no node %s", c.Name, role)
}

// ExportLogs collects the logs of all nodes into dir, for a failed run.
func (c *Cluster) ExportLogs(dir string) error {
	return c.provider.CollectLogs(c.Name, dir)
}

// Delete takes the cluster away, whatever state it is in, and makes sure that
// nothing is left. It works after ctx has ended.
func (c *Cluster) Delete(ctx context.Context) error {
	return remove(ctx, c.provider, c.Name, c.Kubeconfig)
}

// Clean deletes every cluster of this project and returns their names.
func Clean(ctx context.Context, workDir string, show *progress.Reporter) ([]string, error) {
	provider := newProvider(show)
	names, err := provider.List()
	if err != nil {
		return nil, err
	}
	var cleaned []string
	var failed []error
	for _, name := range names {
		if strings.HasPrefix(name, Prefix) {
			err := remove(ctx, provider, name, filepath.Join(workDir, name+".kubeconfig"))
			cleaned, failed = append(cleaned, name), append(failed, err)
		}
	}
	return cleaned, errors.Join(failed...)
}

func remove(ctx context.Context, provider *cluster.Provider, name, kubeconfig string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deletion)
	defer cancel()
	deleteErr := provider.Delete(name, kubeconfig)
	left, err := containers(ctx, name)
	if err == nil && len(left) > 0 {
		removeContainers(ctx, name)
		left, err = containers(ctx, name)
	}
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("cluster %s is still there: %s: %w", name, strings.Join(left, ", "), deleteErr)
	}
	if removeErr := os.Remove(kubeconfig); !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}

// containers lists the node containers of a cluster, running or not.
func containers(ctx context.Context, name string) ([]string, error) {
	out, err := command.Output(ctx, "docker", "ps", "--all", "--quiet", "--filter", "label=io.x-k8s.kind.cluster="+name)
	return strings.Fields(out), err
}

// removeContainers removes what there is now; its caller looks again.
func removeContainers(ctx context.Context, name string) {
	if left, err := containers(ctx, name); err == nil && len(left) > 0 {
		_, _ = command.Output(ctx, append([]string{"docker", "rm", "--force", "--volumes"}, left...)...)
	}
}

// logger shows kind's own progress as the detail of the running step.
type logger struct{ show *progress.Reporter }

func (l logger) Warn(message string)               { l.show.Detail("%s", oneLine(message)) }
func (l logger) Warnf(format string, args ...any)  { l.Warn(fmt.Sprintf(format, args...)) }
func (l logger) Error(message string)              { l.Warn(message) }
func (l logger) Errorf(format string, args ...any) { l.Warnf(format, args...) }
func (l logger) Info(message string)               { l.Warn(message) }
func (l logger) Infof(format string, args ...any)  { l.Warnf(format, args...) }
func (l logger) Enabled() bool                     { return true }
func (l logger) V(level log.Level) log.InfoLogger {
	if level > 0 {
		return log.NoopInfoLogger{}
	}
	return l
}

// oneLine takes kind's marks and pictures out of a message, and its line ends.
func oneLine(message string) string {
	return strings.Join(strings.FieldsFunc(message, func(r rune) bool { return r > 0x2000 || r <= ' ' }), " ")
}
