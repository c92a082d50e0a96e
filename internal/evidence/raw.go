package evidence

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
)

// IndexFile lists every other file of the raw directory.
const IndexFile = "index.json"

// NeverCollected is the text of a problem with a file that the index does not
// have: nothing went wrong with it.
const NeverCollected = "not in " + IndexFile + ": never collected"

// Files of what the API server answered.
const (
	ServicesFile       = "cluster/services.json"
	EndpointSlicesFile = "cluster/endpointslices.json"
	PodsFile           = "cluster/pods.json"
	NodesFile          = "cluster/nodes.json"
	ConfigMapFile      = "cluster/kube-proxy-configmap.json"
	DaemonSetFile      = "cluster/kube-proxy-daemonset.json"
	// CiliumConfigFile is there only where the scenario installs Cilium, as are
	// the files of package cilium on every node.
	CiliumConfigFile = "cluster/cilium-config.json"
	// These are there only where it installs Calico, as are the files of package
	// calico on every node.
	TigeraStatusFile = "cluster/tigerastatus.json"
	InstallationFile = "cluster/installation.json"
	FelixFile        = "cluster/felixconfiguration.json"
)

// Files of every node, below its role, beside those of the kernel encodings.
const (
	LogFile       = "kube-proxy.log"
	ProxyModeFile = "proxyMode.txt"
	ProcessesFile = "processes.txt" // ps -eo pid,comm,args
	AddressesFile = "ip-addr.json"
	UnameFile     = "uname.txt"
)

// TrafficFile is where the connections through an entry point are.
func TrafficFile(p spec.EntryPoint) string {
	return p.From + "/" + p.Name + ".jsonl"
}

// Decode reads the raw directory of a run. An error means that the index is
// not readable; what is wrong with any other file is in Problems. A file that
// is not what the index says it was is used all the same: see Altered.
func Decode(raw fs.FS, scenario spec.Scenario, experiment spec.Experiment) (collect.Evidence, error) {
	s, err := open(raw)
	if err != nil {
		return collect.Evidence{}, err
	}
	plane := scenario.Spec.DataPlane
	s.cilium, s.operator, s.refusal = plane.Cilium != nil, plane.Calico != nil, experiment.Spec.Refusal != nil
	s.calico = s.operator && !s.refusal
	implements := scenario.Spec.Expect.Mode
	if s.refusal {
		implements = scenario.Spec.Cluster.KubeProxyMode
	}
	e := collect.Evidence{Scenario: scenario.Metadata.Name, Experiment: experiment.Metadata.Name}
	workload := experiment.Spec.Workload
	api := s.readObjects()
	e.Nodes = s.nodes(api.nodes)
	e.Mode = s.mode(api.pods, implements)
	e.Objects = api.under(workload)
	e.Objects.Expected = s.expected(api, collect.Selection(scenario.Spec.Expect.Selection))
	e.Traffic = s.traffic(experiment.Spec, scenario.Spec.Expect)
	for _, role := range spec.Roles {
		e.Kernel = append(e.Kernel, s.kernel(role, e.Objects.Service))
	}
	for i := range e.Traffic {
		s.walk(e, &e.Traffic[i])
	}
	e.Problems = s.problems
	return e, nil
}

// Altered compares the raw directory with its index and names every file that
// has changed since it was recorded, is missing, or was never recorded.
func Altered(raw fs.FS) ([]collect.Problem, error) {
	records, err := readIndex(raw)
	if err != nil {
		return nil, err
	}
	var altered []collect.Problem
	recorded := map[string]bool{IndexFile: true}
	for _, r := range records {
		recorded[r.File] = true
		data, err := fs.ReadFile(raw, r.File)
		sum := sha256.Sum256(data)
		switch {
		case errors.Is(err, fs.ErrNotExist) && r.Bytes == 0 && r.Outcome != collect.Captured:
		case err != nil:
			altered = append(altered, collect.Problem{Node: r.Node, File: r.File, Text: fmt.Sprintf("missing: %v", err)})
		case hex.EncodeToString(sum[:]) != r.SHA256:
			altered = append(altered, collect.Problem{
				Node: r.Node, File: r.File,
				Text: fmt.Sprintf("changed since it was recorded: %d bytes with SHA-256 %x, recorded %d with %s", len(data), sum, r.Bytes, r.SHA256),
			})
		}
	}
	err = fs.WalkDir(raw, ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !recorded[file] {
			altered = append(altered, collect.Problem{Node: nodeOf(file), File: file, Text: "not in " + IndexFile + ": no command printed it"})
		}
		return err
	})
	return altered, err
}

