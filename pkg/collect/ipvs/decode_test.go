package ipvs

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The fixtures: worker is what a node printed in a run of scenario ipvs
// (Kubernetes 1.35.0, Linux 6.1), but for ip_vs_conn.txt, which is that node's
// connection tracking in the form of the kernel's format string. In kinds,
// ipset.txt is recorded output, ip_vs.txt and kube-ipvs0.json are written in the
// form of the kernel's and iproute2's format strings.
func evidence(t testing.TB, name string) Raw {
	t.Helper()
	read := func(file string) []byte {
		raw, err := os.ReadFile(filepath.Join("testdata", name, file))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	return Raw{
		IPVS:       read(ServicesFile),
		IPSet:      read(IPSetFile),
		DummyAddrs: read(DummyFile),
		TimerList:  read(TimerListFile),
	}
}

func TestDecodeGolden(t *testing.T) {
	for _, name := range []string{"worker", "kinds"} {
		t.Run(name, func(t *testing.T) {
			table, err := Decode(evidence(t, name))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(table, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := filepath.Join("testdata", name, "table.golden.json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("table differs from %s (see it with go test -update and git diff):\n%s", golden, got)
			}
		})
	}
}

// summary is one line of what a check compares of a frontend.
func summary(f collect.Frontend) string {
	words := []string{string(f.Kind), f.Endpoint(), string(f.Selection), string(f.Policy), string(f.Masquerade)}
	if f.AffinitySeconds != 0 {
		words = append(words, "affinity")
	}
	for _, b := range f.Backends {
		words = append(words, b.Address.String()+"="+string(b.State))
	}
	return strings.Join(words, " ")
}

func TestDecodeWorker(t *testing.T) {
	table, err := Decode(evidence(t, "worker"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range table.Frontends {
		got = append(got, summary(f))
	}
	want := []string{
		"ClusterIP 10.96.0.1:443/TCP round-robin cluster off-cluster 172.18.0.2=active",
		"ClusterIP 10.96.0.10:53/TCP round-robin cluster off-cluster 10.244.0.2=active 10.244.0.3=active",
		"ClusterIP 10.96.0.10:53/UDP round-robin cluster off-cluster 10.244.0.2=active 10.244.0.3=active",
		"ClusterIP 10.96.0.10:9153/TCP round-robin cluster off-cluster 10.244.0.2=active 10.244.0.3=active",
		"ClusterIP 10.96.61.80:80/TCP round-robin cluster off-cluster 10.244.1.3=active 10.244.2.2=active",
		"NodePort 10.244.2.1:30081/TCP round-robin cluster always 10.244.1.3=active 10.244.2.2=active",
		"NodePort 172.18.0.3:30081/TCP round-robin cluster always 10.244.1.3=active 10.244.2.2=active",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(table.Unparsed) != 0 {
		t.Errorf("unparsed: %v", table.Unparsed)
	}
}

// One thing changed in the worker's evidence must show in the table.
func TestDecodeShowsChange(t *testing.T) {
	const echo = "10.96.61.80:80/TCP"
	const nodePort = "172.18.0.3:30081/TCP"
	tests := []struct {
		name, endpoint string
		old, new       string
		in             func(*Raw) *[]byte
		want           string
		unparsed       int
	}{
		{
			name: "a backend gone", endpoint: nodePort, in: ipvsOf,
			old: "  -> 0AF40103:1F90      Masq    1      0          12        \n", new: "",
			want: "NodePort 172.18.0.3:30081/TCP round-robin cluster always 10.244.2.2=active",
		},
		{
			name: "a backend at weight 0", endpoint: nodePort, in: ipvsOf,
			old: "0AF40103:1F90      Masq    1      0          12", new: "0AF40103:1F90      Masq    0      0          12",
			want: "NodePort 172.18.0.3:30081/TCP round-robin cluster always 10.244.1.3=quarantined 10.244.2.2=active",
		},
		{
			name: "another scheduler", endpoint: echo, in: ipvsOf,
			old: "0A603D50:0050 rr", new: "0A603D50:0050 sed",
			want: "ClusterIP 10.96.61.80:80/TCP sed cluster off-cluster 10.244.1.3=active 10.244.2.2=active",
		},
		{
			name: "a node port with local policy", endpoint: nodePort, in: ipsetOf,
			old:  "create KUBE-NODE-PORT-LOCAL-TCP bitmap:port range 0-65535\n",
			new:  "create KUBE-NODE-PORT-LOCAL-TCP bitmap:port range 0-65535\nadd KUBE-NODE-PORT-LOCAL-TCP 30081\n",
			want: "NodePort 172.18.0.3:30081/TCP round-robin local never 10.244.1.3=active 10.244.2.2=active",
		},
		{
			name: "a ClusterIP in no set", endpoint: echo, in: ipsetOf,
			old: "add KUBE-CLUSTER-IP 10.96.61.80,tcp:80\n", new: "",
			unparsed: 3,
		},
		{
			name: "a tunnel", endpoint: nodePort, in: ipvsOf,
			old: "0AF40103:1F90      Masq    1      0          12", new: "0AF40103:1F90      Tunnel  1      0          12",
			want: "NodePort 172.18.0.3:30081/TCP round-robin cluster always 10.244.2.2=active", unparsed: 1,
		},
		{
			name: "a flag from the future", endpoint: echo, in: ipvsOf,
			old: "0A603D50:0050 rr ", new: "0A603D50:0050 rr sideways ",
			want:     "ClusterIP 10.96.61.80:80/TCP round-robin cluster off-cluster 10.244.1.3=active 10.244.2.2=active",
			unparsed: 1,
		},
		{
			name: "one-packet scheduling", endpoint: "10.96.0.10:53/UDP", in: ipvsOf,
			old: "UDP  0A60000A:0035 rr ", new: "UDP  0A60000A:0035 rr ops ",
			want:     "ClusterIP 10.96.0.10:53/UDP round-robin cluster off-cluster 10.244.0.2=active 10.244.0.3=active",
			unparsed: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := evidence(t, "worker")
			file := tt.in(&raw)
			if !bytes.Contains(*file, []byte(tt.old)) {
				t.Fatalf("the fixture has no %q", tt.old)
			}
			*file = bytes.Replace(*file, []byte(tt.old), []byte(tt.new), 1)
			table, err := Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range table.Frontends {
				if f.Endpoint() == tt.endpoint {
					got = summary(f)
				}
			}
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if len(table.Unparsed) != tt.unparsed {
				t.Errorf("unparsed %d lines, want %d: %v", len(table.Unparsed), tt.unparsed, table.Unparsed)
			}
		})
	}
}

func ipvsOf(r *Raw) *[]byte  { return &r.IPVS }
func ipsetOf(r *Raw) *[]byte { return &r.IPSet }

func TestDecodeWithoutSets(t *testing.T) {
	raw := evidence(t, "worker")
	raw.IPSet = nil
	table, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[collect.FrontendKind]int{}
	for _, f := range table.Frontends {
		kinds[f.Kind]++
		if f.Policy != "" || f.Masquerade != "" {
			t.Errorf("%s: policy %q and masquerade %q come from nowhere", f.Endpoint(), f.Policy, f.Masquerade)
		}
	}
	if kinds[collect.ClusterIP] != 5 || kinds[collect.NodePort] != 2 {
		t.Errorf("kinds %v, want 5 ClusterIP and 2 NodePort", kinds)
	}

	raw.DummyAddrs = nil
	table, err = Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Frontends) != 0 || len(table.Unparsed) != 20 {
		t.Errorf("%d frontends and %d unparsed lines, want all 20 lines unparsed", len(table.Frontends), len(table.Unparsed))
	}
}

func TestDecodeAffinity(t *testing.T) {
	const at250 = "now at 750696798079 nsecs\njiffies: 4295079912\n"
	tests := []struct {
		name, ticks, timerList string
		seconds                int
		unparsed               int
	}{
		{name: "rate known", ticks: "2700000", timerList: at250, seconds: 10800},
		{name: "rate unknown", ticks: "2700000", unparsed: 1},
		{name: "rate that does not divide", ticks: "2700001", timerList: at250, unparsed: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := evidence(t, "worker")
			raw.IPVS = bytes.Replace(raw.IPVS, []byte("0A603D50:0050 rr  "),
				[]byte("0A603D50:0050 rr  persistent "+tt.ticks+" FFFFFFFF"), 1)
			raw.TimerList = []byte(tt.timerList)
			table, err := Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			got := -1
			for _, f := range table.Frontends {
				if f.Endpoint() == "10.96.61.80:80/TCP" {
					got = f.AffinitySeconds
				}
			}
			if got != tt.seconds || len(table.Unparsed) != tt.unparsed {
				t.Errorf("affinity %d s, unparsed %v; want %d s and %d lines", got, table.Unparsed, tt.seconds, tt.unparsed)
			}
		})
	}
}

func TestDecodeNoServices(t *testing.T) {
	table, err := Decode(Raw{IPVS: []byte(header)})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Frontends) != 0 || len(table.Unparsed) != 0 {
		t.Errorf("table %+v, want none", table)
	}
}

func TestSelection(t *testing.T) {
	for scheduler, want := range map[string]collect.Selection{
		"rr": collect.SelectRoundRobin, "wrr": collect.SelectRoundRobin,
		"lc": collect.SelectLeastConn, "wlc": collect.SelectLeastConn,
		"sh": collect.SelectSourceHash, "mh": collect.SelectMaglev,
		"dh": "dh", "none": "none",
	} {
		if got := selection(scheduler); got != want {
			t.Errorf("%s: %q, want %q", scheduler, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	// Short seeds: the engine spends its time on shrinking long ones.
	const (
		sets   = "create KUBE-CLUSTER-IP hash:ip,port\nadd KUBE-CLUSTER-IP 10.96.0.1,tcp:443\ncreate KUBE-NODE-PORT-TCP bitmap:port\nadd KUBE-NODE-PORT-TCP 30081\n"
		dummy  = `[{"ifname":"kube-ipvs0","addr_info":[{"local":"10.96.0.1"}]}]`
		timers = "now at 750696798079 nsecs\njiffies: 4295079912\n"
		server = "  -> 0AF40102:1F90      Masq    1      0          0         \n"
	)
	for _, services := range []string{
		"",
		"TCP  0A600001:01BB rr  persistent 2700000 FFFFFFFF\n" + server + server,
		"TCP  AC120003:7581 wlc ops \n" + server,
		"TCP  [fd00:0010:0096:0000:0000:0000:0000:001f]:0050 mh \n  -> [fd00::2]:1F90      Local   0      0          0         \n",
		"FWM  00000001 rr \n",
	} {
		f.Add([]byte(header+services), []byte(sets), []byte(dummy), []byte(timers))
		f.Add([]byte(header+services), []byte(nil), []byte(dummy), []byte(nil))
	}
	f.Fuzz(func(t *testing.T, ipvs, ipset, dummy, timers []byte) {
		table, err := Decode(Raw{IPVS: ipvs, IPSet: ipset, DummyAddrs: dummy, TimerList: timers})
		if err != nil {
			return
		}
		shown := map[int]bool{1: true}
		for _, line := range table.Unparsed {
			shown[line.Number] = true
		}
		for _, frontend := range table.Frontends {
			shown[frontend.Line.Number] = true
			if frontend.Kind == "" || !frontend.Address.IsValid() {
				t.Errorf("a frontend of no kind or address: %+v", frontend)
			}
			for _, b := range frontend.Backends {
				shown[b.Line.Number] = true
			}
		}
		for line := range lines(ipvs) {
			if !shown[line.Number] && line.Text != serviceHeading && line.Text != serverHeading {
				t.Errorf("line %d dropped in silence: %q", line.Number, line.Text)
			}
		}
	})
}
