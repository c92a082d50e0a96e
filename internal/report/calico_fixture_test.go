package report

import (
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/evidence"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
	"service-dataplane/pkg/collect/iptables"
)

// calicoAddresses are those of the cluster that was recorded.
func (f *fixture) calicoAddresses() {
	at := netip.MustParseAddr
	o := &f.e.Objects
	o.Service.ClusterIP, o.ClientIP = at("10.96.221.2"), at("10.244.146.66")
	o.Endpoints[0].Address, o.Endpoints[1].Address = at("10.244.95.133"), at("10.244.146.67")
	o.Pods[0].Address = o.ClientIP
	for i, tunnel := range []string{"10.244.240.128", "10.244.95.128", "10.244.146.64"} {
		n := &f.e.Nodes[i]
		n.InternalIP = netip.AddrFrom4([4]byte{172, 18, 0, byte(5 + i)})
		n.Addresses = []netip.Addr{n.InternalIP, at(tunnel)}
		f.file(n.Role+"/"+evidence.AddressesFile, fmt.Sprintf(
			`[{"ifname":"lo","addr_info":[{"local":"127.0.0.1"}]},{"ifname":"bpfin.cali","addr_info":[{}]},{"ifname":"eth0","addr_info":[{"local":%q}]},{"ifname":"vxlan.calico","addr_info":[{"local":%q}]}]`,
			n.InternalIP, tunnel))
	}
}

// installCalico adds what a run with Calico in kube-proxy's place records. Of
// worker2 the NAT maps were recorded; its other files are made from worker's.
func (f *fixture) installCalico() {
	f.Helper()
	f.run.Scenario.Spec.Cluster.CNI = "calico"
	f.run.Scenario.Spec.Expect.Translation = spec.Translation{ClusterIP: spec.TranslatedAtSocket, NodePort: spec.TranslatedInPacket}
	f.run.DataPlane = &dataplane.Installed{
		Name: "tigera-operator", Version: "v3.31.7", Chart: "archive bundle:charts/tigera-operator-v3.31.7.tgz, SHA-256 0123",
		Images: dataplane.Images{}, Values: map[string]any{"installation": map[string]any{"calicoNetwork": map[string]any{"linuxDataplane": "BPF"}}},
	}
	for _, part := range []string{"operator", "node", "cni", "typha", "kube-controllers"} {
		f.run.DataPlane.Images[part] = imagebuild.Image{Reference: "quay.io/calico/" + part + ":v3.31.7", Origin: "bundle"}
	}
	for i := range 10 {
		f.run.DataPlane.Deviations = append(f.run.DataPlane.Deviations, fmt.Sprintf("Part %d was built on this machine; its maker publishes another.", i))
	}
	f.e.Mode.Declared = f.observed(evidence.ConfigMapFile, "iptables", 0, "mode: iptables")
	f.e.Mode.KubeProxy = f.observed(evidence.DaemonSetFile, collect.Present, 0, "desiredNumberScheduled: 0")
	f.withoutProxyPods()
	f.e.Mode.Calico = f.calicoObjects()
	f.socketLB()
	f.connectTime()
	for i, role := range spec.Roles {
		f.calicoNode(i, role)
	}
}

// connectTime is what Calico does otherwise than Cilium: getpeername(2) is told the
// backend, packets to node ports keep the client's source, and by this scenario
// connect(2) leaves node ports alone.
func (f *fixture) connectTime() {
	pod, nodePort, host := f.e.Traffic[0], &f.e.Traffic[1], f.e.Traffic[2]
	for i := range pod.Attempts {
		pod.Attempts[i].Peername = pod.Attempts[i].KernelRemote
	}
	nodePort.EntryNode = "worker"
	for i := range nodePort.Attempts {
		nodePort.Attempts[i].KernelRemote = nodePort.Attempts[i].DialedAddress
	}
	for i := range host.Attempts {
		host.Attempts[i].SourceSeen = host.Attempts[i].LocalAddress
	}
}

// calicoObjects are the objects of the operator that were recorded.
func (f *fixture) calicoObjects() *collect.CalicoMode {
	f.Helper()
	recorded := func(file, name string) []byte { return f.recorded(file, "calico", "testdata", "cluster", name) }
	installation, err := calico.DecodeInstallation(recorded(evidence.InstallationFile, "installation.json"))
	f.must(err)
	felix, err := calico.DecodeFelix(changed(f.T, recorded(evidence.FelixFile, "felixconfiguration.json"), `"vxlanVNI": 4096`, `"usageReportingEnabled": false`))
	f.must(err)
	statuses, err := calico.DecodeTigeraStatus(recorded(evidence.TigeraStatusFile, "tigerastatus.json"))
	f.must(err)
	said := func(file, value string, line collect.Line) collect.Observation {
		return collect.Observation{Value: value, Ref: collect.Ref{File: file, Line: line}}
	}
	c := &collect.CalicoMode{
		Dataplane:           said(evidence.InstallationFile, installation.Dataplane, installation.Lines.Dataplane),
		Bootstrap:           said(evidence.InstallationFile, installation.Bootstrap, installation.Lines.Bootstrap),
		KubeProxyManagement: said(evidence.InstallationFile, installation.KubeProxyManagement, installation.Lines.KubeProxyManagement),
		Version:             said(evidence.InstallationFile, installation.Version, installation.Lines.Version),
		BPF:                 said(evidence.FelixFile, collect.Enabled, felix.Lines.BPFEnabled),
		ConnectTime:         said(evidence.FelixFile, felix.ConnectTime, felix.Lines.ConnectTime),
		UsageReporting:      said(evidence.FelixFile, collect.Disabled, felix.Lines.UsageReporting),
		ProxyNodes:          f.observed(evidence.DaemonSetFile, "0", 0, "desiredNumberScheduled: 0"),
		ProxySelector:       f.observed(evidence.DaemonSetFile, collect.Present, 0, "nodeSelector: map[kubernetes.io/os:linux operator.tigera.io/disable-kube-proxy:true]"),
	}
	for _, s := range statuses {
		c.Components = append(c.Components, collect.Component{Name: s.Component, State: said(evidence.TigeraStatusFile, "available", s.Available.Line)})
	}
	return c
}

