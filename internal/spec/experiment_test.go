package spec

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// refusalFile is an experiment of a refusal that has nothing else.
const refusalFile = `apiVersion: service-dataplane/v1alpha1
kind: Experiment
metadata: {name: refusal, title: A test}
spec:
  scenarios: [calico, calico-older]
  refusal:
    values:
      installation: {calicoNetwork: {ipPools: [{cidr: 192.168.0.0/16}]}}
    component: ippools
    message: is not within
  checks: [mode.actual]
`

// loadRefusal loads a changed refusalFile.
func loadRefusal(t *testing.T, old, new string) (Experiment, error) {
	t.Helper()
	if strings.Count(refusalFile, old) != 1 {
		t.Fatalf("%q is not once in\n%s", old, refusalFile)
	}
	file := filepath.Join(t.TempDir(), "refusal.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(refusalFile, old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return LoadExperiment(file, testChecks)
}

func TestRefusal(t *testing.T) {
	got, err := loadRefusal(t, "kind: Experiment", "kind: Experiment")
	if err != nil {
		t.Fatal(err)
	}
	want := Experiment{
		APIVersion: APIVersion, Kind: "Experiment", Metadata: Metadata{Name: "refusal", Title: "A test"},
		Spec: ExperimentSpec{
			Scenarios: []string{"calico", "calico-older"},
			Refusal: &Refusal{
				Values: map[string]any{"installation": map[string]any{"calicoNetwork": map[string]any{
					"ipPools": []any{map[string]any{"cidr": "192.168.0.0/16"}},
				}}},
				Component: "ippools", Message: "is not within",
			},
			Checks: []string{"mode.actual"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestRefusalForms: what a refusal may look like.
func TestRefusalForms(t *testing.T) {
	for _, test := range []struct {
		name, old, new string
		fits           func(*Refusal) bool
	}{
		{"a value of nothing", "{calicoNetwork: {ipPools: [{cidr: 192.168.0.0/16}]}}", "null", func(r *Refusal) bool {
			value, there := r.Values["installation"]
			return there && value == nil
		}},
		{"a value that is no table", "installation: {calicoNetwork: {ipPools: [{cidr: 192.168.0.0/16}]}}", "enabled: false", func(r *Refusal) bool {
			return r.Values["enabled"] == false
		}},
		{"a number for a message", "message: is not within", "message: 12", func(r *Refusal) bool { return r.Message == "12" }},
		{"a message with a colon", "message: is not within", `message: "IPPool: no"`, func(r *Refusal) bool { return r.Message == "IPPool: no" }},
	} {
		got, err := loadRefusal(t, test.old, test.new)
		if err != nil || got.Spec.Refusal == nil || !test.fits(got.Spec.Refusal) {
			t.Errorf("%s: %+v, %v", test.name, got.Spec.Refusal, err)
		}
	}
}

func TestOn(t *testing.T) {
	on := func(scenario string) Scenario { return Scenario{Metadata: Metadata{Name: scenario}} }
	for _, test := range []struct {
		name      string
		scenarios []string
		on        string
		want      bool
	}{
		{"named", []string{"calico", "calico-older"}, "calico-older", true},
		{"not named", []string{"calico", "calico-older"}, "iptables", false},
		{"the beginning of a name", []string{"calico-older"}, "calico", false},
		{"a name behind one", []string{"calico"}, "calico-older", false},
		{"none named is all", nil, "iptables", true},
		{"an empty list is all", []string{}, "iptables", true},
	} {
		e := Experiment{Spec: ExperimentSpec{Scenarios: test.scenarios}}
		if got := e.On(on(test.on)); got != test.want {
			t.Errorf("%s: on %s is %v", test.name, test.on, got)
		}
	}
}
