package dataplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/helm"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect/calico"
)

// Namespaces of the Tigera operator and of what it installs.
const (
	OperatorNamespace = "tigera-operator"
	CalicoNamespace   = "calico-system"
)

// The API objects that tell how an installation of Calico stands.
const (
	TigeraStatusPath = "/apis/operator.tigera.io/v1/tigerastatuses"
	InstallationPath = "/apis/operator.tigera.io/v1/installations/default"
	FelixPath        = "/apis/crd.projectcalico.org/v1/felixconfigurations/default"
)

// Limits of waiting for the operator.
const (
	calicoLimit = 6 * time.Minute
	calicoPoll  = time.Second
	// degradedFor is how long the operator has to say the same of a component
	// before that counts: it says of most that something is missing yet.
	degradedFor = 15 * time.Second
)

// Calico installs Calico by the Tigera operator.
type Calico struct {
	Spec spec.Calico
	Prepared
}

// Install implements Plane. The chart has the definitions of all objects, the
// operator and the Installation; Helm creates definitions, which are too large
// to be applied.
func (c Calico) Install(ctx context.Context, to *cluster.Cluster) (Installed, error) {
	values, err := asRead(c.values())
	if err != nil {
		return Installed{}, err
	}
	release := helm.Release{Name: "calico", Namespace: OperatorNamespace, Chart: c.Chart.Chart, Values: values}
	return c.installed(values), helm.Install(ctx, to.Kubeconfig, release)
}

// values are the scenario's with the operator's image. The other images are the
// operator's own choice: those of the version it was made for.
func (c Calico) values() map[string]any {
	repository, tag, _ := cutLast(c.Names["operator"], ":")
	registry, image, _ := strings.Cut(repository, "/")
	added := map[string]any{"tigeraOperator": map[string]any{"registry": registry, "image": image, "version": tag}}
	return chartutil.CoalesceTables(copyTable(c.Spec.Values), added)
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// Refused is the operator's reason for not installing what it was asked to.
type Refused struct {
	Component string
	Reason    string
	Message   string
}

func (r *Refused) Error() string {
	return fmt.Sprintf("the Tigera operator says of %s: %s: %s", r.Component, r.Reason, r.Message)
}

// components of TigeraStatus that have to be available.
func (c Calico) components() []string {
	components := []string{"calico", "ippools"}
	if c.Spec.KubeProxyReplacement() {
		components = append(components, "kubeproxy-monitor")
	}
	return components
}

// Wait implements Plane: until the operator calls every component available and,
// where Calico is to implement Services, no node is meant to have a kube-proxy any
// more. What the operator refuses ends it early with a *Refused.
func (c Calico) Wait(ctx context.Context, in *cluster.Cluster, show *progress.Reporter) error {
	limited, cancel := context.WithTimeout(ctx, calicoLimit)
	defer cancel()
	var waiting error
	said := degraded{}
	err := wait.PollUntilContextCancel(limited, calicoPoll, true, func(context.Context) (bool, error) {
		// Its answer is the reason that is told when the time is over.
		ctx, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		var statuses []calico.Status
		if statuses, waiting = tigeraStatus(ctx, in); waiting == nil {
			if refused := said.lasting(statuses, time.Now()); refused != nil {
				return false, refused
			}
			waiting = unavailable(statuses, c.components())
		}
		if waiting == nil && c.Spec.KubeProxyReplacement() {
			waiting = proxyWanted(ctx, in)
		}
		if waiting != nil {
			show.Detail("%s", firstLine(waiting.Error()))
		}
		return waiting == nil, nil
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if refused := (*Refused)(nil); err != nil && !errors.As(err, &refused) {
		err = fmt.Errorf("Calico is not well after %v: %w", calicoLimit, waiting)
	}
	if err != nil {
		err = errors.Join(err, in.LogTail(ctx, OperatorNamespace, "k8s-app=tigera-operator"), in.LogTail(ctx, CalicoNamespace, "k8s-app=calico-node"))
		return in.Why(ctx, CalicoNamespace, err)
	}
	return nil
}

func tigeraStatus(ctx context.Context, in *cluster.Cluster) ([]calico.Status, error) {
	raw, err := in.API.CoreV1().RESTClient().Get().AbsPath(TigeraStatusPath).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	return calico.DecodeTigeraStatus(raw)
}

// final are the reasons of TigeraStatus (Tigera operator v1.40,
// api/v1/tigerastatus_types.go) that time does not clear: what was asked for is
// wrong. With the others something is missing yet, or failed once: a
// ResourceMigrationError is what the operator says when calico-node takes more
// than a minute to get ready.
var final = []string{
	"CertificateError", "ImageSetError", "InvalidConfigurationError", "ResourceReadError", "ResourceRenderingError", "ResourceValidationError",
}

// degraded is what the operator has said of components, and since when.
type degraded map[Refused]time.Time

// lasting returns a refusal that has stood for long enough.
func (d degraded) lasting(statuses []calico.Status, now time.Time) *Refused {
	stands := map[Refused]bool{}
	for _, s := range statuses {
		said := Refused{s.Component, s.Degraded.Reason, s.Degraded.Message}
		if !s.Degraded.True() || !slices.Contains(final, said.Reason) {
			continue
		}
		stands[said] = true
		if since, known := d[said]; !known {
			d[said] = now
		} else if now.Sub(since) >= degradedFor {
			return &said
		}
	}
	maps.DeleteFunc(d, func(said Refused, _ time.Time) bool { return !stands[said] })
	return nil
}

// unavailable says which component is not available yet, with the operator's
// words.
func unavailable(statuses []calico.Status, components []string) error {
	for _, component := range components {
		i := slices.IndexFunc(statuses, func(s calico.Status) bool { return s.Component == component })
		switch {
		case i < 0:
			return fmt.Errorf("the operator does not know %s yet", component)
		case statuses[i].Degraded.True():
			return fmt.Errorf("%s is degraded: %s", component, statuses[i].Degraded.Message)
		case !statuses[i].Available.True():
			return fmt.Errorf("%s is not available yet: %s", component, statuses[i].Progressing.Message)
		}
	}
	return nil
}

// proxyWanted says that nodes are still meant to have a kube-proxy.
func proxyWanted(ctx context.Context, in *cluster.Cluster) error {
	set, err := in.API.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, "kube-proxy", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case set.Status.DesiredNumberScheduled > 0 || set.Status.CurrentNumberScheduled > 0:
		return fmt.Errorf("kube-proxy is on %d nodes, and wanted on %d", set.Status.CurrentNumberScheduled, set.Status.DesiredNumberScheduled)
	}
	return nil
}