// calicoNode adds the files of one node and what is decoded from them.
func (f *fixture) calicoNode(i int, role string) {
	f.Helper()
	recorded := func(name string) []byte {
		from, mirrored := role, role == "worker2" && name != calico.NATFile && name != calico.AffinityFile
		if mirrored || name == calico.VersionFile {
			from = "worker"
		}
		data := f.recorded(role+"/"+name, "calico", "testdata", from, name)
		if mirrored {
			data = asWorker2(data)
			f.file(role+"/"+name, string(data))
		}
		return data
	}
	state, mode := &f.e.Kernel[i], &f.e.Mode.Nodes[i]
	maps, err := calico.Decode(calico.Raw{NAT: recorded(calico.NATFile), Affinity: recorded(calico.AffinityFile)})
	f.must(err)
	flows, err := calico.DecodeConntrack(recorded(calico.ConntrackFile))
	f.must(err)
	state.Translations = f.trackedByCalico(role, flows)
	dump := f.recorded(role+"/"+leftoverFile, "iptables", "testdata", "calico", "worker", "iptables-save.txt")
	f.recorded(role+"/"+leftoverFile6, "iptables", "testdata", "calico", "worker", "ip6tables-save.txt")
	f.recorded(role+"/"+nftTextFile, "nftables", "testdata", "recorded", "calico-worker.txt")
	f.file(role+"/nft-ruleset.json", "{}")
	f.file(role+"/conntrack-clusterip.txt", "")
	rules, err := iptables.Decode(dump)
	f.must(err)
	state.Tables = []collect.NodeTable{
		{File: role + "/" + leftoverFile, ServiceTable: rules},
		{File: role + "/nft-ruleset.json", ServiceTable: collect.ServiceTable{Encoding: "nftables"}},
		{File: role + "/" + calico.NATFile, ServiceTable: maps},
	}
	mode.Hooks = f.hooks(role, recorded(calico.CgroupFile))
	mode.Process = f.observed(role+"/processes.txt", collect.Absent, 0, fmt.Sprintf("%d processes, none is kube-proxy", 20+i))
	version, line, err := calico.DecodeVersion(recorded(calico.VersionFile))
	f.must(err)
	mode.Version = collect.Observation{Value: version, Ref: collect.Ref{File: role + "/" + calico.VersionFile, Line: line}}
}

// asWorker2 is a file of worker with the two nodes changed places.
func asWorker2(data []byte) []byte {
	for _, pair := range [][2]string{{"172.18.0.6", "172.18.0.7"}, {"10.244.95.133", "10.244.146.67"}} {
		data = bytes.ReplaceAll(data, []byte(pair[0]), []byte("…"))
		data = bytes.ReplaceAll(data, []byte(pair[1]), []byte(pair[0]))
		data = bytes.ReplaceAll(data, []byte("…"), []byte(pair[1]))
	}
	return data
}

// trackedByCalico are the translated connections of a node by what was dialled and
// by their backend.
func (f *fixture) trackedByCalico(role string, flows []calico.Flow) []collect.Translation {
	all := []collect.Translation{}
	for _, flow := range flows {
		if flow.Type != calico.FlowNAT || flow.Service.Port() != f.e.Objects.Service.NodePort {
			continue
		}
		i := slices.IndexFunc(all, func(t collect.Translation) bool {
			return t.Destination == flow.Service && t.Backend == flow.Destination
		})
		if i < 0 {
			i = len(all)
			all = append(all, collect.Translation{
				Tracker: collect.TrackedByCalico, Destination: flow.Service, Backend: flow.Destination,
				Sources: []netip.Addr{flow.Source.Addr()}, Ref: collect.Ref{File: role + "/" + calico.ConntrackFile, Line: flow.Line},
			})
		}
		all[i].Count++
	}
	slices.SortFunc(all, func(a, b collect.Translation) int {
		return cmp.Or(a.Destination.Compare(b.Destination), a.Backend.Compare(b.Backend))
	})
	return all
}

// hooks are Calico's programs at a node's cgroup.
func (f *fixture) hooks(role string, list []byte) collect.Observation {
	f.Helper()
	programs, err := calico.DecodeAttached(list)
	f.must(err)
	hooks := collect.Observation{Ref: collect.Ref{File: role + "/" + calico.CgroupFile}}
	var names []string
	for _, p := range programs {
		if !p.OfDevice() {
			names = append(names, p.Name+" at "+p.AttachType)
			hooks.Ref.Line = programs[0].Line
		}
	}
	hooks.Value = strings.Join(names, ", ")
	return hooks
}
