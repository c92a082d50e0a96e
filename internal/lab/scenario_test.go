package lab

import (
	"strings"
	"testing"

	"service-dataplane/internal/enginetest"
	"service-dataplane/internal/spec"
)

// TestOthersNodesStay: a run that finds its cluster's name taken says so and
// takes nothing away, since the nodes are not its own.
func TestOthersNodesStay(t *testing.T) {
	asked := enginetest.Put(t, "echo 0123456789ab")
	l := &lab{Options: Options{WorkDir: t.TempDir()}, show: quiet(t)}
	_, err := l.observe(t.Context(), []spec.Scenario{{Metadata: spec.Metadata{Name: "iptables"}}}, []string{t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "0123456789ab") || !strings.Contains(err.Error(), "runner clean") {
		t.Errorf("observe: %v", err)
	}
	for _, command := range asked() {
		if !strings.HasPrefix(command, "ps ") {
			t.Errorf("asked the engine to %s", command)
		}
	}
}
