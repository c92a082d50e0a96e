package collect

import (
	"net/netip"

	"service-dataplane/pkg/collect/traffic"
)

// Evidence is what a run recorded, decoded: the four layers mode, objects,
// traffic and kernel. It is made from the raw files alone.
type Evidence struct {
	Scenario   string `json:"scenario"`
	Experiment string `json:"experiment"`
	// Nodes in the order of their roles.
	Nodes   []Node       `json:"nodes"`
	Mode    Mode         `json:"mode"`
	Objects Objects      `json:"objects"`
	Traffic []EntryPoint `json:"traffic"`
	// Kernel has one entry a node, in the order of Nodes.
	Kernel []NodeState `json:"kernel"`
	// Problems are raw files that are missing, failed or unreadable. What
	// depends on them is absent above, not empty.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is a raw file that could not be used.
type Problem struct {
	// Node and File as in raw/index.json.
	Node string `json:"node"`
	File string `json:"file"`
	Text string `json:"text"`
}

// Node is one node of the cluster.
type Node struct {
	// Role is the name without the cluster's: "control-plane", "worker2".
	Role string `json:"role"`
	// Name in the API.
	Name       string       `json:"name"`
	InternalIP netip.Addr   `json:"internalIP"`
	PodCIDR    netip.Prefix `json:"podCIDR"`
	// Addresses the node has on any interface (ip addr), sorted.
	Addresses []netip.Addr `json:"addresses"`
	// KernelRelease is what uname -r says.
	KernelRelease string `json:"kernelRelease"`
	// KubeletVersion and ContainerRuntime as the node reports them.
	KubeletVersion   string `json:"kubeletVersion"`
	ContainerRuntime string `json:"containerRuntime"`
}

// Mode is what implements Services, declared and actual.
type Mode struct {
	// Declared is the mode in the kube-proxy ConfigMap; Absent where there is
	// none.
	Declared Observation `json:"declared"`
	// Scheduler is the one the same ConfigMap declares for mode ipvs, "" for
	// kube-proxy's default; zero where another mode is declared.
	Scheduler Observation `json:"scheduler,omitzero"`
	// Agent is kube-proxy-replacement in the cilium-config ConfigMap; zero
	// where the scenario installs no Cilium.
	Agent Observation `json:"agent,omitzero"`
	// Calico is what the objects of Calico and of its operator say; nil where the
	// scenario installs no Calico.
	Calico *CalicoMode `json:"calico,omitempty"`
	// KubeProxy says whether there is a DaemonSet of kube-proxy: Present or
	// Absent.
	KubeProxy Observation `json:"kubeProxy"`
	Nodes     []NodeMode  `json:"nodes"`
}

// CalicoMode is what the cluster's objects say of Calico.
type CalicoMode struct {
	// Dataplane is linuxDataplane of the Installation: "BPF", "Iptables", …
	Dataplane Observation `json:"dataplane"`
	// Bootstrap says whether the operator tells Calico how to reach the API server
	// without kube-proxy, and KubeProxyManagement whether it takes kube-proxy off
	// the nodes: "Enabled" or "Disabled".
	Bootstrap           Observation `json:"bootstrap"`
	KubeProxyManagement Observation `json:"kubeProxyManagement"`
	// Version the operator says is installed: "v3.31.7".
	Version Observation `json:"version"`
	// Components are the operator's, in the order of their names.
	Components []Component `json:"components"`
	// BPF, Felix' eBPF data plane, is Enabled or Disabled.
	BPF Observation `json:"bpf"`
	// ConnectTime says whose connect() Felix translates: "TCP", "Enabled" for UDP
	// as well, or "Disabled".
	ConnectTime Observation `json:"connectTime"`
	// UsageReporting to Felix' maker is Enabled or Disabled.
	UsageReporting Observation `json:"usageReporting"`
	// ProxyNodes is how many nodes are meant to have a kube-proxy, in digits, and
	// ProxySelector the label by which the operator keeps it off all of them:
	// Present or Absent. Both are Absent where there is no DaemonSet.
	ProxyNodes    Observation `json:"proxyNodes"`
	ProxySelector Observation `json:"proxySelector"`
}

// Component is what the Tigera operator says of one of its components.
type Component struct {
	Name string `json:"name"`
	// State is "available", "degraded", "progressing" or, where the operator has
	// not made up its mind, "unknown".
	State Observation `json:"state"`
}

// NodeMode is what runs on one node.
type NodeMode struct {
	Node string `json:"node"`
	// ProxyMode is what kube-proxy's /proxyMode endpoint answers; Absent where
	// nothing listens there.
	ProxyMode Observation `json:"proxyMode"`
	// Log is the mode kube-proxy's log says it uses ("Using nftables Proxier");
	// Absent where the node has no kube-proxy pod.
	Log Observation `json:"log"`
	// Notes are what the log says of mode ipvs beside that: that it is deprecated,
	// and which scheduler it takes where none is declared.
	Notes []Observation `json:"notes,omitempty"`
	// Process says whether a process of the name kube-proxy is there: Running
	// or Absent.
	Process Observation `json:"process"`
	// Version is that of what implements Services by the scenario: the image of
	// the node's kube-proxy, or the version of Cilium's agent or of calico-node.
	Version Observation `json:"version"`
	// Agent is what Cilium's agent says; nil without Cilium.
	Agent *AgentMode `json:"agent,omitempty"`
	// Hooks are the programs of Calico that are attached to the node's cgroup, as
	// "name at type", sorted; Absent where none is listed. It is zero without
	// Calico.
	Hooks Observation `json:"hooks,omitzero"`
}

// AgentMode is what Cilium's agent on one node says of itself.
type AgentMode struct {
	// KubeProxyReplacement is "True" or "False".
	KubeProxyReplacement Observation `json:"kubeProxyReplacement"`
	// SocketLB, the translation at connect(), is Enabled or Disabled.
	SocketLB Observation `json:"socketLB"`
	// AttachMode is how programs are attached to devices: "tc" or "tcx".
	AttachMode Observation `json:"attachMode"`
	Version    Observation `json:"version"`
	// State is "Ok", "Warning" or "Failure".
	State Observation `json:"state"`
	// Health is how many nodes its probes reach: "3/3 reachable"; Absent where
	// health checking is off.
	Health Observation `json:"health"`
}

// Values of observations that say whether something is there or on.
const (
	Present  = "present"
	Absent   = "absent"
	Running  = "running"
	Enabled  = "enabled"
	Disabled = "disabled"
)

// Observation is a value and the place it was read at. An empty value means
// that the place does not say.
type Observation struct {
	Value string `json:"value"`
	Ref   Ref    `json:"ref"`
}

// Ref points at a raw file (path below raw/) and, where it has lines, a line.
type Ref struct {
	File string `json:"file"`
	Line Line   `json:"line,omitzero"`
}

// Objects is what the API server holds.
type Objects struct {
	// Service under test; zero name when it is not there.
	Service Service `json:"service"`
	// Endpoints of the Service under test, sorted by node.
	Endpoints []Endpoint `json:"endpoints"`
	// ClientIP is the address of the client pod.
	ClientIP netip.Addr `json:"clientIP"`
	// Pods by address: namespace/name, with the node's role. Host-network
	// pods share their node's address and are left out.
	Pods []Pod `json:"pods"`
	// Expected is Service × EndpointSlice for every Service of the cluster:
	// the table each node should have programmed.
	Expected ServiceTable `json:"expected"`
}

// Service is the Service under test.
type Service struct {
	Namespace  string     `json:"namespace"`
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	ClusterIP  netip.Addr `json:"clusterIP"`
	Port       uint16     `json:"port"`
	TargetPort string     `json:"targetPort"`
	NodePort   uint16     `json:"nodePort"`
	Protocol   string     `json:"protocol"`
}

// Endpoint is one address of an EndpointSlice.
type Endpoint struct {
	Address netip.Addr `json:"address"`
	Port    uint16     `json:"port"`
	// Node is the role of the node the pod runs on.
	Node        string `json:"node"`
	Pod         string `json:"pod"`
	Ready       bool   `json:"ready"`
	Serving     bool   `json:"serving"`
	Terminating bool   `json:"terminating"`
}

// Pod is a pod with an address of its own.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// App is the pod's app.kubernetes.io/name or k8s-app label.
	App     string     `json:"app,omitempty"`
	Node    string     `json:"node"`
	Address netip.Addr `json:"address"`
}

