package spec

import (
	"slices"
	"strconv"
)

// Expectation is what a run of the scenario has to show.
type Expectation struct {
	// Mode is what implements Services: a mode of kube-proxy, cilium or calico.
	Mode string `yaml:"mode" json:"mode"`
	// Encoding is the kernel encoding that must hold the service table.
	Encoding string `yaml:"encoding" json:"encoding"`
	// Forbidden encodings must hold no Service on any node.
	Forbidden []string `yaml:"forbidden" json:"forbidden"`
	// Selection is how backends are chosen: random, round-robin, least-connection
	// or source-hash.
	Selection   string      `yaml:"selection" json:"selection"`
	Source      Source      `yaml:"source" json:"source"`
	Translation Translation `yaml:"translation" json:"translation"`
}

// Source is whose address a backend must see, by the kind of entry point.
type Source struct {
	ClusterIP string `yaml:"clusterIP" json:"clusterIP"`
	NodePort  string `yaml:"nodePort" json:"nodePort"`
	// NodePortFromHost is for connections from outside of the cluster, where
	// they differ from those of a pod.
	NodePortFromHost string `yaml:"nodePortFromHost,omitempty" json:"nodePortFromHost,omitempty"`
}

// Whose source address a backend sees.
const (
	// SourceClient is the prober's own address.
	SourceClient = "client"
	// SourceEntryNode is any address of the node whose NodePort was dialled.
	SourceEntryNode = "entry-node"
	// SourceEntryNodeIfRemote is the prober's own address where the backend is
	// on the node whose NodePort was dialled, an address of that node if not.
	SourceEntryNodeIfRemote = "entry-node-if-remote"
)

// Translation is where the address that a pod dials becomes a backend's, by
// the kind of entry point. Connections from outside of the nodes' cgroups are
// never translated at the socket.
type Translation struct {
	ClusterIP string `yaml:"clusterIP" json:"clusterIP"`
	NodePort  string `yaml:"nodePort" json:"nodePort"`
	// Peername is what getpeername() tells the application of a connection that
	// was translated at the socket: the address it dialled, unless it says
	// backend.
	Peername string `yaml:"peername,omitempty" json:"peername,omitempty"`
}

// Where a connection is translated.
const (
	// TranslatedAtSocket: connect() is given another address, and no packet
	// ever carries the dialled one.
	TranslatedAtSocket = "socket"
	// TranslatedInPacket: packets carry the dialled address until a DNAT.
	TranslatedInPacket = "packet"
)

// What getpeername() tells of a connection that was translated at the socket.
const (
	PeernameDialled = "dialled"
	PeernameBackend = "backend"
)

func (e Expectation) check(v *validation) {
	planes := []string{"iptables", "nftables", "ipvs", "cilium", "calico"}
	v.oneOf(e.Mode, planes, "spec", "expect", "mode")
	v.oneOf(e.Encoding, planes, "spec", "expect", "encoding")
	v.set(e.Forbidden, planes, "spec", "expect", "forbidden")
	if i := slices.Index(e.Forbidden, e.Encoding); i >= 0 && e.Encoding != "" {
		v.fault("is expected and forbidden at once", e.Encoding, "spec", "expect", "forbidden", strconv.Itoa(i))
	}
	v.oneOf(e.Selection, []string{"random", "round-robin", "least-connection", "source-hash"}, "spec", "expect", "selection")
	sources := []string{SourceClient, SourceEntryNode, SourceEntryNodeIfRemote}
	v.oneOf(e.Source.ClusterIP, sources[:2], "spec", "expect", "source", "clusterIP")
	v.oneOf(e.Source.NodePort, sources, "spec", "expect", "source", "nodePort")
	if e.Source.NodePortFromHost != "" {
		v.oneOf(e.Source.NodePortFromHost, sources, "spec", "expect", "source", "nodePortFromHost")
	}
	places := []string{TranslatedAtSocket, TranslatedInPacket}
	v.oneOf(e.Translation.ClusterIP, places, "spec", "expect", "translation", "clusterIP")
	v.oneOf(e.Translation.NodePort, places, "spec", "expect", "translation", "nodePort")
	if e.Translation.Peername != "" {
		v.oneOf(e.Translation.Peername, []string{PeernameDialled, PeernameBackend}, "spec", "expect", "translation", "peername")
	}
}
