package probe

import (
	"bytes"
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"service-dataplane/internal/capture"
	"service-dataplane/internal/cluster"
	"service-dataplane/internal/command"
)

// InPod returns a runner in the only container of a pod.
func InPod(c *cluster.Cluster, namespace, pod string) capture.Runner {
	return func(ctx context.Context, argv []string) (command.Captured, error) {
		request := c.API.CoreV1().RESTClient().Post().
			Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
			VersionedParams(&corev1.PodExecOptions{Command: argv, Stdout: true, Stderr: true}, scheme.ParameterCodec)
		executor, err := remotecommand.NewSPDYExecutor(c.REST, "POST", request.URL())
		if err != nil {
			return command.Captured{}, err
		}
		var stdout, stderr bytes.Buffer
		err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr})
		out := command.Captured{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
		if exit := (exec.CodeExitError{}); errors.As(err, &exit) {
			out.ExitCode, err = exit.Code, nil
		}
		return out, err
	}
}

// OnHost returns a runner on this machine that runs program whatever name the
// command gives it: records hold no path of the machine they were made on.
func OnHost(program string) capture.Runner {
	return func(ctx context.Context, argv []string) (command.Captured, error) {
		return command.Capture(ctx, append([]string{program}, argv[1:]...)...)
	}
}
