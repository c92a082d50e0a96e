package dataplane

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/releaseutil"
	chartrepo "helm.sh/helm/v3/pkg/repo"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"service-dataplane/internal/ciliumimage"
	"service-dataplane/internal/host"
	"service-dataplane/internal/spec"
)

const repo = "../.."

// installation is a scenario of the project, and the version of the chart that
// is pinned for it.
type installation struct {
	Cilium
	pinned spec.Chart
}

// installations are those of scenarios whose chart is in a Go module. Tests
// download nothing.
func installations(t *testing.T) map[string]installation {
	t.Helper()
	lock, err := spec.LoadLock(filepath.Join(repo, "charts", "lock.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]installation{}
	for _, name := range []string{"cilium", "cilium-kube-proxy"} {
		known := spec.Known{Features: host.Known(), Charts: lock}
		scenarios, err := spec.LoadScenarios(filepath.Join(repo, "scenarios", name+".yaml"), known)
		if err != nil {
			t.Fatal(err)
		}
		cilium := *scenarios[0].Spec.DataPlane.Cilium
		pinned, _ := lock.Chart("cilium", cilium.Version)
		if pinned.Source == "" {
			t.Fatalf("%s: cilium %s has no source", name, pinned.Version)
		}
		list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", ciliumimage.Module)
		list.Dir = filepath.Join(repo, pinned.Source)
		if dir, err := list.Output(); err != nil || strings.TrimSpace(string(dir)) == "" {
			t.Skipf("%s is not in the module cache (%v): go mod download in %s", ciliumimage.Module, err, pinned.Source)
		}
		chart, err := LoadChart(t.Context(), repo, t.TempDir(), pinned)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = installation{Cilium{Spec: cilium, Prepared: Prepared{Chart: chart, Images: built, Names: built.InNodes()}}, pinned}
	}
	return found
}

// objects are what an installation puts into a cluster, as far as it matters.
type objects struct {
	agent    *appsv1.DaemonSet
	operator *appsv1.Deployment
	config   map[string]string
	others   []string // further DaemonSets and Deployments
}

// render renders the chart with the values of Install as Helm would install it,
// checked by the chart's own schema.
func (c installation) render(t *testing.T, apiServer string) (o objects, dropped []string) {
	t.Helper()
	values, dropped := c.values(c.Chart.Values, apiServer)
	values, err := asRead(values)
	if err != nil {
		t.Fatal(err)
	}
	recorded := fmt.Sprint(values)
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.ReleaseName, install.Namespace = "cilium", Namespace
	install.DryRun, install.ClientOnly = true, true
	install.KubeVersion = &chartutil.KubeVersion{Version: "v1.35.0", Major: "1", Minor: "35"}
	release, err := install.RunWithContext(t.Context(), c.Chart.Chart, values)
	if err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprint(values); after != recorded {
		t.Errorf("values are recorded as\n%s, where given were\n%s", after, recorded)
	}
	decoder := scheme.Codecs.UniversalDeserializer()
	for _, text := range releaseutil.SplitManifests(release.Manifest) {
		object, _, err := decoder.Decode([]byte(text), nil, nil)
		if runtime.IsNotRegisteredError(err) {
			continue
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		switch typed := object.(type) {
		case *appsv1.DaemonSet:
			if typed.Name == "cilium" {
				o.agent = typed
			} else {
				o.others = append(o.others, typed.Name)
			}
		case *appsv1.Deployment:
			if typed.Name == "cilium-operator" {
				o.operator = typed
			} else {
				o.others = append(o.others, typed.Name)
			}
		case *corev1.ConfigMap:
			if typed.Name == "cilium-config" {
				o.config = typed.Data
			}
		}
	}
	if o.agent == nil || o.operator == nil || o.config == nil {
		t.Fatalf("the chart has agent %v, operator %v, configuration %v", o.agent != nil, o.operator != nil, o.config != nil)
	}
	return o, dropped
}

func containers(pod corev1.PodTemplateSpec) []corev1.Container {
	return append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...)
}

// asked are the capabilities that containers add to what they have anyhow.
func asked(pod corev1.PodTemplateSpec) []corev1.Capability {
	var all []corev1.Capability
	for _, c := range containers(pod) {
		if c.SecurityContext != nil && c.SecurityContext.Capabilities != nil {
			all = append(all, c.SecurityContext.Capabilities.Add...)
		}
	}
	return all
}

// TestChart installs the module's chart with the scenarios' values, as far as
// that goes without a cluster.
func TestChart(t *testing.T) {
	const apiServer = "172.18.0.2"
	replaces := map[string]string{"cilium": "true", "cilium-kube-proxy": "false"}
	for name, c := range installations(t) {
		t.Run(name, func(t *testing.T) {
			if c.Chart.Name() != "cilium" || c.Chart.Metadata.Version != c.Spec.Version || !strings.Contains(c.Chart.From, "v"+c.Spec.Version) {
				t.Errorf("%s %s from %s, want version %s", c.Chart.Name(), c.Chart.Metadata.Version, c.Chart.From, c.Spec.Version)
			}
			o, dropped := c.render(t, apiServer)
			for want, pod := range map[string]corev1.PodTemplateSpec{builtAgent: o.agent.Spec.Template, builtOperator: o.operator.Spec.Template} {
				for _, c := range containers(pod) {
					if c.Image != want || c.ImagePullPolicy != corev1.PullNever {
						t.Errorf("container %s: image %s, %s; want %s, Never", c.Name, c.Image, c.ImagePullPolicy, want)
					}
				}
			}
			if o.others != nil {
				t.Errorf("there are no images for %q", o.others)
			}
			if got := o.config["kube-proxy-replacement"]; got != replaces[name] || got != strconv.FormatBool(c.Spec.KubeProxyReplacement()) {
				t.Errorf("kube-proxy-replacement is %q", got)
			}
			checkAPIServer(t, o.agent.Spec.Template, c.Spec.KubeProxyReplacement(), apiServer)

			// What the rest of this package takes for granted.
			if got := o.config["cgroup-root"]; got != CgroupRoot {
				t.Errorf("cgroup-root is %q, want %s", got, CgroupRoot)
			}
			key, value, _ := strings.Cut(agentLabel, "=")
			if labels := o.agent.Spec.Template.Labels; labels[key] != value {
				t.Errorf("the agents' labels are %v, want %s", labels, agentLabel)
			}
			if !slices.ContainsFunc(o.agent.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == "cilium-agent" }) {
				t.Error("no container is called cilium-agent")
			}

			// A host that lacks a capability gets the same without it.
			const lacks = corev1.Capability("SYS_RESOURCE")
			all := asked(o.agent.Spec.Template)
			if !slices.Contains(all, lacks) || dropped != nil {
				t.Errorf("capabilities are %q without %q: nothing to drop", all, dropped)
			}
			c.MissingCapabilities = []string{"CAP_SYS_RESOURCE"}
			o, dropped = c.render(t, apiServer)
			want := slices.DeleteFunc(slices.Clone(all), func(c corev1.Capability) bool { return c == lacks })
			if left := asked(o.agent.Spec.Template); !slices.Equal(left, want) || !slices.Equal(dropped, c.MissingCapabilities) {
				t.Errorf("left are %q without %q, want %q", left, dropped, want)
			}
			// Of mount-cgroup's list nothing is left.
			c.MissingCapabilities = []string{"CAP_SYS_ADMIN", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE"}
			o, dropped = c.render(t, apiServer)
			for _, left := range asked(o.agent.Spec.Template) {
				if slices.Contains(c.MissingCapabilities, "CAP_"+string(left)) || !slices.Equal(dropped, c.MissingCapabilities) {
					t.Errorf("%s is left without %q", left, dropped)
				}
			}
		})
	}
}

// checkAPIServer: agents that are to implement Services reach the API server
// without one, the others as every pod does.
func checkAPIServer(t *testing.T, pod corev1.PodTemplateSpec, replaced bool, address string) {
	t.Helper()
	for _, c := range containers(pod) {
		for _, env := range c.Env {
			switch {
			case env.Name == "KUBERNETES_SERVICE_HOST" && (!replaced || env.Value != address),
				env.Name == "KUBERNETES_SERVICE_PORT" && (!replaced || env.Value != "6443"):
				t.Errorf("container %s: %s is %s", c.Name, env.Name, env.Value)
			}
		}
		if c.Name == "cilium-agent" && replaced != slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "KUBERNETES_SERVICE_HOST" }) {
			t.Errorf("the agent's environment is %v", c.Env)
		}
	}
}

