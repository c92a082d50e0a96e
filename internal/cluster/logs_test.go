package cluster

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// States that containers are in.
var (
	running  = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	done     = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	killed   = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", Message: "no memory"}}
	pulling  = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImageNeverPull", Message: "image is not present with pull policy of Never"}}
	crashing = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
)

// agent is a pod of the data plane with the containers config (an init
// container) and cilium-agent.
func agent(name string, config, agent corev1.ContainerStatus) *corev1.Pod {
	config.Name, agent.Name = "config", "cilium-agent"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system", Labels: map[string]string{"k8s-app": "cilium"}},
		Spec:       corev1.PodSpec{NodeName: "node-of-" + name},
		Status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{config},
			ContainerStatuses:     []corev1.ContainerStatus{agent},
		},
	}
}

func TestLogTail(t *testing.T) {
	ready := corev1.ContainerStatus{Ready: true, State: running}
	prepared := corev1.ContainerStatus{Ready: true, State: done}
	elsewhere := agent("b", prepared, corev1.ContainerStatus{State: crashing})
	elsewhere.Namespace = "service-dataplane"
	other := agent("c", prepared, corev1.ContainerStatus{State: crashing})
	other.Labels = map[string]string{"k8s-app": "kube-dns"}
	tests := []struct {
		name string
		pods []runtime.Object
		want []string // one a container; the fake API server logs "fake logs"
	}{
		{"all ready", []runtime.Object{agent("a", prepared, ready), agent("b", prepared, ready)}, nil},
		{"no pods", nil, nil},
		{"pods that are not meant", []runtime.Object{agent("a", prepared, ready), elsewhere, other}, nil},
		// Why a pod is on no node is in the cluster's events.
		{"one that has not begun", []runtime.Object{&corev1.Pod{ObjectMeta: agent("a", ready, ready).ObjectMeta}}, nil},
		{"running for now", []runtime.Object{agent("a", prepared, corev1.ContainerStatus{State: running})},
			[]string{"pod a on node-of-a, container cilium-agent: running, not ready"}},
		{"no image", []runtime.Object{agent("a", prepared, corev1.ContainerStatus{State: pulling})},
			[]string{"pod a on node-of-a, container cilium-agent: waiting, ErrImageNeverPull image is not present with pull policy of Never"}},
		{"an init container fails, and what comes after it waits", []runtime.Object{
			agent("a", corev1.ContainerStatus{State: killed}, corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}),
		}, []string{
			"pod a on node-of-a, container config: ended with exit code 137, OOMKilled no memory",
			"pod a on node-of-a, container cilium-agent: waiting, PodInitializing",
		}},
		// The kubelet calls one that came to its end ready, or not yet.
		{"an init container has come to its end", []runtime.Object{agent("a", corev1.ContainerStatus{State: done}, ready)}, nil},
		{"some of several", []runtime.Object{
			agent("a", prepared, ready), agent("b", prepared, corev1.ContainerStatus{State: crashing}), agent("c", prepared, corev1.ContainerStatus{State: running}),
		}, []string{
			"pod b on node-of-b, container cilium-agent: waiting, CrashLoopBackOff",
			"pod c on node-of-c, container cilium-agent: running, not ready",
		}},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			api := fake.NewClientset(test.pods...)
			err := (&Cluster{API: api}).LogTail(t.Context(), "kube-system", "k8s-app=cilium")
			var got string
			if err != nil {
				got = err.Error()
			}
			want := strings.Join(test.want, "\n    fake logs\n")
			if len(test.want) > 0 {
				want += "\n    fake logs"
			}
			if got != want || (err == nil) != (test.want == nil) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			for _, action := range api.Actions() {
				log, ok := action.(clienttesting.GenericAction)
				if !ok {
					continue
				}
				if options := log.GetValue().(*corev1.PodLogOptions); options.Container == "" || options.TailLines == nil || *options.TailLines != 8 {
					t.Errorf("asks for a log with %+v", options)
				}
			}
		})
	}
}

func TestLogTailWithoutPods(t *testing.T) {
	api, gone := fake.NewClientset(), errors.New("connection refused")
	api.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, gone })
	if err := (&Cluster{API: api}).LogTail(t.Context(), "kube-system", ""); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
}

// TestLogTailLines: logs as an API server serves them, or does not.
func TestLogTailLines(t *testing.T) {
	pod := agent("a", corev1.ContainerStatus{Ready: true, State: done}, corev1.ContainerStatus{State: crashing})
	const state = "pod a on node-of-a, container cilium-agent: waiting, CrashLoopBackOff"
	for _, test := range []struct {
		name string
		code int
		log  string
		want string
	}{
		{"lines", 200, "level=info msg=\"Start\"\n  at main.go\nlevel=fatal\n", state + "\n    level=info msg=\"Start\"\n      at main.go\n    level=fatal"},
		{"nothing logged", 200, "", state},
		{"no log", 400, "container \"cilium-agent\" in pod \"a\" is waiting to start", state},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/pods") {
					w.Header().Set("Content-Type", "application/json")
					list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{*pod}}
					if err := json.NewEncoder(w).Encode(list); err != nil {
						t.Error(err)
					}
					return
				}
				if want := "/api/v1/namespaces/kube-system/pods/a/log?container=cilium-agent&tailLines=8"; r.RequestURI != want {
					t.Errorf("asks for %s, want %s", r.RequestURI, want)
				}
				w.WriteHeader(test.code)
				io.WriteString(w, test.log)
			}))
			defer server.Close()
			api, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if err := (&Cluster{API: api}).LogTail(t.Context(), "kube-system", "k8s-app=cilium"); err == nil || err.Error() != test.want {
				t.Errorf("got:\n%v\nwant:\n%s", err, test.want)
			}
		})
	}
}

func TestStateOf(t *testing.T) {
	for _, test := range []struct {
		name  string
		state corev1.ContainerState
		want  string
	}{
		{"nothing known", corev1.ContainerState{}, "running, not ready"},
		{"running", running, "running, not ready"},
		{"waiting", crashing, "waiting, CrashLoopBackOff"},
		{"waiting, with a word", pulling, "waiting, ErrImageNeverPull image is not present with pull policy of Never"},
		{"ended", killed, "ended with exit code 137, OOMKilled no memory"},
	} {
		if got := stateOf(test.state); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