// EntryPoint is what came of the connections through one entry point.
type EntryPoint struct {
	Name string `json:"name"`
	// From and To as the experiment gives them; Node is the role of the node
	// whose NodePort was dialled.
	From string `json:"from"`
	To   string `json:"to"`
	Node string `json:"node,omitempty"`
	// EntryNode is the role of the node on which the connections are to be
	// translated; "" where the experiment does not decide it.
	EntryNode string `json:"entryNode,omitempty"`
	// ExpectedSource is whose address the backends are to see, in the words of
	// scenario files.
	ExpectedSource string `json:"expectedSource,omitempty"`
	// Sent is how many connections the probe was told to make.
	Sent     int               `json:"sent"`
	Attempts []traffic.Attempt `json:"attempts"`
	File     string            `json:"file"`
	// Walks are the ways through the kernel state of the entry node of what was
	// dialled, one for each address and client: as a rule one.
	Walks []Walk `json:"walks,omitempty"`
	// NotWalked says why one of them is not there, or not whole.
	NotWalked []Finding `json:"notWalked,omitempty"`
}

// NodeState is what one node's kernel holds.
type NodeState struct {
	Node string `json:"node"`
	// Tables by encoding: each that could be read, empty ones included.
	Tables []NodeTable `json:"tables"`
	// LiveIptables says which of the two iptables back ends holds
	// kube-proxy's service rules: legacy, nft, both or none.
	LiveIptables string `json:"liveIptables"`
	// IptablesRules has an entry for each iptables dump that holds rules for
	// some Service, in use or not: how many, and where the first one stands.
	IptablesRules []Observation `json:"iptablesRules,omitempty"`
	// Translations are the experiment's connections in connection tracking.
	Translations []Translation `json:"translations"`
	// Scheduled is what IPVS itself records of connections to the Service; nil
	// where that was not read.
	Scheduled *Scheduled `json:"scheduled,omitempty"`
}

