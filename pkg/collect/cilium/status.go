package cilium

import (
	"fmt"
	"regexp"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// Status is what the agent says of itself. A value is empty where the agent does
// not say it, as in its first seconds.
type Status struct {
	// KubeProxyReplacement is "True" or "False".
	KubeProxyReplacement string
	// SocketLB says that the connect() of pods and of the node is translated.
	// The ConfigMap's bpf-lb-sock does not tell: the replacement turns it on.
	SocketLB bool
	// AttachMode is how programs are attached to devices: "tc" or "tcx".
	AttachMode string
	// Algorithm of node ports: "Random" or "Maglev"; NodePortMode of theirs:
	// "SNAT", "DSR" or "Hybrid". Empty without the replacement.
	Algorithm, NodePortMode string
	// Masquerading is "BPF" or "iptables"; empty where it is off.
	Masquerading string
	// RoutingMode between nodes is "Tunnel" or "Native"; HostRouting within the
	// node is "BPF" or "Legacy"; TunnelProtocol is "vxlan" or "geneve".
	RoutingMode, HostRouting, TunnelProtocol string
	// Version of the agent, the first word of Message ("1.20.2").
	Version string
	// State is "Ok", "Warning", "Failure" or "Disabled"; Message is the version,
	// followed by what is wrong.
	State, Message string
	// Health is the state of the health daemon, not what it found: see Health.
	Health string
	// KubernetesState is the connection to the API server's.
	KubernetesState string
	// Lines are what to quote for some of these.
	Lines StatusLines
}

// StatusLines say where a value stands, by its path in the file. A false that the
// file leaves out is quoted by the object that would hold it; what the file does
// not have at all is a zero Line.
type StatusLines struct {
	KubeProxyReplacement, SocketLB, AttachMode, Algorithm, Masquerading, Version, State, Health, KubernetesState collect.Line
}

// The form of cilium.msg: pkg/status/status_collector.go.
var versionForm = regexp.MustCompile(`^(\S+) \(v\S*\)`)

// DecodeStatus reads the output of `cilium-dbg status -o json` (Cilium 1.20.2,
// api/v1/models/status_response.go). An error names the line.
func DecodeStatus(raw []byte) (Status, error) {
	r := newReader(StatusFile, raw)
	var s Status
	lines := &s.Lines
	s.KubeProxyReplacement, lines.KubeProxyReplacement = r.text("kube-proxy-replacement", "mode")
	s.SocketLB, lines.SocketLB = r.flag("kube-proxy-replacement", "features", "socketLB", "enabled")
	s.AttachMode, lines.AttachMode = r.text("attach-mode")
	s.Algorithm, lines.Algorithm = r.text("kube-proxy-replacement", "features", "nodePort", "algorithm")
	s.NodePortMode, _ = r.text("kube-proxy-replacement", "features", "nodePort", "mode")
	s.Masquerading, lines.Masquerading = r.text("masquerading", "mode")
	s.RoutingMode, _ = r.text("routing", "inter-host-routing-mode")
	s.HostRouting, _ = r.text("routing", "intra-host-routing-mode")
	s.TunnelProtocol, _ = r.text("routing", "tunnel-protocol")
	s.State, lines.State = r.text("cilium", "state")
	s.Message, lines.Version = r.text("cilium", "msg")
	s.Health, lines.Health = r.text("cluster", "ciliumHealth", "state")
	s.KubernetesState, lines.KubernetesState = r.text("kubernetes", "state")
	if version := versionForm.FindStringSubmatch(s.Message); version != nil {
		s.Version = version[1]
	}
	if r.err != nil {
		return Status{}, r.err
	}
	return s, nil
}

// DecodeVersion reads the version of the agent ("1.20.2") and its line from the
// output of `cilium-dbg version -o json` (Cilium 1.20.2, cilium-dbg/cmd/version.go).
// It is an error where the agent did not answer, which leaves the version empty.
func DecodeVersion(raw []byte) (daemon string, line collect.Line, err error) {
	r := newReader(VersionFile, raw)
	daemon, line = r.text("Daemon", "Version")
	if r.err == nil && daemon == "" {
		r.err = fmt.Errorf("%s: no version of the daemon: it did not answer", VersionFile)
	}
	if r.err != nil {
		return "", collect.Line{}, r.err
	}
	return daemon, line, nil
}

// reader reads values by their path and keeps the first error.
type reader struct {
	file string
	root jsonlines.Value
	err  error
}

func newReader(file string, raw []byte) reader {
	r := reader{file: file}
	root, err := jsonlines.Parse(raw)
	if err == nil && root.Raw[0] != '{' {
		err = root.InsteadOf("{")
	}
	r.root = root
	r.keep(err)
	return r
}

func (r *reader) text(path ...string) (string, collect.Line) {
	value, line, ok := r.find(path)
	if !ok {
		return "", line
	}
	text, err := value.Text()
	r.keep(err)
	return text, line
}

func (r *reader) flag(path ...string) (bool, collect.Line) {
	value, line, ok := r.find(path)
	switch {
	case !ok || string(value.Raw) == "false":
		return false, line
	case string(value.Raw) != "true":
		r.keep(value.InsteadOf("true or false"))
	}
	return true, line
}

// find follows the path as far as the file has it.
func (r *reader) find(path []string) (value jsonlines.Value, line collect.Line, ok bool) {
	if r.err != nil {
		return jsonlines.Value{}, line, false
	}
	value = r.root
	for i, name := range path {
		m, ok, err := value.Get(name)
		r.keep(err)
		if !ok {
			return jsonlines.Value{}, line, false
		}
		value = m.Value
		line = collect.Line{Number: m.NameLine, Text: strings.Join(path[:i+1], ".") + ": " + m.Short()}
	}
	return value, line, true
}

func (r *reader) keep(err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%s: %w", r.file, err)
	}
}
