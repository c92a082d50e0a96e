package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/evidence"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/cilium"
	"service-dataplane/pkg/collect/iptables"
)

// installCilium adds what a run with Cilium records: in kube-proxy's place, or
// as the pod network beside it. One node was recorded, with the replacement;
// the others and the control are made from its files.
func (f *fixture) installCilium(replaces bool) {
	f.Helper()
	f.run.Scenario.Spec.Cluster.CNI = "cilium"
	f.run.DataPlane = &dataplane.Installed{
		Name: "cilium", Version: "1.20.2", Chart: "module github.com/cilium/cilium v1.20.2, checked by images/cilium/go.sum",
		Images: dataplane.Images{
			"operator": imagebuild.Image{Reference: "quay.io/cilium/operator-generic:v1.20.2", Origin: "registry"},
			"agent":    imagebuild.Image{Reference: "localhost/cilium:v1.20.2-0123", Origin: "source", ContentKey: "0123"},
		},
		Values: map[string]any{"kubeProxyReplacement": replaces, "ipam": map[string]any{"mode": "kubernetes"}},
	}
	config := fmt.Sprintf(`{"kind":"ConfigMap","data":{"kube-proxy-replacement":"%t","bpf-lb-sock":"false"}}`, replaces)
	f.file(evidence.CiliumConfigFile, config)
	f.e.Mode.Agent = collect.Observation{Value: fmt.Sprint(replaces), Ref: collect.Ref{
		File: evidence.CiliumConfigFile, Line: collect.Line{Text: fmt.Sprintf("kube-proxy-replacement: %q", fmt.Sprint(replaces))},
	}}
	expect := spec.TranslatedInPacket
	if replaces {
		expect = spec.TranslatedAtSocket
		f.run.DataPlane.Deviations = []string{"built from the Go module", "containers without CAP_SYS_RESOURCE"}
		for line := range 20 {
			f.run.DataPlane.Values[fmt.Sprintf("value%02d", line)] = line
		}
		f.withoutProxy()
		f.socketLB()
	} else {
		f.e.Traffic[0].EntryNode, f.e.Traffic[1].EntryNode = "worker2", "worker"
		f.e.Mode.KubeProxy = f.observed(evidence.DaemonSetFile, collect.Present, 0, "desiredNumberScheduled: 3")
	}
	f.run.Scenario.Spec.Expect.Translation = spec.Translation{ClusterIP: expect, NodePort: expect}
	for i, role := range spec.Roles {
		f.ciliumNode(i, role, replaces)
	}
}

// observed is an observation in a file that is made up where it is not there.
func (f *fixture) observed(file, value string, line int, text string) collect.Observation {
	if f.raw[file] == nil {
		f.file(file, strings.Repeat("…\n", max(1, line)))
	}
	return collect.Observation{Value: value, Ref: collect.Ref{File: file, Line: collect.Line{Number: line, Text: text}}}
}

func (f *fixture) withoutProxy() {
	const notFound = "Error from server (NotFound): the server could not find the requested resource"
	f.file(evidence.ConfigMapFile, "")
	f.e.Mode.Declared = f.observed(evidence.ConfigMapFile, collect.Absent, 0, notFound)
	f.e.Mode.KubeProxy = f.observed(evidence.DaemonSetFile, collect.Absent, 0, notFound)
	f.withoutProxyPods()
}

func (f *fixture) withoutProxyPods() {
	for i := range f.e.Mode.Nodes {
		n := &f.e.Mode.Nodes[i]
		n.ProxyMode = f.observed(n.Node+"/proxyMode.txt", collect.Absent, 0, "curl: (7) Failed to connect to 127.0.0.1 port 10249")
		n.Log = f.observed(evidence.PodsFile, collect.Absent, 0, "no pod of the node is labelled k8s-app=kube-proxy")
	}
}

