package evidence

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/cilium"
)

// proxier is how kube-proxy 1.35 logs its choice (cmd/kube-proxy/app/server_linux.go).
var proxier = regexp.MustCompile(`"Using (\S+) Proxier"`)

// ipvsNote is what it logs of mode ipvs beside that (the same file, and
// pkg/proxy/ipvs/proxier.go).
var ipvsNote = regexp.MustCompile(`"(The ipvs proxier is now deprecated|IPVS scheduler not specified, use \S+ by default)`)

// proxyNamespace is that of kube-proxy.
const proxyNamespace = "kube-system"

// mode reads what is declared and what runs; implements is what implements
// Services by the scenario, whose version is of interest.
func (s *source) mode(pods []corev1.Pod, implements string) collect.Mode {
	m := collect.Mode{KubeProxy: s.daemonSet()}
	m.Declared, m.Scheduler = s.declaredMode()
	if s.cilium {
		m.Agent = s.declaredReplacement()
	}
	if s.operator {
		m.Calico = s.calicoMode()
	}
	// A list of other namespaces alone cannot show that there is no kube-proxy.
	shown := slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Namespace == proxyNamespace })
	for _, role := range spec.Roles {
		proxy := proxyPod(pods, role)
		node := collect.NodeMode{
			Node:      role,
			ProxyMode: s.word(onNode(role, ProxyModeFile)),
			Process:   s.process(onNode(role, ProcessesFile)),
			Version:   s.proxyVersion(proxy, shown),
		}
		node.Log, node.Notes = s.loggedMode(role, proxy, shown)
		if s.cilium {
			node.Agent = s.agent(role)
		}
		if s.calico {
			node.Hooks = s.calicoHooks(role)
		}
		switch implements {
		case "cilium":
			// The running agent's, not that of the client that asks it.
			node.Version = s.versionOf(onNode(role, cilium.VersionFile), cilium.DecodeVersion)
		case "calico":
			node.Version = s.versionOf(onNode(role, calico.VersionFile), calico.DecodeVersion)
		}
		m.Nodes = append(m.Nodes, node)
	}
	return m
}

func (s *source) declaredMode() (mode, scheduler collect.Observation) {
	mode = collect.Observation{Ref: collect.Ref{File: ConfigMapFile}}
	if absent, ok := s.absent(ConfigMapFile); ok {
		return absent, scheduler
	}
	var config struct {
		Kind string `yaml:"kind"`
		Mode string `yaml:"mode"`
		IPVS struct {
			Scheduler string `yaml:"scheduler"`
		} `yaml:"ipvs"`
	}
	data, ok := s.configMap(ConfigMapFile)
	if !ok {
		return mode, scheduler
	}
	err := yaml.Unmarshal([]byte(data["config.conf"]), &config)
	switch {
	case err != nil:
		s.problem(ConfigMapFile, "%v", err)
		return mode, scheduler
	case config.Kind != "KubeProxyConfiguration":
		s.problem(ConfigMapFile, "holds no KubeProxyConfiguration under config.conf")
		return mode, scheduler
	}
	mode.Value = config.Mode
	mode.Ref.Line.Text = "mode: " + config.Mode
	if config.Mode == "ipvs" {
		scheduler.Value = config.IPVS.Scheduler
		scheduler.Ref = collect.Ref{File: ConfigMapFile, Line: collect.Line{Text: fmt.Sprintf("ipvs.scheduler: %q", config.IPVS.Scheduler)}}
	}
	return mode, scheduler
}

// configMap gives the data of a ConfigMap.
func (s *source) configMap(file string) (map[string]string, bool) {
	raw, ok := s.captured(file)
	if !ok {
		return nil, false
	}
	var object corev1.ConfigMap
	if err := json.Unmarshal(raw, &object); err != nil {
		s.problem(file, "%v", err)
		return nil, false
	}
	return object.Data, true
}

// daemonSet says whether kube-proxy has one. How many nodes it is meant for is
// in the line: a selector that fits no node leaves the object in place.
func (s *source) daemonSet() collect.Observation {
	there := collect.Observation{Ref: collect.Ref{File: DaemonSetFile}}
	if absent, ok := s.absent(DaemonSetFile); ok {
		return absent
	}
	object := decoded(s, DaemonSetFile, decodeDaemonSet)
	if s.unusable[DaemonSetFile] {
		return there
	}
	there.Value = collect.Present
	there.Ref.Line.Text = fmt.Sprintf("desiredNumberScheduled: %d", object.Status.DesiredNumberScheduled)
	return there
}

func decodeDaemonSet(raw []byte) (object appsv1.DaemonSet, err error) {
	if err = json.Unmarshal(raw, &object); err == nil && object.Kind != "DaemonSet" {
		err = fmt.Errorf("kind is %q, want DaemonSet", object.Kind)
	}
	return object, err
}

