package calico

import "service-dataplane/pkg/collect"

// Felix is the FelixConfiguration "default": what is declared. A variable FELIX_… of
// the DaemonSet and the configuration "node.NAME" go before it. What it leaves out
// has Felix' own default, and a line that quotes the spec.
type Felix struct {
	BPFEnabled bool
	// ConnectTime says whose connect() is translated: "TCP", "Enabled" for UDP as
	// well, or "Disabled". bpfConnectTimeLoadBalancingEnabled, which is deprecated,
	// changes nothing in v3.31.7.
	ConnectTime string
	// KubeProxyCleanup: Felix removes the iptables chains of a kube-proxy.
	KubeProxyCleanup bool
	// UsageReporting: Felix reports version and size of the cluster to its maker.
	UsageReporting bool
	Lines          FelixLines
}

// FelixLines say where a value stands.
type FelixLines struct {
	BPFEnabled, ConnectTime, KubeProxyCleanup, UsageReporting collect.Line
}

// DecodeFelix reads the output of `kubectl get felixconfiguration default -o json`
// (Calico v3.31.7, api/pkg/apis/projectcalico/v3/felixconfig.go; defaults of
// felix/config/config_params.go). An error names the line.
func DecodeFelix(raw []byte) (Felix, error) {
	o := readObject("FelixConfiguration", raw)
	var f Felix
	f.BPFEnabled, f.Lines.BPFEnabled = o.flag(false, "spec", "bpfEnabled")
	f.ConnectTime, f.Lines.ConnectTime = o.text("spec", "bpfConnectTimeLoadBalancing")
	f.KubeProxyCleanup, f.Lines.KubeProxyCleanup = o.flag(true, "spec", "bpfKubeProxyIptablesCleanupEnabled")
	f.UsageReporting, f.Lines.UsageReporting = o.flag(true, "spec", "usageReportingEnabled")
	if f.ConnectTime == "" {
		f.ConnectTime = "TCP"
	}
	if o.err != nil {
		return Felix{}, o.err
	}
	return f, nil
}
