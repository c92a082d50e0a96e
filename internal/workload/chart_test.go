package workload

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"

	"service-dataplane/internal/check"
	"service-dataplane/internal/spec"
)

const repo = "../.."

// objects are what a release of the chart puts into a cluster.
type objects struct {
	service    *corev1.Service
	deployment *appsv1.Deployment
	client     *corev1.Pod
}

// render renders the chart as Helm would install it, decoded as strictly as an
// API server can: no field that its type does not have.
func render(c *chart.Chart, set map[string]any) (objects, error) {
	options := chartutil.ReleaseOptions{Name: release, Namespace: "service-dataplane", IsInstall: true}
	all, err := chartutil.ToRenderValues(c, set, options, chartutil.DefaultCapabilities)
	if err != nil {
		return objects{}, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return objects{}, err
	}
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var o objects
	for name, content := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		object, _, err := strict.Decode([]byte(content), nil, nil)
		if err != nil {
			return objects{}, err
		}
		switch typed := object.(type) {
		case *corev1.Service:
			o.service = typed
		case *appsv1.Deployment:
			o.deployment = typed
		case *corev1.Pod:
			o.client = typed
		}
	}
	return o, nil
}

func loadChart(t *testing.T, path string) *chart.Chart {
	t.Helper()
	c, err := loader.Load(filepath.Join(repo, path))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// forExperiment renders the chart of the project's experiment as Install does.
func forExperiment(t *testing.T) (objects, spec.Workload) {
	t.Helper()
	experiment, err := spec.LoadExperiment(filepath.Join(repo, "experiments", "service-path.yaml"), check.IDs())
	if err != nil {
		t.Fatal(err)
	}
	w := experiment.Spec.Workload
	o, err := render(loadChart(t, w.Chart), values(w, Image{Reference: repository + ":0123456789ab"}, "node-of-the-client"))
	if err != nil {
		t.Fatal(err)
	}
	return o, w
}

// TestChartIsWhatTheExperimentSays: names and ports stand in both.
func TestChartIsWhatTheExperimentSays(t *testing.T) {
	o, w := forExperiment(t)
	s := o.service.Spec
	if o.service.Name != w.Service || s.Type != corev1.ServiceTypeNodePort || s.SessionAffinity != corev1.ServiceAffinityNone || len(s.Ports) != 1 {
		t.Fatalf("Service %s: %+v", o.service.Name, s)
	}
	port := s.Ports[0]
	if int(port.Port) != w.ClusterPort || int(port.NodePort) != w.NodePort || port.Protocol != corev1.ProtocolTCP {
		t.Errorf("Service port %+v, want %d and NodePort %d", port, w.ClusterPort, w.NodePort)
	}
	container := o.deployment.Spec.Template.Spec.Containers[0]
	target := container.Ports[slices.IndexFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.TargetPort.StrVal })]
	if int(target.ContainerPort) != w.TargetPort || !slices.Contains(container.Args, ":8080") {
		t.Errorf("port %s of the container is %d, its arguments %q; want %d", target.Name, target.ContainerPort, container.Args, w.TargetPort)
	}
	if probe := container.ReadinessProbe; probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port.StrVal != target.Name {
		t.Errorf("readiness is asked with %+v", probe)
	}
	if o.deployment.Name != w.Service || int(*o.deployment.Spec.Replicas) != len(w.BackendNodes) {
		t.Errorf("Deployment %s has %d replicas, want %s with %d", o.deployment.Name, *o.deployment.Spec.Replicas, w.Service, len(w.BackendNodes))
	}
	if o.client.Name != w.Client || o.client.Spec.NodeSelector[corev1.LabelHostname] != "node-of-the-client" {
		t.Errorf("pod %s is pinned to %v", o.client.Name, o.client.Spec.NodeSelector)
	}
	for _, namespace := range []string{o.service.Namespace, o.deployment.Namespace, o.client.Namespace} {
		if namespace != w.Namespace {
			t.Errorf("namespace is %q, want %s", namespace, w.Namespace)
		}
	}
}

