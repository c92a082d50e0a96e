package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// provenance is what two runs were made with and of, where it differs.
func provenance(base, new Result) []string {
	made := func(r Result) []Field {
		return slices.Concat(Circumstances(r.Run, r.Evidence), flatten("scenario file ", r.Run.Scenario.Spec), flatten("experiment file ", r.Run.Experiment.Spec))
	}
	return changes(made(base), made(new))
}

// Circumstances are what can explain what a run showed: versions, images,
// machine. Times and sizes are left out, and how many processors and how much
// memory there are.
func Circumstances(run results.Run, e collect.Evidence) []Field {
	all := []Field{}
	add := func(name, value string) { all = append(all, Field{name, value}) }
	image := func(name string, of imagebuild.Image) {
		add(name, of.Reference)
		add(name+" ID", abbreviated(of.ID))
	}
	nodes := func(value func(collect.Node) string) string {
		return distinct(e.Nodes, value)
	}
	add("Kubernetes", nodes(func(n collect.Node) string { return n.KubeletVersion }))
	add("kernel", nodes(func(n collect.Node) string { return n.KernelRelease }))
	add("container runtime", nodes(func(n collect.Node) string { return n.ContainerRuntime }))
	add("version that runs", distinct(e.Mode.Nodes, func(n collect.NodeMode) string { return n.Version.Value }))
	image("node image", run.Image)
	if run.DataPlane != nil {
		add("data plane", run.DataPlane.Name+" "+run.DataPlane.Version)
		add("chart", run.DataPlane.Chart)
		for _, part := range slices.Sorted(maps.Keys(run.DataPlane.Images)) {
			image("image "+part, run.DataPlane.Images[part])
		}
	}
	add("workload image", run.Workload.Reference)
	add("workload chart", run.Workload.Chart)
	machine := run.Machine()
	add("operating system", machine.OS)
	add("architecture", machine.Arch)
	add("cgroups", machine.CgroupVersion)
	add("engine", machine.EngineVersion)
	add("storage driver", machine.StorageDriver)
	add("missing capabilities", strings.Join(machine.MissingCapabilities, ", "))
	if run.Guest != nil {
		add("guest", run.Guest.Emulator)
		add("accelerator", run.Guest.Accelerator)
		add("clock", run.Guest.Clock)
		image("guest image", run.Guest.Image)
	}
	if run.Bundle != nil {
		add("bundle", abbreviated(run.Bundle.SHA256))
	}
	if run.Imported != nil {
		add("imported by map", run.Imported.Map+" "+abbreviated(run.Imported.SHA256))
		add("imported from", run.Imported.On)
	}
	harness := abbreviated(run.Harness.Revision)
	if run.Harness.Modified {
		harness += ", modified"
	}
	add("harness", harness)
	add("Go", run.Harness.GoVersion)
	for _, module := range slices.Sorted(maps.Keys(run.Harness.Modules)) {
		add("module "+module, run.Harness.Modules[module])
	}
	return all
}

// distinct values in their order.
func distinct[T any](all []T, value func(T) string) string {
	var texts []string
	for _, one := range all {
		if text := value(one); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", ")
}

// abbreviated is a digest or revision as far as people compare them.
func abbreviated(hex string) string {
	hex = strings.TrimPrefix(hex, "sha256:")
	return hex[:min(len(hex), 12)]
}

// flatten has a field for each value of a file, by its path.
func flatten(prefix string, of any) []Field {
	raw, err := json.Marshal(of)
	if err != nil { // a chart's value that only YAML has
		return []Field{{prefix, fmt.Sprint(of)}}
	}
	var tree any
	_ = json.Unmarshal(raw, &tree) // it has just been written
	var all []Field
	var walk func(at string, value any)
	walk = func(at string, value any) {
		switch value := value.(type) {
		case nil:
			all = append(all, Field{at, ""})
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				walk(at+"."+key, value[key])
			}
		case []any:
			if simple(value) { // an element more would move all that follow
				all = append(all, Field{at, strings.Trim(fmt.Sprint(value), "[]")})
				return
			}
			for i, one := range value {
				walk(at+"."+strconv.Itoa(i), one)
			}
		default:
			all = append(all, Field{at, fmt.Sprint(value)})
		}
	}
	walk(prefix+"spec", tree)
	return all
}

// simple says that a list holds neither lists nor fields.
func simple(list []any) bool {
	return !slices.ContainsFunc(list, func(one any) bool {
		switch one.(type) {
		case []any, map[string]any:
			return true
		}
		return false
	})
}
