package spec

import (
	"path/filepath"
	"slices"
	"strconv"
)

// Experiment is one question with its workload, probes and checks. It is a
// file of experiments/.
type Experiment struct {
	APIVersion string         `yaml:"apiVersion" json:"apiVersion"`
	Kind       string         `yaml:"kind" json:"kind"`
	Metadata   Metadata       `yaml:"metadata" json:"metadata"`
	Spec       ExperimentSpec `yaml:"spec" json:"spec"`
}

// ExperimentSpec is the experiment itself.
type ExperimentSpec struct {
	// Scenarios it can be made on; all where it names none.
	Scenarios []string `yaml:"scenarios,omitempty" json:"scenarios,omitempty"`
	// Refusal makes it an experiment of what a data plane refuses to do: there is
	// no workload then, and there are no connections.
	Refusal  *Refusal `yaml:"refusal,omitempty" json:"refusal,omitempty"`
	Workload Workload `yaml:"workload,omitempty" json:"workload,omitzero"`
	// Connections is how many new connections each entry point gets.
	Connections int          `yaml:"connections,omitempty" json:"connections,omitempty"`
	EntryPoints []EntryPoint `yaml:"entryPoints,omitempty" json:"entryPoints,omitempty"`
	// Checks by their ID, in the order of the report.
	Checks []string `yaml:"checks" json:"checks"`
}

// Refusal is an installation of Calico that its operator must not carry out.
type Refusal struct {
	// Values are laid over those of the scenario.
	Values map[string]any `yaml:"values" json:"values"`
	// Component of which the operator has to say why, and a part of what it says.
	Component string `yaml:"component" json:"component"`
	Message   string `yaml:"message" json:"message"`
}

// On says whether the experiment can be made on a scenario.
func (e *Experiment) On(s Scenario) bool {
	return len(e.Spec.Scenarios) == 0 || slices.Contains(e.Spec.Scenarios, s.Metadata.Name)
}

// Workload is what runs in the cluster: a chart and where to find its parts.
type Workload struct {
	// Chart is a directory below the tree's root.
	Chart     string `yaml:"chart" json:"chart"`
	Namespace string `yaml:"namespace" json:"namespace"`
	Service   string `yaml:"service" json:"service"`
	// ClusterPort, TargetPort and NodePort of the Service's one port.
	ClusterPort int `yaml:"clusterPort" json:"clusterPort"`
	TargetPort  int `yaml:"targetPort" json:"targetPort"`
	NodePort    int `yaml:"nodePort" json:"nodePort"`
	// Client is the pod that connects, on the node of ClientNode's role.
	Client     string `yaml:"client" json:"client"`
	ClientNode string `yaml:"clientNode" json:"clientNode"`
	// BackendNodes are the roles of the nodes that run one backend each.
	BackendNodes []string `yaml:"backendNodes" json:"backendNodes"`
}

// EntryPoint is one way into the Service.
type EntryPoint struct {
	Name string `yaml:"name" json:"name"`
	// From is who connects: client (the pod) or host (this machine).
	From string `yaml:"from" json:"from"`
	// To is the address dialled: service-name, cluster-ip or node-port.
	To string `yaml:"to" json:"to"`
	// Node is the role of the node whose NodePort is dialled.
	Node string `yaml:"node,omitempty" json:"node,omitempty"`
}

// The sides and targets of an entry point.
const (
	FromClient = "client"
	FromHost   = "host"

	ToServiceName = "service-name"
	ToClusterIP   = "cluster-ip"
	ToNodePort    = "node-port"
)

// Roles of the nodes of a cluster, in kind's order.
var Roles = []string{"control-plane", "worker", "worker2"}

// MaxConnections bounds what an experiment may send through one entry point.
const MaxConnections = 10000

// LoadExperiment reads one experiment file. checks are the IDs that exist.
func LoadExperiment(file string, checks []string) (Experiment, error) {
	var e Experiment
	err := load(file, &e, func(v *validation) { e.check(v, checks) })
	return e, err
}

func (e *Experiment) check(v *validation, checks []string) {
	v.header(e.APIVersion, e.Kind, "Experiment", e.Metadata)
	for i, name := range e.Spec.Scenarios {
		v.name(name, "spec", "scenarios", strconv.Itoa(i))
	}
	if e.Spec.Refusal != nil {
		e.checkRefusal(v)
	} else {
		e.checkTraffic(v)
	}
	if len(e.Spec.Checks) == 0 {
		v.fault("lists none: an experiment without checks proves nothing", "", "spec", "checks")
	}
	v.set(e.Spec.Checks, checks, "spec", "checks")
}

func (e *Experiment) checkRefusal(v *validation) {
	r := e.Spec.Refusal
	if len(r.Values) == 0 {
		v.fault("has none: nothing to refuse", "", "spec", "refusal", "values")
	}
	v.required(r.Component, "spec", "refusal", "component")
	v.required(r.Message, "spec", "refusal", "message")
	if len(e.Spec.Scenarios) == 0 {
		v.fault("lists none: want those that install Calico", "", "spec", "scenarios")
	}
	for _, field := range []string{"workload", "connections", "entryPoints"} {
		if _, there := v.at("spec", field); there {
			v.fault("has no place beside a refusal: nothing is sent", "", "spec", field)
		}
	}
}

func (e *Experiment) checkTraffic(v *validation) {
	w := e.Spec.Workload
	v.required(w.Chart, "spec", "workload", "chart")
	if w.Chart != "" && !filepath.IsLocal(w.Chart) {
		v.fault("is not below the tree's root", w.Chart, "spec", "workload", "chart")
	}
	v.name(w.Namespace, "spec", "workload", "namespace")
	v.name(w.Service, "spec", "workload", "service")
	v.name(w.Client, "spec", "workload", "client")
	v.number(w.ClusterPort, 1, 65535, "spec", "workload", "clusterPort")
	v.number(w.TargetPort, 1, 65535, "spec", "workload", "targetPort")
	v.number(w.NodePort, 30000, 32767, "spec", "workload", "nodePort")
	v.oneOf(w.ClientNode, Roles, "spec", "workload", "clientNode")
	if len(w.BackendNodes) == 0 {
		v.fault("lists none", "", "spec", "workload", "backendNodes")
	}
	v.set(w.BackendNodes, Roles, "spec", "workload", "backendNodes")
	v.number(e.Spec.Connections, 1, MaxConnections, "spec", "connections")
	v.entryPoints(e.Spec.EntryPoints)
}

func (v *validation) entryPoints(points []EntryPoint) {
	if len(points) == 0 {
		v.fault("lists none", "", "spec", "entryPoints")
	}
	seen := map[string]bool{}
	for i, p := range points {
		at := func(field string) []string { return []string{"spec", "entryPoints", strconv.Itoa(i), field} }
		v.name(p.Name, at("name")...)
		if seen[p.Name] && p.Name != "" {
			v.fault("is there twice", p.Name, at("name")...)
		}
		seen[p.Name] = true
		v.oneOf(p.From, []string{FromClient, FromHost}, at("from")...)
		v.oneOf(p.To, []string{ToServiceName, ToClusterIP, ToNodePort}, at("to")...)
		switch {
		case p.To == ToNodePort:
			v.oneOf(p.Node, Roles, at("node")...)
		case p.Node != "":
			v.fault("belongs to node-port only", p.Node, at("node")...)
		}
		if p.From == FromHost && p.To == ToServiceName {
			v.fault("cannot be resolved from the host", p.To, at("to")...)
		}
	}
}