// TestServiceSelects the server's pods and not the client.
func TestServiceSelects(t *testing.T) {
	o, _ := forExperiment(t)
	pods := labels.Set(o.deployment.Spec.Template.Labels)
	for what, selector := range map[string]map[string]string{"Service": o.service.Spec.Selector, "Deployment": o.deployment.Spec.Selector.MatchLabels} {
		if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(pods) {
			t.Errorf("%s selects %v, its pods have %v", what, selector, pods)
		}
		if labels.SelectorFromSet(selector).Matches(labels.Set(o.client.Labels)) {
			t.Errorf("%s selects the client too", what)
		}
	}
}

// TestOneBackendAWorker: spread over two workers whatever comes first, and an
// update that never waits for a place that an old pod holds.
func TestOneBackendAWorker(t *testing.T) {
	o, _ := forExperiment(t)
	d := o.deployment.Spec
	update := d.Strategy.RollingUpdate
	if d.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || update == nil || update.MaxSurge.IntValue() != 0 || update.MaxUnavailable.IntValue() < 1 {
		t.Errorf("strategy %+v: a pod beyond the replicas has no worker to go to", d.Strategy)
	}
	if d.Template.Spec.Affinity.PodAntiAffinity != nil {
		t.Error("podAntiAffinity counts the old pods during an update")
	}
	if len(d.Template.Spec.TopologySpreadConstraints) != 1 {
		t.Fatalf("%d spread constraints", len(d.Template.Spec.TopologySpreadConstraints))
	}
	spread := d.Template.Spec.TopologySpreadConstraints[0]
	if spread.TopologyKey != corev1.LabelHostname || spread.MaxSkew != 1 || spread.WhenUnsatisfiable != corev1.DoNotSchedule || *spread.MinDomains != *d.Replicas {
		t.Errorf("spread %+v", spread)
	}
	if !slices.Contains(spread.MatchLabelKeys, appsv1.DefaultDeploymentUniqueLabelKey) {
		t.Errorf("the spread counts the pods of all revisions: %q", spread.MatchLabelKeys)
	}
	if selector := spread.LabelSelector.MatchLabels; !maps.Equal(selector, d.Selector.MatchLabels) {
		t.Errorf("the spread counts pods with %v, the Deployment has those with %v", selector, d.Selector.MatchLabels)
	}
	nodes := d.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(nodes) != 1 || nodes[0].MatchExpressions[0].Key != "node-role.kubernetes.io/control-plane" || nodes[0].MatchExpressions[0].Operator != corev1.NodeSelectorOpDoesNotExist {
		t.Errorf("servers go to nodes %+v", nodes)
	}
}

// TestPods: what holds for both, by Pod Security Standard "restricted" and so
// that nothing but the Service leads from one to the other.
func TestPods(t *testing.T) {
	o, _ := forExperiment(t)
	for name, pod := range map[string]corev1.PodSpec{"server": o.deployment.Spec.Template.Spec, "client": o.client.Spec} {
		if len(pod.Containers) != 1 || len(pod.InitContainers) > 0 || len(pod.Volumes) > 0 || pod.HostNetwork || pod.HostPID || pod.HostIPC {
			t.Fatalf("%s: %+v", name, pod)
		}
		c := pod.Containers[0]
		if c.Image != repository+":0123456789ab" || c.ImagePullPolicy != corev1.PullNever {
			t.Errorf("%s: image %s, pull policy %s", name, c.Image, c.ImagePullPolicy)
		}
		p, s := pod.SecurityContext, c.SecurityContext
		for what, ok := range map[string]bool{
			"runAsNonRoot":             p.RunAsNonRoot != nil && *p.RunAsNonRoot && p.RunAsUser != nil && *p.RunAsUser > 0,
			"seccompProfile":           p.SeccompProfile != nil && p.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
			"allowPrivilegeEscalation": s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation,
			"capabilities":             s.Capabilities != nil && slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(s.Capabilities.Add) == 0,
			"privileged":               s.Privileged == nil && s.RunAsUser == nil && s.RunAsNonRoot == nil && s.SeccompProfile == nil,
			"readOnlyRootFilesystem":   s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem,
			"serviceAccountToken":      pod.AutomountServiceAccountToken != nil && !*pod.AutomountServiceAccountToken,
			"serviceLinks":             pod.EnableServiceLinks != nil && !*pod.EnableServiceLinks,
			"memory limit":             !c.Resources.Limits.Memory().IsZero(),
		} {
			if !ok {
				t.Errorf("%s: %s: pod %+v, container %+v", name, what, p, s)
			}
		}
	}
}

