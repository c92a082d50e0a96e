package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// toPrepare is a lab for some scenarios of toPack on a host with an engine that
// has images, and runs script before it answers.
func toPrepare(t *testing.T, script, choice string, has func(images map[string]string), scenarios ...string) (*lab, func() []string) {
	t.Helper()
	options, images := toPack(t)
	options.ImageSource = choice
	options.Experiment.Metadata.Name = "service-path"
	options.Scenarios = slices.DeleteFunc(options.Scenarios, func(s spec.Scenario) bool { return !slices.Contains(scenarios, s.Metadata.Name) })
	if has != nil {
		has(images)
	}
	return &lab{Options: options, show: quiet(t)}, engine(t, script, images)
}

// whereToGet is the one command that a skip ends with, and what to do then.
func whereToGet(scenario string) string {
	return fmt.Sprintf("\n  → where a registry answers: runner bundle create --scenario %[1]s -o %[1]s.tar\n    then here: runner run --scenario %[1]s --bundle %[1]s.tar", scenario)
}

// TestPrepareSkips: a scenario whose images cannot be had is skipped with the
// reason and the way to get them, and stands in no other's way.
func TestPrepareSkips(t *testing.T) {
	without := func(version string) func(map[string]string) {
		return func(images map[string]string) {
			for reference := range images {
				if strings.HasSuffix(images[reference], version) {
					delete(images, reference)
				}
			}
		}
	}
	const nothing = "what it is installed from is not to be had here: "
	for _, test := range []struct {
		name, choice string
		has          func(map[string]string)
		scenarios    []string
		skips        map[string]string // reasons by scenario
		planes       []string
	}{
		{"Calico", imagebuild.Auto, without("v3.31.7"), []string{"nftables", "cilium", "calico-ebpf"},
			map[string]string{"calico-ebpf": nothing + "no registry answers for tigera-operator v3.31.7, and this tree has no source to build it from"},
			[]string{"cilium"}},
		{"one image of Calico", imagebuild.Auto, func(images map[string]string) { delete(images, "quay.io/calico/typha:v3.31.7") }, []string{"nftables", "calico-ebpf"},
			map[string]string{"calico-ebpf": nothing + "no registry answers for tigera-operator v3.31.7, and this tree has no source to build it from"}, nil},
		{"Calico, by choice from source", imagebuild.Source, nil, []string{"nftables", "cilium-1-19", "calico-ebpf"}, map[string]string{
			"cilium-1-19": nothing + "cilium 1.19.8 cannot be built from source\n  → --image-source registry",
			"calico-ebpf": nothing + "tigera-operator v3.31.7 cannot be built from source\n  → --image-source registry",
		}, nil},
		{"two scenarios of one data plane", imagebuild.Auto, without("1.20.2"), []string{"nftables", "cilium", "cilium-kube-proxy", "cilium-1-19"}, map[string]string{
			"cilium":            nothing + "no registry answers for cilium 1.20.2, and this tree has no source to build it from",
			"cilium-kube-proxy": nothing + "no registry answers for cilium 1.20.2, and this tree has no source to build it from",
		}, []string{"cilium-1-19"}},
		{"nothing of two scenarios of one data plane", imagebuild.Auto, nil, []string{"nftables", "cilium", "cilium-kube-proxy"}, nil, []string{"cilium", "cilium-kube-proxy"}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			l, asked := toPrepare(t, "", test.choice, test.has, test.scenarios...)
			before := outcomes{{Scenario: "ipvs", Verdict: collect.Skip, Reason: "no ip_vs"}}
			l.Scenarios = append(l.Scenarios, named("ipvs", ""))
			runnable := l.Scenarios[:len(l.Scenarios)-1]
			skipped, err := l.prepare(t.Context(), runnable, slices.Clone(before))
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(before)
			for _, s := range runnable {
				if reason, skips := test.skips[s.Metadata.Name]; skips {
					want = append(want, Outcome{Scenario: s.Metadata.Name, Experiment: "service-path", Verdict: collect.Skip, Reason: reason + whereToGet(s.Metadata.Name)})
				}
			}
			if !reflect.DeepEqual(skipped, want) {
				t.Errorf("skipped\n%+v\nwant\n%+v", skipped, want)
			}
			var planes []string
			for name := range l.planes {
				planes = append(planes, name)
			}
			if slices.Sort(planes); !slices.Equal(planes, test.planes) {
				t.Errorf("prepared %q, want %q", planes, test.planes)
			}
			if l.image.Reference != builtNode || l.echo.Reference == "" {
				t.Errorf("node image %+v, workload %+v", l.image, l.echo)
			}
			// Each data plane once, whatever came of it.
			saves := 0
			for _, a := range asked() {
				if strings.HasPrefix(a, "save ") {
					saves++
				}
			}
			versions := map[string]bool{}
			for _, name := range test.planes {
				versions[strings.TrimSuffix(name, "-kube-proxy")] = true
			}
			if saves != len(versions) {
				t.Errorf("asked %q, want %d archives", asked(), len(versions))
			}
		})
	}
}

// TestPrepareNothing: where everything is skipped no node image is looked for.
func TestPrepareNothing(t *testing.T) {
	l, asked := toPrepare(t, "exit 1", imagebuild.Auto, nil, "calico-ebpf")
	skipped, err := l.prepare(t.Context(), l.Scenarios, nil)
	if err != nil || len(skipped) != 1 || skipped[0].Verdict != collect.Skip || !strings.HasSuffix(skipped[0].Reason, whereToGet("calico-ebpf")) || len(l.planes) != 0 {
		t.Errorf("skipped %+v, %v", skipped, err)
	}
	if slices.ContainsFunc(asked(), func(a string) bool { return strings.Contains(a, builtNode) }) || l.echo.Reference != "" {
		t.Errorf("asked %q, workload %+v", asked(), l.echo)
	}
}