// socketLB translates the client pod's connections at connect(2), and keeps the
// source of what comes from outside for a backend on the node.
func (f *fixture) socketLB() {
	pod, host := &f.e.Traffic[0], &f.e.Traffic[1]
	pod.EntryNode, host.EntryNode = "worker2", "worker"
	for i := range pod.Attempts {
		a := &pod.Attempts[i]
		a.KernelRemote = netip.AddrPortFrom(a.Backend.PodIP, 8080)
	}
	host.Attempts[0].SourceSeen = host.Attempts[0].LocalAddress
	// A node port is another entry point of the pod's.
	nodePort := *pod
	nodePort.Name, nodePort.To, nodePort.Node = "nodeport-worker", spec.ToNodePort, "worker"
	nodePort.File = "client/nodeport-worker.jsonl"
	nodePort.Attempts = slices.Clone(pod.Attempts[:4])
	nodePort.Sent = len(nodePort.Attempts)
	for i := range nodePort.Attempts {
		a := &nodePort.Attempts[i]
		a.DialedAddress = netip.AddrPortFrom(f.e.Nodes[1].Addresses[0], 30081)
		a.Peername, a.Target = a.DialedAddress, a.DialedAddress.String()
	}
	f.file(nodePort.File, "{}\n")
	f.e.Traffic = slices.Insert(f.e.Traffic, 1, nodePort)
}

// ciliumNode adds the files of one node and what is decoded from them.
func (f *fixture) ciliumNode(i int, role string, replaces bool) {
	f.Helper()
	recorded := func(name string) []byte {
		data := f.recorded(role+"/"+name, "cilium", "testdata", "worker", name)
		own := f.e.Nodes[i].Addresses[0].String() + ":30081"
		data = bytes.ReplaceAll(data, []byte("172.18.0.3:30081"), []byte(own))
		if !replaces {
			data = f.asPodNetwork(name, data)
		}
		f.file(role+"/"+name, string(data))
		return data
	}
	cgroup := recorded(cilium.CgroupFile)
	// The kernel has other numbers for the same programs.
	f.file(role+"/"+cilium.CgroupFile, strings.ReplaceAll(string(cgroup), "36", fmt.Sprint(36+i)))
	status := recorded(cilium.StatusFile)
	raw := cilium.Raw{LB: recorded(cilium.LBFile), Frontends: recorded(cilium.FrontendsFile), Status: status}
	maps, err := cilium.Decode(raw)
	f.must(err)
	list, err := cilium.DecodeServices(recorded(cilium.ServicesFile))
	f.must(err)
	state, mode := &f.e.Kernel[i], &f.e.Mode.Nodes[i]
	state.Tables = append(state.Tables,
		collect.NodeTable{File: role + "/" + cilium.LBFile, ServiceTable: maps},
		collect.NodeTable{File: role + "/" + cilium.ServicesFile, ServiceTable: list})
	state.Translations = f.tracked(role, raw, recorded(cilium.ConntrackFile))
	if !replaces {
		// Pods' packets to a node port pass Cilium, and iptables translates them.
		f.file(role+"/conntrack-nodeport.txt", "tcp\n")
		byKernel := collect.Translation{
			Tracker: collect.TrackedByKernel, Destination: netip.AddrPortFrom(f.e.Nodes[i].Addresses[0], 30081), Backend: netip.MustParseAddrPort("10.244.2.2:8080"),
			Masqueraded: true, Count: 5, Ref: collect.Ref{File: role + "/conntrack-nodeport.txt", Line: collect.Line{Number: 1}},
		}
		if role != "worker2" {
			state.Translations = nil
		}
		state.Translations = append(state.Translations, byKernel)
	}
	mode.Agent = f.agent(role, status)
	mode.Process = f.observed(role+"/processes.txt", collect.Running, 8, "336 kube-proxy /usr/local/bin/kube-proxy")
	mode.Version = f.observed(evidence.PodsFile, "registry.k8s.io/kube-proxy:v1.35.0 (sha256:a992)", 0, "Pod kube-proxy: image")
	if replaces {
		mode.Process = f.observed(role+"/processes.txt", collect.Absent, 0, fmt.Sprintf("%d processes, none is kube-proxy", 20+i))
		mode.Version = f.observed(role+"/"+cilium.VersionFile, "1.20.2", 10, `Daemon.Version: "1.20.2"`)
		dump := f.recorded(role+"/iptables-nft-save.txt", "iptables", "testdata", "cilium", "worker", "iptables-save-counters.txt")
		table, err := iptables.Decode(dump)
		f.must(err)
		state.Tables = append(state.Tables, collect.NodeTable{File: role + "/iptables-nft-save.txt", ServiceTable: table})
		f.file(role+"/conntrack-clusterip.txt", "")
	}
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// asPodNetwork is a file of an agent that replaces nothing: ClusterIPs alone,
// of the addresses that the cluster with kube-proxy has, and no socket LB.
func (f *fixture) asPodNetwork(name string, data []byte) []byte {
	f.Helper()
	for _, address := range [][2]string{
		{"10.97.156.17", "10.96.149.194"}, {"10.245.2.76", "10.244.2.2"}, {"10.245.1.86", "10.244.1.2"}, {"10.97.0.", "10.96.0."},
		{"172.18.0.1:", "10.244.1.4:"},
	} {
		data = bytes.ReplaceAll(data, []byte(address[0]), []byte(address[1]))
	}
	switch name {
	case cilium.StatusFile:
		data = changed(f.T, data, `"mode": "True"`, `"mode": "False"`)
		return changed(f.T, data, "\"socketLB\": {\n        \"enabled\": true\n      }", "\"socketLB\": {}")
	case cilium.CgroupFile:
		var kept []string
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(line, "cil_sock") {
				kept = append(kept, line)
			}
		}
		return []byte(strings.Join(kept, ""))
	case cilium.LBFile, cilium.FrontendsFile:
		rows := map[string][]string{}
		f.must(json.Unmarshal(data, &rows))
		for key := range rows {
			if strings.Contains(key, ":30081/") {
				delete(rows, key)
			}
		}
		data, err := json.MarshalIndent(rows, "", "  ")
		f.must(err)
		return append(data, '\n')
	case cilium.ServicesFile:
		var services []json.RawMessage
		f.must(json.Unmarshal(data, &services))
		services = slices.DeleteFunc(services, func(s json.RawMessage) bool { return bytes.Contains(s, []byte(`"0.0.0.0"`)) })
		data, err := json.MarshalIndent(services, "", "  ")
		f.must(err)
		return append(data, '\n')
	case cilium.ConntrackFile:
		// The node port's connections become the ClusterIP's.
		for _, node := range f.e.Nodes {
			own := fmt.Sprintf("%s:30081", node.Addresses[0])
			data = bytes.ReplaceAll(data, []byte(own), []byte("10.96.149.194:80"))
		}
	}
	return data
}