func readIndex(raw fs.FS) ([]collect.Record, error) {
	data, err := fs.ReadFile(raw, IndexFile)
	if err != nil {
		return nil, err
	}
	var records []collect.Record
	if err := json.Unmarshal(data, &records); err != nil {
		return nil, fmt.Errorf("%s: %w", IndexFile, err)
	}
	seen := map[string]bool{}
	for _, r := range records {
		if seen[r.File] {
			return nil, fmt.Errorf("%s: two commands have printed %s", IndexFile, r.File)
		}
		seen[r.File] = true
	}
	return records, nil
}

func nodeOf(file string) string {
	node, _, _ := strings.Cut(file, "/")
	return node
}

// Outputs are what the commands of a run printed, for those who read a node's files
// beyond what evidence is made of.
type Outputs struct{ source *source }

// OpenOutputs reads the index of a raw directory.
func OpenOutputs(raw fs.FS) (Outputs, error) {
	s, err := open(raw)
	return Outputs{s}, err
}

// Of is what a command printed; empty where it said that what it reads does not
// exist, or was never run. The output of one that failed is an error.
func (o Outputs) Of(file string) ([]byte, error) {
	r, recorded := o.source.records[file]
	switch {
	case !recorded || r.Outcome == collect.NotThere:
		return nil, nil
	case r.Outcome == collect.Failed:
		return nil, fmt.Errorf("%s proves nothing: %s", file, failure(r))
	}
	return fs.ReadFile(o.source.raw, file)
}

// source is a raw directory. It notes what cannot be used, each file once.
type source struct {
	raw     fs.FS
	records map[string]collect.Record
	// The scenario installs it, so its files must be there: Cilium, the Tigera
	// operator, and what that runs on the nodes.
	cilium, operator, calico bool
	// refusal: nothing was sent and no connection is tracked.
	refusal  bool
	problems []collect.Problem
	unusable map[string]bool
}

func open(raw fs.FS) (*source, error) {
	records, err := readIndex(raw)
	if err != nil {
		return nil, err
	}
	s := &source{raw: raw, records: map[string]collect.Record{}, unusable: map[string]bool{}}
	for _, r := range records {
		s.records[r.File] = r
		if r.Outcome == collect.Failed {
			s.problem(r.File, "%s", failure(r))
		} else if _, err := fs.Stat(raw, r.File); err != nil && r.Outcome == collect.Captured {
			s.problem(r.File, "missing: %v", err)
		}
	}
	return s, nil
}

func failure(r collect.Record) string {
	text := fmt.Sprintf("%s: exit code %d", strings.Join(r.Argv, " "), r.ExitCode)
	for _, more := range []string{r.Error, strings.TrimSpace(r.Stderr)} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

func (s *source) problem(file, format string, args ...any) {
	if s.unusable[file] {
		return
	}
	s.unusable[file] = true
	s.problems = append(s.problems, collect.Problem{Node: nodeOf(file), File: file, Text: fmt.Sprintf(format, args...)})
}

// captured gives what a command printed. Where it printed nothing that could
// prove anything, that is noted and ok is false.
func (s *source) captured(file string) (data []byte, ok bool) {
	if r := s.records[file]; r.Outcome == collect.NotThere {
		s.problem(file, "%s", failure(r))
	}
	return s.optional(file)
}

// optional is captured for a command that may answer that what it reads does
// not exist: then there is no data, and that is proven.
func (s *source) optional(file string) (data []byte, ok bool) {
	r, recorded := s.records[file]
	switch {
	case s.unusable[file]:
		return nil, false
	case !recorded:
		s.problem(file, NeverCollected)
		return nil, false
	case r.Outcome == collect.NotThere:
		return nil, true
	}
	data, err := fs.ReadFile(s.raw, file)
	if err != nil {
		s.problem(file, "%v", err)
	}
	return data, err == nil
}

// absent says, for a command that may answer that what it reads does not exist,
// whether it did, and quotes its words.
func (s *source) absent(file string) (collect.Observation, bool) {
	r := s.records[file]
	if r.Outcome != collect.NotThere || s.unusable[file] {
		return collect.Observation{}, false
	}
	said := cmp.Or(strings.TrimSpace(r.Stderr), r.Error, failure(r))
	return collect.Observation{Value: collect.Absent, Ref: collect.Ref{File: file, Line: collect.Line{Text: said}}}, true
}

// onNode is a file's path below raw/.
func onNode(role, file string) string { return path.Join(role, file) }