// versionOf is what a program that runs on a node says of its version.
func (s *source) versionOf(file string, decode func([]byte) (string, collect.Line, error)) collect.Observation {
	version := collect.Observation{Ref: collect.Ref{File: file}}
	raw, ok := s.captured(file)
	if !ok {
		return version
	}
	var err error
	if version.Value, version.Ref.Line, err = decode(raw); err != nil {
		s.problem(file, "%v", err)
	}
	return version
}

// word reads a file of one word, which may be absent.
func (s *source) word(file string) collect.Observation {
	if absent, ok := s.absent(file); ok {
		return absent
	}
	raw, _ := s.captured(file)
	value := strings.TrimSpace(string(raw))
	return collect.Observation{
		Value: value,
		Ref:   collect.Ref{File: file, Line: collect.Line{Number: 1, Text: value}},
	}
}

// loggedMode is what the last start in the log chose, and what it noted of that.
// Where there is no kube-proxy pod there was no log to record.
func (s *source) loggedMode(role string, proxy *corev1.Pod, shown bool) (mode collect.Observation, notes []collect.Observation) {
	file := onNode(role, LogFile)
	if _, recorded := s.records[file]; !recorded && proxy == nil && shown {
		return noProxyPod(), nil
	}
	mode.Ref.File = file
	raw, _ := s.captured(file)
	number := 0
	for line := range strings.Lines(string(raw)) {
		number++
		at := collect.Ref{File: file, Line: collect.Line{Number: number, Text: strings.TrimSpace(line)}}
		if match := proxier.FindStringSubmatch(line); match != nil {
			mode = collect.Observation{Value: match[1], Ref: at}
			notes = nil
		}
		if match := ipvsNote.FindStringSubmatch(line); match != nil {
			notes = append(notes, collect.Observation{Value: match[1], Ref: at})
		}
	}
	return mode, notes
}

func noProxyPod() collect.Observation {
	return collect.Observation{
		Value: collect.Absent,
		Ref:   collect.Ref{File: PodsFile, Line: collect.Line{Text: "no pod of the node is labelled k8s-app=kube-proxy"}},
	}
}

// proxyPod is a node's kube-proxy pod, nil where the list has none. One that is
// being deleted counts only where there is no other.
func proxyPod(pods []corev1.Pod, role string) *corev1.Pod {
	var leaving *corev1.Pod
	for i, p := range pods {
		switch {
		case p.Namespace != proxyNamespace || p.Labels["k8s-app"] != "kube-proxy" || roleOf(p.Spec.NodeName) != role:
		case p.DeletionTimestamp != nil:
			leaving = &pods[i]
		default:
			return &pods[i]
		}
	}
	return leaving
}

// proxyVersion is the image a node's kube-proxy runs. Its ID tells two images
// of one name apart.
func (s *source) proxyVersion(proxy *corev1.Pod, shown bool) collect.Observation {
	version := collect.Observation{Ref: collect.Ref{File: PodsFile}}
	switch {
	case proxy == nil && shown:
		return noProxyPod()
	case proxy == nil:
		return version
	}
	for _, c := range proxy.Status.ContainerStatuses {
		if c.Name == "kube-proxy" {
			version.Value = fmt.Sprintf("%s (%s)", c.Image, c.ImageID)
			version.Ref.Line.Text = fmt.Sprintf("Pod %s: image: %s, imageID: %s", proxy.Name, c.Image, c.ImageID)
		}
	}
	return version
}

// process looks for kube-proxy in the output of "ps -eo pid,comm,args" (procps-ng
// 4.0). Only a list with its header and at least one process can prove that
// there is none.
func (s *source) process(file string) collect.Observation {
	process := collect.Observation{Ref: collect.Ref{File: file}}
	raw, ok := s.captured(file)
	if !ok {
		return process
	}
	number := 0
	for line := range strings.Lines(string(raw)) {
		number++
		words := strings.Fields(line)
		switch {
		case number == 1 && (len(words) < 2 || words[0] != "PID" || words[1] != "COMMAND"):
			s.problem(file, "line 1 is not the header of ps -eo pid,comm,args: %.100q", line)
			return process
		case number > 1 && len(words) > 1 && words[1] == "kube-proxy":
			process.Value = collect.Running
			process.Ref.Line = collect.Line{Number: number, Text: strings.TrimSpace(line)}
			return process
		}
	}
	if number < 2 {
		s.problem(file, "lists no process")
		return process
	}
	process.Value = collect.Absent
	process.Ref.Line.Text = fmt.Sprintf("%d processes, none is kube-proxy", number-1)
	return process
}
