package dataplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"service-dataplane/internal/cluster"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect/calico"
)

// The API objects that Wait asks for.
const (
	proxyPath    = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
	operatorPods = "/api/v1/namespaces/tigera-operator/pods"
	operatorLog  = "/api/v1/namespaces/tigera-operator/pods/tigera-operator-0/log"
	nodePods     = "/api/v1/namespaces/calico-system/pods"
	nodeEvents   = "/api/v1/namespaces/calico-system/events"
)

// apiServer answers what is asked of an API server at a time since it began: with
// a body, or with the code of a refusal. Where it has no answer none comes.
type apiServer func(path string, since time.Duration) (body string, code int)

// cluster has that API server. Within a bubble of synctest, which knows no network,
// nothing is waited for in earnest.
func (answer apiServer) cluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	start := time.Now()
	api, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api.test", QPS: -1, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		body, code := answer(r.URL.Path, time.Since(start))
		if code == 0 {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		if code != http.StatusOK {
			reason := map[int]string{404: "NotFound", 503: "ServiceUnavailable"}[code]
			body = fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"reason":%q,"code":%d}`, body, reason, code)
		}
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Request: r,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster.Cluster{API: api}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// statusList is the answer of an API server that knows these components.
func statusList(t *testing.T, all ...calico.Status) string {
	t.Helper()
	items := []any{}
	for _, s := range all {
		var conditions []any
		for kind, c := range map[string]calico.Condition{"Available": s.Available, "Progressing": s.Progressing, "Degraded": s.Degraded} {
			if c.Status != "" {
				conditions = append(conditions, map[string]any{"type": kind, "status": c.Status, "reason": c.Reason, "message": c.Message})
			}
		}
		items = append(items, map[string]any{"kind": "TigeraStatus", "metadata": map[string]any{"name": s.Component}, "status": map[string]any{"conditions": conditions}})
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "operator.tigera.io/v1", "kind": "TigeraStatusList", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return string(list)
}

// proxyOn is a kube-proxy that is wanted on some nodes and is on others.
func proxyOn(wanted, current int) string {
	return fmt.Sprintf(`{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"name":"kube-proxy","namespace":"kube-system"},"status":{"desiredNumberScheduled":%d,"currentNumberScheduled":%d}}`, wanted, current)
}

const noItems = `{"kind":"List","apiVersion":"v1","items":[]}`

// replacing is Calico in the place of kube-proxy.
var replacing = Calico{Spec: spec.Calico{Values: table{"installation": table{"calicoNetwork": table{"linuxDataplane": "BPF"}}}}}

// waited is what came of Wait and when.
type waited struct {
	err   error
	after time.Duration
}

func waitFor(t *testing.T, c Calico, ctx context.Context, answer apiServer) waited {
	t.Helper()
	start := time.Now()
	err := c.Wait(ctx, answer.cluster(t), quiet)
	return waited{err, time.Since(start)}
}

func recorded(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repo, "pkg/collect/calico/testdata/cluster", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestWaitForCalico ends well. Each row says what the API server answers of
// TigeraStatus and of kube-proxy, and how long that takes.
func TestWaitForCalico(t *testing.T) {
	well := []calico.Status{available("calico"), available("ippools"), available("kubeproxy-monitor")}
	all := statusList(t, well...)
	// until gives one answer before a time and another one from it on.
	until := func(at time.Duration, before, then string) func(time.Duration) (string, int) {
		return func(since time.Duration) (string, int) {
			if since < at {
				return before, 200
			}
			return then, 200
		}
	}
	always := func(body string) func(time.Duration) (string, int) { return until(0, "", body) }
	missing := func(time.Duration) (string, int) { return `daemonsets.apps "kube-proxy" not found`, 404 }
	for _, test := range []struct {
		name          string
		calico        Calico
		status, proxy func(time.Duration) (string, int)
		after         time.Duration
	}{
		{"as recorded", replacing, always(recorded(t, "tigerastatus.json")), always(proxyOn(0, 0)), 0},
		{"as an API server answers", replacing, always(all), always(proxyOn(0, 0)), 0},
		{"kube-proxy is not there", replacing, always(all), missing, 0},
		{"kube-proxy is still wanted", replacing, always(all), until(20*time.Second, proxyOn(3, 3), proxyOn(0, 0)), 20 * time.Second},
		{"kube-proxy is still on a node", replacing, always(all), until(20*time.Second, proxyOn(0, 1), proxyOn(0, 0)), 20 * time.Second},
		// 56 seconds it took on three nodes.
		{"pods are not ready for long", replacing,
			until(56*time.Second, statusList(t, degradedBy("calico", "ResourceNotReady", "not ready"), available("ippools"), available("kubeproxy-monitor")), all), always(proxyOn(0, 0)), 56 * time.Second},
		{"a component is not known for long", replacing, until(3*time.Minute, statusList(t, well[:2]...), all), always(proxyOn(0, 0)), 3 * time.Minute},
		{"nothing is known at first", replacing, until(5*time.Second, statusList(t), all), always(proxyOn(0, 0)), 5 * time.Second},
		{"a refusal that is taken back", replacing,
			until(14*time.Second, recorded(t, "tigerastatus-wrong-pool.json"), all), always(proxyOn(0, 0)), 14 * time.Second},
		{"the API server is not there at first", replacing, func(since time.Duration) (string, int) {
			if since < 30*time.Second {
				return "not yet", 503
			}
			return all, 200
		}, always(proxyOn(0, 0)), 30 * time.Second},
		{"it knows no TigeraStatus at first", replacing, func(since time.Duration) (string, int) {
			if since < 10*time.Second {
				return "the server could not find the requested resource", 404
			}
			return all, 200
		}, always(proxyOn(0, 0)), 10 * time.Second},
		{"it says nothing at first", replacing, func(since time.Duration) (string, int) {
			if since < time.Second {
				return "", 0
			}
			return all, 200
		}, always(proxyOn(0, 0)), 30 * time.Second},
		{"it breaks off at first", replacing, until(4*time.Second, all[:len(all)/2], all), always(proxyOn(0, 0)), 4 * time.Second},
		{"beside kube-proxy, which is left alone", Calico{}, always(statusList(t, well[:2]...)), func(time.Duration) (string, int) {
			t.Error("Calico does not implement Services, and kube-proxy is asked for")
			return "", 404
		}, 0},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := waitFor(t, test.calico, t.Context(), func(path string, since time.Duration) (string, int) {
					switch path {
					case TigeraStatusPath:
						return test.status(since)
					case proxyPath:
						return test.proxy(since)
					}
					t.Errorf("asked for %s", path)
					return "", 404
				})
				if got != (waited{nil, test.after}) {
					t.Errorf("%v after %v, want %v", got.err, got.after, test.after)
				}
			})
		})
	}
}

// failing answers as test says, and of the pods that the operator is not ready.
func failing(answer apiServer) apiServer {
	return func(path string, since time.Duration) (string, int) {
		switch path {
		case operatorPods:
			return `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"tigera-operator-0","namespace":"tigera-operator"},"spec":{"nodeName":"worker"},
				"status":{"containerStatuses":[{"name":"tigera-operator","ready":false,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}]}`, 200
		case operatorLog:
			return "Reconciler error", 200
		case nodePods:
			return noItems, 200
		case nodeEvents:
			return `{"kind":"EventList","apiVersion":"v1","items":[{"involvedObject":{"kind":"Pod","name":"calico-node-0"},"reason":"Failed","message":"no image"}]}`, 200
		}
		return answer(path, since)
	}
}

// known is what a failed wait says beside its reason.
var known = []string{"pod tigera-operator-0 on worker, container tigera-operator: waiting, CrashLoopBackOff", "Reconciler error", "Pod calico-node-0: Failed: no image"}

// TestWaitForCalicoRefused: what the operator does not take back ends the wait
// long before its limit, with the operator's words.
func TestWaitForCalicoRefused(t *testing.T) {
	const whole = "error filling IP pool defaults: could not resolve CalicoNetwork IPPool and kubeadm configuration: IPPool 192.168.0.0/16 is not within the platform's configured pod network CIDR(s) [10.244.0.0/16]"
	wrongPool := recorded(t, "tigerastatus-wrong-pool.json")
	another := statusList(t, degradedBy("calico", "InvalidConfigurationError", "no such mode"))
	for _, test := range []struct {
		name   string
		status func(since time.Duration) (string, int)
		want   Refused
		after  time.Duration
	}{
		{"at once", func(time.Duration) (string, int) { return wrongPool, 200 }, Refused{"ippools", "ResourceReadError", whole}, 15 * time.Second},
		{"later", func(since time.Duration) (string, int) {
			if since < 40*time.Second {
				return statusList(t), 200
			}
			return wrongPool, 200
		}, Refused{"ippools", "ResourceReadError", whole}, 55 * time.Second},
		{"one after another", func(since time.Duration) (string, int) {
			if since < 10*time.Second {
				return wrongPool, 200
			}
			return another, 200
		}, Refused{"calico", "InvalidConfigurationError", "no such mode"}, 25 * time.Second},
		// What was said stands while nobody answers.
		{"with a pause", func(since time.Duration) (string, int) {
			if since > 2*time.Second && since < 20*time.Second {
				return "not now", 503
			}
			return wrongPool, 200
		}, Refused{"ippools", "ResourceReadError", whole}, 20 * time.Second},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := waitFor(t, replacing, t.Context(), failing(func(path string, since time.Duration) (string, int) {
					if path != TigeraStatusPath {
						t.Errorf("asked for %s", path)
						return "", 404
					}
					return test.status(since)
				}))
				var refused *Refused
				if !errors.As(got.err, &refused) || *refused != test.want || got.after != test.after {
					t.Fatalf("%v after %v, want %+v after %v", got.err, got.after, test.want, test.after)
				}
				for _, says := range append([]string{test.want.Error()}, known...) {
					if !strings.Contains(got.err.Error(), says) {
						t.Errorf("says %q, want %q", got.err, says)
					}
				}
				if strings.Contains(got.err.Error(), "is not well after") {
					t.Errorf("says %q of a limit that was not reached", got.err)
				}
			})
		})
	}
}

// TestWaitForCalicoInVain: at the limit the last reason is told.
func TestWaitForCalicoInVain(t *testing.T) {
	const limit = 6 * time.Minute
	well := statusList(t, available("calico"), available("ippools"), available("kubeproxy-monitor"))
	for _, test := range []struct {
		name   string
		answer apiServer
		says   string
	}{
		{"kube-proxy is still wanted", func(path string, _ time.Duration) (string, int) {
			return map[string]string{TigeraStatusPath: well, proxyPath: proxyOn(3, 2)}[path], 200
		}, "Calico is not well after 6m0s: kube-proxy is on 2 nodes, and wanted on 3\n"},
		{"of kube-proxy nothing is said", func(path string, _ time.Duration) (string, int) {
			if path == proxyPath {
				return "no leader", 503
			}
			return well, 200
		}, "Calico is not well after 6m0s: no leader\n"},
		{"a component is unknown", func(string, time.Duration) (string, int) {
			return statusList(t, available("calico"), available("ippools")), 200
		}, "Calico is not well after 6m0s: the operator does not know kubeproxy-monitor yet\n"},
		{"a component stays degraded for a passing reason", func(string, time.Duration) (string, int) {
			return statusList(t, degradedBy("calico", "PodFailure", "Pod calico-system/calico-node-0 has crash looping container: calico-node")), 200
		}, "Calico is not well after 6m0s: calico is degraded: Pod calico-system/calico-node-0 has crash looping container: calico-node\n"},
		{"a refusal with another text each time", func(_ string, since time.Duration) (string, int) {
			return statusList(t, degradedBy("calico", "ResourceReadError", fmt.Sprintf("attempt %d", since/(14*time.Second)))), 200
		}, "Calico is not well after 6m0s: calico is degraded: attempt 25\n"},
		{"the API server says nothing", func(string, time.Duration) (string, int) { return "", 0 }, "Calico is not well after 6m0s: Get "},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := waitFor(t, replacing, t.Context(), failing(test.answer))
				var refused *Refused
				if got.err == nil || errors.As(got.err, &refused) || !strings.HasPrefix(got.err.Error(), test.says) {
					t.Fatalf("%v, want %s", got.err, test.says)
				}
				// What is asked at the last moment has its own time.
				if silent := test.name == "the API server says nothing"; got.after < limit || got.after > limit && !silent || got.after > limit+answerLimit {
					t.Errorf("after %v, want %v", got.after, limit)
				}
				for _, says := range known {
					if !strings.Contains(got.err.Error(), says) {
						t.Errorf("says %q, want %q", got.err, says)
					}
				}
			})
		})
	}
}

// TestWaitForCalicoInterrupted: who ends the wait is told why, at once, and
// nothing is asked any more.
func TestWaitForCalicoInterrupted(t *testing.T) {
	interrupted := errors.New("interrupted")
	for _, test := range []struct {
		name   string
		at     time.Duration
		status func(time.Duration) (string, int)
	}{
		{"while something is missing", 42 * time.Second, func(time.Duration) (string, int) { return statusList(t), 200 }},
		{"while the operator refuses", 14*time.Second + time.Millisecond, func(time.Duration) (string, int) { return recorded(t, "tigerastatus-wrong-pool.json"), 200 }},
		{"while nobody answers", 42 * time.Second, func(time.Duration) (string, int) { return "", 0 }},
		{"before", 0, func(time.Duration) (string, int) { return statusList(t), 200 }},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				if test.at == 0 {
					cancel(interrupted)
				}
				defer time.AfterFunc(test.at, func() { cancel(interrupted) }).Stop()
				got := waitFor(t, replacing, ctx, func(path string, since time.Duration) (string, int) {
					if path != TigeraStatusPath {
						t.Errorf("asked for %s", path)
						return "", 404
					}
					return test.status(since)
				})
				if want := (waited{interrupted, test.at}); got != want {
					t.Errorf("%v after %v, want %v after %v", got.err, got.after, want.err, want.after)
				}
			})
		})
	}
}