// tracked are the SVC entries of a node by their backend.
func (f *fixture) tracked(role string, raw cilium.Raw, list []byte) []collect.Translation {
	f.Helper()
	flows, err := cilium.DecodeConntrack(list)
	f.must(err)
	backends, err := cilium.BackendAddresses(raw.LB, raw.Frontends)
	f.must(err)
	var all []collect.Translation
	for _, flow := range flows {
		if flow.Direction != "SVC" {
			continue
		}
		t := collect.Translation{
			Tracker: collect.TrackedByCilium, Destination: flow.Destination, Backend: backends[flow.BackendID],
			Sources: []netip.Addr{flow.Source.Addr()}, Count: 1, Ref: collect.Ref{File: filepath.ToSlash(filepath.Join(role, cilium.ConntrackFile)), Line: flow.Line},
		}
		i := slices.IndexFunc(all, func(other collect.Translation) bool { return other.Backend == t.Backend })
		if i < 0 {
			all = append(all, t)
			continue
		}
		all[i].Count++
	}
	return all
}

// agent is what an agent says in its status.
func (f *fixture) agent(role string, status []byte) *collect.AgentMode {
	f.Helper()
	s, err := cilium.DecodeStatus(status)
	f.must(err)
	said := func(value string, line collect.Line) collect.Observation {
		return collect.Observation{Value: value, Ref: collect.Ref{File: role + "/" + cilium.StatusFile, Line: line}}
	}
	socketLB := collect.Disabled
	if s.SocketLB {
		socketLB = collect.Enabled
	}
	return &collect.AgentMode{
		KubeProxyReplacement: said(s.KubeProxyReplacement, s.Lines.KubeProxyReplacement),
		SocketLB:             said(socketLB, s.Lines.SocketLB),
		AttachMode:           said(s.AttachMode, s.Lines.AttachMode),
		Version:              said(s.Version, s.Lines.Version),
		State:                said(s.State, s.Lines.State),
		Health:               f.observed(role+"/"+cilium.HealthFile, "3/3 reachable", 0, "3/3 reachable"),
	}
}