func TestValues(t *testing.T) {
	c := loadChart(t, "charts/echo")
	tests := []struct {
		name string
		set  map[string]any
		want string // in the error; "" for none
	}{
		{"the client's node alone", map[string]any{}, ""},
		{"session affinity", map[string]any{"service": map[string]any{"sessionAffinity": "ClientIP"}}, ""},
		{"no endpoints", map[string]any{"server": map[string]any{"replicas": 0}}, ""},

		{"no client node", map[string]any{"client": map[string]any{"node": ""}}, "client.node is required"},
		{"an unknown value", map[string]any{"sever": map[string]any{}}, "'sever' not allowed"},
		{"an unknown value within", map[string]any{"server": map[string]any{"replica": 2}}, "'replica' not allowed"},
		{"no NodePort", map[string]any{"service": map[string]any{"nodePort": 80}}, "nodePort"},
		{"replicas as text", map[string]any{"server": map[string]any{"replicas": "two"}}, "replicas"},
		{"no such affinity", map[string]any{"service": map[string]any{"sessionAffinity": "Node"}}, "sessionAffinity"},
		{"no tag", map[string]any{"image": map[string]any{"tag": ""}}, "tag"},
		{"no such pull policy", map[string]any{"image": map[string]any{"pullPolicy": "Sometimes"}}, "pullPolicy"},
	}
	for _, test := range tests {
		if _, given := test.set["client"]; !given {
			test.set["client"] = map[string]any{"node": "worker2"}
		}
		_, err := render(c, test.set)
		if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestChartVersion: the cluster's Kubernetes has what the chart uses.
func TestChartVersion(t *testing.T) {
	constraint := loadChart(t, "charts/echo").Metadata.KubeVersion
	for version, want := range map[string]bool{"v1.35.0": true, "v1.30.0": true, "v1.29.9": false} {
		if got := chartutil.IsCompatibleRange(constraint, version); got != want {
			t.Errorf("%s fits %s: %v", version, constraint, got)
		}
	}
}

func TestReady(t *testing.T) {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: kind, Status: status}}}}
	}
	for _, test := range []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"ready", condition(corev1.PodReady, corev1.ConditionTrue), true},
		{"not ready", condition(corev1.PodReady, corev1.ConditionFalse), false},
		{"not known", condition(corev1.PodReady, corev1.ConditionUnknown), false},
		{"scheduled", condition(corev1.PodScheduled, corev1.ConditionTrue), false},
		{"new", &corev1.Pod{}, false},
	} {
		if got := podReady(test.pod); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
	yes, no := true, false
	endpoints := []discoveryv1.EndpointSlice{
		{Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.244.1.2"}, Conditions: discoveryv1.EndpointConditions{Ready: &yes}},
			{Addresses: []string{"10.244.1.3"}, Conditions: discoveryv1.EndpointConditions{Ready: &no}},
		}},
		{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.244.2.2"}}}}, // not said means ready
		{},
	}
	if got := readyEndpoints(endpoints); got != 2 {
		t.Errorf("%d endpoints ready, want 2", got)
	}
}