// TestPrepareWithoutChart: images alone are not enough, and the chart's absence
// is no failure of the run.
func TestPrepareWithoutChart(t *testing.T) {
	l, _ := toPrepare(t, "", imagebuild.Auto, nil, "calico-ebpf")
	l.Options.Lock.Charts[2].Repository += "/nosuch"
	skipped, err := l.prepare(t.Context(), l.Scenarios, nil)
	if err != nil || len(skipped) != 1 || skipped[0].Verdict != collect.Skip {
		t.Fatalf("skipped %+v, %v", skipped, err)
	}
	for _, says := range []string{"chart tigera-operator v3.31.7: ", "/nosuch", "runner bundle create --scenario calico-ebpf"} {
		if !strings.Contains(skipped[0].Reason, says) {
			t.Errorf("says %q, want %q", skipped[0].Reason, says)
		}
	}
}

// TestPrepareFails: what is no matter of images is an error, and nothing of it a
// skip.
func TestPrepareFails(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(ErrInterrupted)
	for _, test := range []struct {
		name   string
		ctx    context.Context
		script string
		says   string
	}{
		{"no room", t.Context(), `case "$3" in */tigera-operator-v3.31.7.tar) echo no space left on device >&2; exit 1;; esac`, "save the images of tigera-operator: "},
		{"interrupted", interrupted, "", "interrupted"},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			l, _ := toPrepare(t, test.script, imagebuild.Auto, nil, "calico-ebpf")
			skipped, err := l.prepare(test.ctx, l.Scenarios, nil)
			if err == nil || !strings.Contains(err.Error(), test.says) || skipped != nil {
				t.Errorf("skipped %+v, %v; want %q", skipped, err, test.says)
			}
			if test.ctx.Err() != nil && !errors.Is(err, ErrInterrupted) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestPrepareArchives: data planes and versions do not share a file.
func TestPrepareArchives(t *testing.T) {
	l, _ := toPrepare(t, "", imagebuild.Auto, nil, "cilium", "cilium-1-19", "calico-ebpf")
	if _, err := l.prepare(t.Context(), l.Scenarios, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cilium-1.20.2.tar", "cilium-1.19.8.tar", "tigera-operator-v3.31.7.tar"} {
		if info, err := os.Stat(filepath.Join(l.WorkDir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if p := l.planes["calico-ebpf"]; p.Names["operator"] != "quay.io/tigera/operator:v1.40.15" || p.Images["node"].Reference != "quay.io/calico/node:v3.31.7@"+served || p.Chart.Chart == nil || p.Chart.Name() != spec.CalicoChart {
		t.Errorf("plane %+v", p)
	}
}

// TestLaidOver: what is asked for in an experiment of a refusal. Scenario and
// experiment are recorded as they are in their files.
func TestLaidOver(t *testing.T) {
	type table = map[string]any
	values := func() table {
		return table{
			"installation": table{"calicoNetwork": table{"linuxDataplane": "BPF", "ipPools": []any{table{"cidr": "10.244.0.0/16"}}}, "flexVolumePath": "None"},
			"whisker":      table{"enabled": false},
		}
	}
	for _, test := range []struct {
		name       string
		over, want table
	}{
		{"nothing", nil, values()},
		{"a list takes the place of a list", table{"installation": table{"calicoNetwork": table{"ipPools": []any{table{"cidr": "192.168.0.0/16"}}}}}, table{
			"installation": table{"calicoNetwork": table{"linuxDataplane": "BPF", "ipPools": []any{table{"cidr": "192.168.0.0/16"}}}, "flexVolumePath": "None"},
			"whisker":      table{"enabled": false},
		}},
		{"what is new", table{"goldmane": table{"enabled": false}, "installation": table{"calicoNetwork": table{"bgp": "Disabled"}}}, table{
			"installation": table{"calicoNetwork": table{"linuxDataplane": "BPF", "bgp": "Disabled", "ipPools": []any{table{"cidr": "10.244.0.0/16"}}}, "flexVolumePath": "None"},
			"whisker":      table{"enabled": false}, "goldmane": table{"enabled": false},
		}},
		{"text over a table, and a table over text", table{"whisker": "off", "installation": table{"flexVolumePath": table{"at": "/"}}}, table{
			"installation": table{"calicoNetwork": table{"linuxDataplane": "BPF", "ipPools": []any{table{"cidr": "10.244.0.0/16"}}}, "flexVolumePath": table{"at": "/"}},
			"whisker":      "off",
		}},
		{"false is a value", table{"whisker": table{"enabled": true}, "installation": table{"flexVolumePath": false}}, table{
			"installation": table{"calicoNetwork": table{"linuxDataplane": "BPF", "ipPools": []any{table{"cidr": "10.244.0.0/16"}}}, "flexVolumePath": false},
			"whisker":      table{"enabled": true},
		}},
	} {
		below, over := values(), fmt.Sprint(test.over)
		if got := laidOver(below, test.over); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got\n%v, want\n%v", test.name, got, test.want)
		}
		if !reflect.DeepEqual(below, values()) || fmt.Sprint(test.over) != over {
			t.Errorf("%s: values are now %v, and over them %v", test.name, below, test.over)
		}
	}
	if got := laidOver(nil, table{"a": 1}); !reflect.DeepEqual(got, table{"a": 1}) {
		t.Errorf("over nothing: %v", got)
	}
}
