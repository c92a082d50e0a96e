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

// Mode is kube-proxy's mode, declared and actual.
type Mode struct {
	// Declared in the kube-proxy ConfigMap.
	Declared Observation `json:"declared"`
	Nodes    []NodeMode  `json:"nodes"`
}

// NodeMode is the mode one node's kube-proxy runs in.
type NodeMode struct {
	Node string `json:"node"`
	// ProxyMode is what its /proxyMode endpoint answers.
	ProxyMode Observation `json:"proxyMode"`
	// Log is the mode its log says it uses ("Using nftables Proxier").
	Log Observation `json:"log"`
}

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
	// Sent is how many connections the probe was told to make.
	Sent     int               `json:"sent"`
	Attempts []traffic.Attempt `json:"attempts"`
	File     string            `json:"file"`
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
}

// NodeTable is one encoding of one node with the raw file it was read from.
type NodeTable struct {
	File string `json:"file"`
	ServiceTable
}

// Translation counts the tracked connections of one kind.
type Translation struct {
	// Destination dialled, Backend it was translated to; the zero AddrPort
	// where it was not.
	Destination netip.AddrPort `json:"destination"`
	Backend     netip.AddrPort `json:"backend"`
	// Masqueraded says that the source address was translated too.
	Masqueraded bool `json:"masqueraded"`
	Count       int  `json:"count"`
	// Ref is the first of them.
	Ref Ref `json:"ref"`
}

// Table returns the node's table of an encoding, nil where it was not read.
func (s NodeState) Table(encoding string) *NodeTable {
	for i := range s.Tables {
		if s.Tables[i].Encoding == encoding {
			return &s.Tables[i]
		}
	}
	return nil
}
