package evidence

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"service-dataplane/pkg/collect"
)

// TestPodsOfOneNamespace: a list without the namespace of kube-proxy, as
// `kubectl -n NAMESPACE get pods` makes one, does not show that no node has a
// kube-proxy.
func TestPodsOfOneNamespace(t *testing.T) {
	raw, s, x := load(t, "iptables")
	var list corev1.PodList
	if err := json.Unmarshal(raw[PodsFile].Data, &list); err != nil {
		t.Fatal(err)
	}
	list.Items = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Namespace != x.Spec.Workload.Namespace })
	raw[PodsFile].Data, _ = json.Marshal(list)
	index(raw, "worker/"+LogFile, "")
	e, err := Decode(raw, s, x)
	if err != nil {
		t.Fatal(err)
	}
	if !e.Objects.ClientIP.IsValid() {
		t.Error("the list has the client, and it was not found")
	}
	for _, n := range e.Mode.Nodes {
		if n.Version.Value != "" {
			t.Errorf("%s: version %+v", n.Node, n.Version)
		}
	}
	if log := e.Mode.Nodes[1].Log; log.Value != "" || log.Ref.File != "worker/"+LogFile {
		t.Errorf("log %+v", log)
	}
	if !slices.Contains(e.Problems, collect.Problem{Node: "worker", File: "worker/" + LogFile, Text: NeverCollected}) {
		t.Errorf("problems: %+v", e.Problems)
	}
}