// TestChartOfAnotherVersion is refused before there is a cluster.
func TestChartOfAnotherVersion(t *testing.T) {
	pinned := installations(t)["cilium"].pinned
	is := pinned.Version
	pinned.Version = "1.19.8"
	if chart, err := LoadChart(t.Context(), repo, t.TempDir(), pinned); err == nil || !strings.Contains(err.Error(), "is of version "+is+", and version 1.19.8 is asked for") {
		t.Errorf("%s, %v", chart.From, err)
	}
}

func TestChartWithoutSource(t *testing.T) {
	tree := t.TempDir()
	if chart, err := LoadChart(t.Context(), tree, t.TempDir(), pinned); err == nil || !strings.Contains(err.Error(), filepath.Join(tree, "images", "cilium")) {
		t.Errorf("%s, %v; want the directory named", chart.From, err)
	}
}

// repository serves versions of the tree's echo chart as a plain HTTP repository
// does, and returns where it is, the directory it serves and what is asked of
// it.
func repository(t *testing.T, versions ...string) (address, dir string, asked func() []string) {
	t.Helper()
	dir = t.TempDir()
	echo, err := loader.Load(filepath.Join(repo, "charts", "echo"))
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		echo.Metadata.Version = version
		if _, err := chartutil.Save(echo, dir); err != nil {
			t.Fatal(err)
		}
	}
	index, err := chartrepo.IndexDirectory(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := index.WriteFile(filepath.Join(dir, "index.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []string
	files := http.StripPrefix("/charts/", http.FileServer(http.Dir(dir)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all = append(all, r.Method+" "+r.RequestURI)
		mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	// Helm keeps what it reads of a repository in its own cache.
	t.Setenv("HELM_CACHE_HOME", t.TempDir())
	return server.URL + "/charts", dir, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// TestChartOfRepository: what is not pinned is recorded, what is otherwise than
// pinned is refused.
func TestChartOfRepository(t *testing.T) {
	// The newest is not the one that is pinned.
	served, dir, asked := repository(t, "v3.31.7", "v3.31.6", "v3.32.0", "3.30.0")
	content, err := os.ReadFile(filepath.Join(dir, "echo-v3.31.7.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	other := "sha256:" + strings.Repeat("0", 64)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, test := range []struct {
		name, repository, version, digest string
		says                              []string // of the error, nil for none
	}{
		{"no digest", served, "v3.31.7", "", nil},
		{"the digest", served, "v3.31.7", digest, nil},
		{"another digest", served, "v3.31.7", other, []string{"chart echo v3.31.7 from " + served + " is " + digest, "charts/lock.yaml pins " + other}},
		{"no such version", served, "v3.31.8", "", []string{`chart "echo" version "v3.31.8" not found in ` + served}},
		{"a version of another spelling", served, "v3.30.0", "", []string{"the chart from " + served, "is of version 3.30.0, and version v3.30.0 is asked for"}},
		{"no index", served + "/nosuch", "v3.31.7", "", []string{served + "/nosuch", "404"}},
		{"no server", gone.URL, "v3.31.7", "", []string{gone.URL, "connection refused"}},
		{"no such registry", "oci://127.0.0.1:1/charts", "v3.31.7", digest, []string{"127.0.0.1:1"}},
		{"no such kind of repository", dir, "v3.31.7", "", []string{"protocol"}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			before := len(asked())
			workDir := t.TempDir()
			pinned := spec.Chart{Name: "echo", Version: test.version, Repository: test.repository, Digest: test.digest}
			chart, err := LoadChart(t.Context(), repo, workDir, pinned)
			if (err != nil) != (test.says != nil) {
				t.Fatalf("%s, %v", chart.From, err)
			}
			for _, says := range test.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("says %q, want %q", err, says)
				}
			}
			if err != nil {
				return
			}
			if chart.Name() != "echo" || chart.Metadata.Version != "v3.31.7" || chart.From != served+" "+digest {
				t.Errorf("%s from %s, want %s", chart.Name(), chart.From, digest)
			}
			if got, want := asked()[before:], []string{"GET /charts/index.yaml", "GET /charts/echo-v3.31.7.tgz"}; !slices.Equal(got, want) {
				t.Errorf("asked %q, want %q", got, want)
			}
			if _, err := os.Stat(filepath.Join(workDir, "charts", "echo-v3.31.7.tgz")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestChartOfRepositoryBesideOthers: neither what lies where the runner is called
// nor what its user has configured for Helm takes the repository's place.
func TestChartOfRepositoryBesideOthers(t *testing.T) {
	served, _, _ := repository(t, "1.0.0")
	here, config := t.TempDir(), t.TempDir()
	t.Chdir(here)
	if err := os.WriteFile(filepath.Join(here, "echo"), []byte("no chart"), 0o644); err != nil {
		t.Fatal(err)
	}
	const repositories = "apiVersion: \"\"\nrepositories:\n  - {name: bitnami, url: 'https://charts.bitnami.com/bitnami'}\n"
	if err := os.WriteFile(filepath.Join(config, "repositories.yaml"), []byte(repositories), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HELM_CONFIG_HOME", config)
	t.Setenv("HELM_REPOSITORY_CONFIG", filepath.Join(config, "repositories.yaml"))
	chart, err := LoadChart(t.Context(), here, t.TempDir(), spec.Chart{Name: "echo", Version: "1.0.0", Repository: served})
	if err != nil || chart.Name() != "echo" || !strings.HasPrefix(chart.From, served+" sha256:") {
		t.Errorf("%s, %v", chart.From, err)
	}
}
