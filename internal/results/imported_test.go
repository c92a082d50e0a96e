package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestImportedRoundTrip: what is not known of evidence that was recorded
// elsewhere is not in run.yaml, not even as an empty field.
func TestImportedRoundTrip(t *testing.T) {
	made := full()
	want := Run{
		APIVersion: made.APIVersion, Kind: made.Kind,
		Imported: &Imported{
			Map: "calico-ebpf-recorded", SHA256: strings.Repeat("0f", 32),
			Recorded: time.Date(2026, 11, 29, 15, 4, 0, 0, time.UTC), On: "a kind cluster: of three nodes",
		},
		Scenario: made.Scenario, Experiment: made.Experiment,
	}
	raw, err := MarshalRun(want)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, unknown := range []string{"started", "argv", "harness", "host", "nodeImage", "workloadImage", "kindConfig", "timings", "bundle"} {
		if strings.Contains(string(raw), "\n"+unknown+":") || strings.Contains(string(text), `"`+unknown+`"`) {
			t.Errorf("%s is in\n%s\n%s", unknown, raw, text)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, RunFile), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRun(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v, %v\nwant\n%+v", got, err, want)
	}
}

// TestRunIsNotImported: a run says nothing of it.
func TestRunIsNotImported(t *testing.T) {
	raw, err := MarshalRun(full())
	if err != nil || strings.Contains(string(raw), "imported") {
		t.Errorf("%v\n%s", err, raw)
	}
}
