// Command kubernetes is every Kubernetes component of a node image, and etcd,
// in one binary: the name it is called by picks the component. One binary
// links once, is stored once in a layer that all component images share, and
// its pages are shared by the processes of a node.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // time zones of CronJobs

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl credential plugins
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build_info metric
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kubecontrollermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// components maps a name to what its own main package runs. A function here
// returns the exit code, or does not return.
var components = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kubeadm":                 runKubeadm,
	"kubectl":                 runKubectl,
	"kubelet":                 cobraMain(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kube-apiserver":          cobraMain(kubeapiserver.NewAPIServerCommand),
	"kube-controller-manager": cobraMain(kubecontrollermanager.NewControllerManagerCommand),
	"kube-proxy":              cobraMain(kubeproxy.NewProxyCommand),
	"kube-scheduler":          cobraMain(func() *cobra.Command { return kubescheduler.NewSchedulerCommand() }),
}

func main() {
	name := filepath.Base(os.Args[0])
	run, ok := components[name]
	if !ok {
		names := make([]string, 0, len(components))
		for n := range components {
			names = append(names, n)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "%s: not a component; call this binary by one of: %s\n", name, strings.Join(names, " "))
		os.Exit(2)
	}
	os.Exit(run())
}

func cobraMain(command func() *cobra.Command) func() int {
	return func() int { return cli.Run(command()) }
}

func runKubeadm() int {
	kubeadmerrors.HandleError(kubeadm.Run())
	return 0
}

func runKubectl() int {
	command := kubectl.NewDefaultKubectlCommand()
	if err := cli.RunNoErrOutput(command); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}
