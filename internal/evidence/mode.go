package evidence

import (
	"encoding/json"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
	corev1 "k8s.io/api/core/v1"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// proxier is how kube-proxy 1.35 logs its choice (cmd/kube-proxy/app/server_linux.go).
var proxier = regexp.MustCompile(`"Using (\S+) Proxier"`)

func (s *source) mode() collect.Mode {
	m := collect.Mode{Declared: s.declaredMode()}
	for _, role := range spec.Roles {
		m.Nodes = append(m.Nodes, collect.NodeMode{
			Node:      role,
			ProxyMode: s.word(onNode(role, ProxyModeFile)),
			Log:       s.loggedMode(onNode(role, LogFile)),
		})
	}
	return m
}

func (s *source) declaredMode() collect.Observation {
	declared := collect.Observation{Ref: collect.Ref{File: ConfigMapFile}}
	raw, ok := s.captured(ConfigMapFile)
	if !ok {
		return declared
	}
	var object corev1.ConfigMap
	var config struct {
		Kind string `yaml:"kind"`
		Mode string `yaml:"mode"`
	}
	err := json.Unmarshal(raw, &object)
	if err == nil {
		err = yaml.Unmarshal([]byte(object.Data["config.conf"]), &config)
	}
	switch {
	case err != nil:
		s.problem(ConfigMapFile, "%v", err)
	case config.Kind != "KubeProxyConfiguration":
		s.problem(ConfigMapFile, "holds no KubeProxyConfiguration under config.conf")
	default:
		declared.Value = config.Mode
		declared.Ref.Line.Text = "mode: " + config.Mode
	}
	return declared
}

// word reads a file of one word.
func (s *source) word(file string) collect.Observation {
	raw, _ := s.captured(file)
	value := strings.TrimSpace(string(raw))
	return collect.Observation{
		Value: value,
		Ref:   collect.Ref{File: file, Line: collect.Line{Number: 1, Text: value}},
	}
}

// loggedMode is what the last start in the log chose.
func (s *source) loggedMode(file string) collect.Observation {
	mode := collect.Observation{Ref: collect.Ref{File: file}}
	raw, _ := s.captured(file)
	number := 0
	for line := range strings.Lines(string(raw)) {
		number++
		if match := proxier.FindStringSubmatch(line); match != nil {
			mode.Value = match[1]
			mode.Ref.Line = collect.Line{Number: number, Text: strings.TrimSpace(line)}
		}
	}
	return mode
}
