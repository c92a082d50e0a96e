package cluster

import (
	"bytes"

	"gopkg.in/yaml.v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"service-dataplane/internal/spec"
)

// kindConfig is the kind configuration of the scenario, as one could give it
// to `kind create cluster --config`.
func (c *Cluster) kindConfig() ([]byte, error) {
	return KindConfig(c.options.Scenario, c.options.CgroupV1)
}

// oneControlPlane needs no election of a leader, which a slow machine loses, and
// no RSA keys: making a dozen takes an emulated one a minute.
const oneControlPlane = `kind: ClusterConfiguration
featureGates:
  PublicKeysECDSA: true
controllerManager:
  extraArgs:
    leader-elect: "false"
scheduler:
  extraArgs:
    leader-elect: "false"
`

// KindConfig returns the scenario's kind configuration file.
func KindConfig(scenario spec.Scenario, cgroupV1 bool) ([]byte, error) {
	cluster := scenario.Spec.Cluster
	config := v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{APIVersion: "kind.x-k8s.io/v1alpha4", Kind: "Cluster"},
		Networking: v1alpha4.Networking{
			KubeProxyMode:     v1alpha4.ProxyMode(cluster.KubeProxyMode),
			PodSubnet:         cluster.PodSubnet,
			ServiceSubnet:     cluster.ServiceSubnet,
			DisableDefaultCNI: true,
		},
		KubeadmConfigPatches: append([]string{oneControlPlane}, cluster.KubeadmConfigPatches...),
		Nodes:                []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}, {Role: v1alpha4.WorkerRole}, {Role: v1alpha4.WorkerRole}},
	}
	if cluster.IPVSScheduler != "" {
		patch := "kind: KubeProxyConfiguration\nipvs:\n  scheduler: " + cluster.IPVSScheduler + "\n"
		config.KubeadmConfigPatches = append(config.KubeadmConfigPatches, patch)
	}
	if cgroupV1 {
		config.KubeadmConfigPatches = append([]string{"kind: KubeletConfiguration\nfailCgroupV1: false\n"}, config.KubeadmConfigPatches...)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(config); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}