// Scheduled is the connection table of IPVS on a node.
type Scheduled struct {
	File string `json:"file"`
	// Connections to the Service under test, in the order of the file. Closed ones
	// are there until they expire.
	Connections []ScheduledConnection `json:"connections"`
	// Totals are what passed all virtual services since IPVS came up on the node;
	// zero where that was not read.
	Totals Observation `json:"totals,omitzero"`
}

// ScheduledConnection is a connection that IPVS has given a backend.
type ScheduledConnection struct {
	// Client is the source as it came, before any masquerade on the node.
	Client netip.AddrPort `json:"client"`
	// Virtual is the virtual service that was dialled.
	Virtual netip.AddrPort `json:"virtual"`
	Backend netip.AddrPort `json:"backend"`
	Line    Line           `json:"line"`
}

// NodeTable is one encoding of one node with the raw file it was read from.
type NodeTable struct {
	File string `json:"file"`
	ServiceTable
}

// Translation counts the tracked connections of one kind.
type Translation struct {
	// Tracker is whose record it is: TrackedByKernel, TrackedByCilium or
	// TrackedByCalico.
	Tracker string `json:"tracker"`
	// Destination dialled, Backend it was translated to; the zero AddrPort
	// where it was not.
	Destination netip.AddrPort `json:"destination"`
	Backend     netip.AddrPort `json:"backend"`
	// Masqueraded says that the source address was translated too. Cilium keeps
	// that elsewhere, and Calico passes connections on with their source.
	Masqueraded bool `json:"masqueraded"`
	// Sources are the addresses that dialled, sorted, each once.
	Sources []netip.Addr `json:"sources"`
	Count   int          `json:"count"`
	// Ref is the first of them.
	Ref Ref `json:"ref"`
}

// The trackers of connections.
const (
	// TrackedByKernel is nf_conntrack, which iptables, nftables and IPVS use.
	TrackedByKernel = "conntrack"
	// TrackedByCilium is Cilium's own BPF map.
	TrackedByCilium = "cilium"
	// TrackedByCalico is Calico's own BPF map.
	TrackedByCalico = "calico"
)

// Table returns the node's table of an encoding, nil where it was not read.
func (s NodeState) Table(encoding string) *NodeTable {
	for i := range s.Tables {
		if s.Tables[i].Encoding == encoding {
			return &s.Tables[i]
		}
	}
	return nil
}
