package results

import (
	"time"

	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/guest"
	"service-dataplane/internal/host"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
)

// Run is the provenance of a run: run.yaml. Of evidence that was recorded
// elsewhere it has Imported, Scenario and Experiment alone.
type Run struct {
	APIVersion string `yaml:"apiVersion" json:"apiVersion"`
	Kind       string `yaml:"kind" json:"kind"` // Run
	// Imported says where evidence comes from that no run of this program has
	// recorded; nil in a run.
	Imported *Imported `yaml:"imported,omitempty" json:"imported,omitempty"`
	// Started in UTC.
	Started time.Time `yaml:"started,omitempty" json:"started,omitzero"`
	// Argv of the runner, without the path it was called by.
	Argv    []string   `yaml:"argv,flow,omitempty" json:"argv,omitempty"`
	Harness Harness    `yaml:"harness,omitempty" json:"harness,omitzero"`
	Host    host.Facts `yaml:"host,omitempty" json:"host,omitzero"`
	// Guest is the machine that the cluster ran on, with a kernel of its own; nil
	// where that was the host.
	Guest *Guest           `yaml:"guest,omitempty" json:"guest,omitempty"`
	Image imagebuild.Image `yaml:"nodeImage,omitempty" json:"nodeImage,omitzero"`
	// DataPlane is what was installed; nil where kube-proxy is all there is.
	DataPlane *dataplane.Installed `yaml:"dataPlane,omitempty" json:"dataPlane,omitempty"`
	Workload  WorkloadImage        `yaml:"workloadImage,omitempty" json:"workloadImage,omitzero"`
	// Bundle is what images and charts were taken from; nil where they were
	// pulled or built.
	Bundle *Bundle `yaml:"bundle,omitempty" json:"bundle,omitempty"`
	// KindConfig is the configuration the cluster was created from; where that was
	// for another scenario, ClusterOf names it.
	KindConfig string `yaml:"kindConfig,omitempty" json:"kindConfig,omitempty"`
	// ClusterOf is the scenario that the cluster was made for, if that was another:
	// kube-proxy was reconfigured and restarted for this run.
	ClusterOf string `yaml:"clusterOf,omitempty" json:"clusterOf,omitempty"`
	// Scenario and Experiment as they were when the run was made.
	Scenario   spec.Scenario     `yaml:"scenario" json:"scenario"`
	Experiment spec.Experiment   `yaml:"experiment" json:"experiment"`
	Timings    []progress.Timing `yaml:"timings,omitempty" json:"timings,omitempty"`
}

// Guest is a virtual machine of this program's making.
type Guest struct {
	host.Facts `yaml:",inline"`
	// Image is its root file system and kernel.
	Image     imagebuild.Image `yaml:"image" json:"image"`
	guest.Ran `yaml:",inline"`
	// Timings by the guest's clock; those of the run are by the host's.
	Timings []progress.Timing `yaml:"timings" json:"timings"`
}

// Machine is what the cluster ran on.
func (r Run) Machine() host.Facts {
	if r.Guest != nil {
		return r.Guest.Facts
	}
	return r.Host
}

// Harness is the program that made the run.
type Harness struct {
	// Revision of this tree, "" where it is not a Git checkout.
	Revision string `yaml:"revision" json:"revision"`
	// Modified files outside results/ were not in that revision.
	Modified bool `yaml:"modified" json:"modified"`
	// Modules that decide what a run does, with their versions.
	Modules   map[string]string `yaml:"modules" json:"modules"`
	GoVersion string            `yaml:"goVersion" json:"goVersion"`
}

// Bundle is a bundle by the digest of its index; a directory has none.
type Bundle struct {
	SHA256   string    `yaml:"sha256,omitempty" json:"sha256,omitempty"`
	Created  time.Time `yaml:"created,omitempty" json:"created,omitzero"`
	Revision string    `yaml:"revision,omitempty" json:"revision,omitempty"`
}

// Imported is evidence that was recorded elsewhere.
type Imported struct {
	// Map that was followed, by its name and the digest of its file.
	Map    string `yaml:"map" json:"map"`
	SHA256 string `yaml:"sha256" json:"sha256"`
	// Recorded in UTC.
	Recorded time.Time `yaml:"recorded" json:"recorded"`
	// On is the cluster, its kernel and the versions, as the map has them.
	On string `yaml:"on" json:"on"`
}

// WorkloadImage is the echo image the pods ran.
type WorkloadImage struct {
	Reference string `yaml:"reference" json:"reference"`
	Chart     string `yaml:"chart" json:"chart"` // name-version
}

// Values of APIVersion and Kind of a run.
const runKind = "Run"
