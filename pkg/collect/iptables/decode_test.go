package iptables

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

func read(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func decode(t testing.TB, dump string) collect.ServiceTable {
	t.Helper()
	table, err := Decode([]byte(dump))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// show tells a table in a line for each frontend.
func show(table collect.ServiceTable) []string {
	var lines []string
	for _, f := range table.Frontends {
		words := []string{string(f.Kind), f.Endpoint(), f.Service, string(f.Policy), "masquerade=" + string(f.Masquerade)}
		if f.AffinitySeconds != 0 {
			words = append(words, fmt.Sprintf("affinity=%ds", f.AffinitySeconds))
		}
		words = append(words, "->", string(f.Selection)+f.NoBackends)
		for _, b := range f.Backends {
			words = append(words, netip.AddrPortFrom(b.Address, b.Port).String(), fmt.Sprintf("%.4f", b.Probability))
		}
		lines = append(lines, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	}
	for _, l := range table.Unparsed {
		lines = append(lines, "unparsed "+l.String())
	}
	return lines
}

func expect(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestDecodeRecorded(t *testing.T) {
	const (
		dns = "ClusterIP 10.96.0.10:53/TCP kube-system/kube-dns:dns-tcp cluster masquerade=off-cluster -> random 10.244.0.2:53 0.5000 10.244.0.3:53 0.5000"
		udp = "ClusterIP 10.96.0.10:53/UDP kube-system/kube-dns:dns cluster masquerade=off-cluster -> random 10.244.0.2:53 0.5000 10.244.0.3:53 0.5000"
		met = "ClusterIP 10.96.0.10:9153/TCP kube-system/kube-dns:metrics cluster masquerade=off-cluster -> random 10.244.0.2:9153 0.5000 10.244.0.3:9153 0.5000"
	)
	everyNode := []string{
		"ClusterIP 10.96.0.1:443/TCP default/kubernetes:https cluster masquerade=off-cluster -> random 172.18.0.4:6443 1.0000",
		dns, udp, met,
		"ClusterIP 10.96.149.194:80/TCP service-dataplane/echo-server:http cluster masquerade=off-cluster -> random 10.244.1.2:8080 0.5000 10.244.2.2:8080 0.5000",
		"NodePort *:30081/TCP service-dataplane/echo-server:http cluster masquerade=always -> random 10.244.1.2:8080 0.5000 10.244.2.2:8080 0.5000",
	}
	for _, test := range []struct {
		dump string
		want []string
	}{
		{"kube-proxy-iptables/control-plane/iptables-nft-save.txt", everyNode},
		{"kube-proxy-iptables/worker/iptables-nft-save.txt", everyNode},
		{"kube-proxy-iptables/worker2/iptables-nft-save.txt", everyNode},
		{"kube-proxy-iptables/worker2/iptables-legacy-save.txt", nil},
		// No CNI yet, so no endpoints for DNS.
		{"calico-before/worker/iptables-save.txt", []string{
			"ClusterIP 10.96.0.1:443/TCP default/kubernetes:https cluster masquerade=off-cluster -> random 172.18.0.5:6443 1.0000",
			"ClusterIP 10.96.0.10:53/TCP kube-system/kube-dns:dns-tcp masquerade=never -> reject",
			"ClusterIP 10.96.0.10:53/UDP kube-system/kube-dns:dns masquerade=never -> reject",
			"ClusterIP 10.96.0.10:9153/TCP kube-system/kube-dns:metrics masquerade=never -> reject",
		}},
		// Other data planes: what kubelet and a departed kube-proxy leave
		// behind is understood and no frontend.
		{"kube-proxy-nftables/worker/iptables-nft-save.txt", nil},
		{"cilium/worker/iptables-save-counters.txt", nil},
		{"cilium/worker/ip6tables-save.txt", nil},
		{"calico/worker/iptables-save.txt", nil},
		{"calico/worker/ip6tables-save.txt", nil},
		{"calico/worker/iptables-legacy-save.txt", nil},
	} {
		t.Run(test.dump, func(t *testing.T) {
			table := decode(t, read(t, test.dump))
			expect(t, show(table), test.want)
			if table.Encoding != "iptables" || table.Frontends == nil {
				t.Errorf("encoding %q, frontends %#v", table.Encoding, table.Frontends)
			}
		})
	}
}

func TestDecodeQuotesTheDump(t *testing.T) {
	dump := read(t, "kube-proxy-iptables/worker/iptables-nft-save.txt")
	lines := strings.Split(dump, "\n")
	quoted := func(l collect.Line, part string) {
		t.Helper()
		if lines[l.Number-1] != l.Text || !strings.Contains(l.Text, part) {
			t.Errorf("line %s: want the line of the dump with %q", l, part)
		}
	}
	frontends := decode(t, dump).Frontends
	nodePort := frontends[len(frontends)-1]
	// The rule for any address, not the one before it for localhost.
	quoted(nodePort.Line, `-A KUBE-NODEPORTS -p tcp -m comment --comment "service-dataplane/echo-server:http" -m tcp --dport 30081 -j KUBE-EXT-`)
	quoted(nodePort.Backends[0].Line, "-j DNAT --to-destination 10.244.1.2:8080")
	quoted(nodePort.Backends[1].Line, "-j DNAT --to-destination 10.244.2.2:8080")
}

// shapes is what testdata/made programs, one Service a shape.
var shapes = []string{
	"198.51.100.5:80/TCP shop/nobody:http masquerade=never -> reject",
	"ClusterIP 10.96.1.1:80/TCP shop/three:http cluster masquerade=off-cluster -> random 10.244.1.11:8080 0.3333 10.244.1.12:8080 0.3333 10.244.2.13:8080 0.3333",
	"ClusterIP 10.96.1.2:80/TCP shop/sticky:http cluster masquerade=off-cluster affinity=10800s -> random 10.244.1.21:8080 0.5000 10.244.2.22:8080 0.5000",
	"ClusterIP 10.96.1.3:80/TCP shop/local:http cluster masquerade=off-cluster -> random 10.244.1.31:8080 0.5000 10.244.2.32:8080 0.5000",
	"ClusterIP 10.96.1.4:80/TCP shop/faraway:http cluster masquerade=off-cluster -> random 10.244.2.41:8080 1.0000",
	"ClusterIP 10.96.1.5:80/TCP shop/nobody:http masquerade=never -> reject",
	"ClusterIP 10.96.1.6:80/TCP shop/lb:http cluster masquerade=off-cluster -> random 10.244.1.61:8080 0.5000 10.244.2.62:8080 0.5000",
	"ClusterIP 10.96.1.7:80/TCP shop/inside:http local masquerade=off-cluster -> random 10.244.1.71:8080 1.0000",
	"ClusterIP 10.96.1.8:80/TCP shop/inside-away:http local masquerade=never -> drop",
	"ClusterIP 10.96.1.9:53/UDP shop/plain cluster masquerade=off-cluster -> random 10.244.1.91:5353 1.0000",
	"ExternalIP 198.51.100.4:80/TCP shop/faraway:http local masquerade=never -> drop",
	"ExternalIP 198.51.100.6:80/TCP shop/lb:http cluster masquerade=always -> random 10.244.1.61:8080 0.5000 10.244.2.62:8080 0.5000",
	"LoadBalancer 203.0.113.6:80/TCP shop/lb:http cluster masquerade=always -> random 10.244.1.61:8080 0.5000 10.244.2.62:8080 0.5000",
	"NodePort *:30082/TCP shop/sticky:http cluster masquerade=always affinity=10800s -> random 10.244.1.21:8080 0.5000 10.244.2.22:8080 0.5000",
	"NodePort *:30083/TCP shop/local:http local masquerade=never -> random 10.244.1.31:8080 1.0000",
	"NodePort *:30084/TCP shop/faraway:http local masquerade=never -> drop",
	"NodePort *:30085/TCP shop/nobody:http masquerade=never -> reject",
	"NodePort *:30086/TCP shop/lb:http cluster masquerade=always -> random 10.244.1.61:8080 0.5000 10.244.2.62:8080 0.5000",
}

func TestDecodeShapes(t *testing.T) {
	for _, dump := range []string{"shapes-nft.txt", "shapes-nft-counters.txt", "shapes-legacy.txt"} {
		t.Run(dump, func(t *testing.T) {
			expect(t, show(decode(t, read(t, "made/"+dump))), shapes)
		})
	}
}

func TestDecodeIPv6(t *testing.T) {
	expect(t, show(decode(t, read(t, "made/shapes-ip6-nft.txt"))), []string{
		"[2001:db8:1::5]:80/TCP shop/nobody:http masquerade=never -> reject",
		"ClusterIP [fd00:10:96::1:1]:80/TCP shop/three:http cluster masquerade=off-cluster -> random [fd00:10:244:1::11]:8080 0.3333 [fd00:10:244:1::12]:8080 0.3333 [fd00:10:244:2::13]:8080 0.3333",
		"ClusterIP [fd00:10:96::1:2]:80/TCP shop/sticky:http cluster masquerade=off-cluster affinity=10800s -> random [fd00:10:244:1::21]:8080 0.5000 [fd00:10:244:2::22]:8080 0.5000",
		"ClusterIP [fd00:10:96::1:3]:80/TCP shop/local:http cluster masquerade=off-cluster -> random [fd00:10:244:1::31]:8080 0.5000 [fd00:10:244:2::32]:8080 0.5000",
		"ClusterIP [fd00:10:96::1:4]:80/TCP shop/faraway:http cluster masquerade=off-cluster -> random [fd00:10:244:2::41]:8080 1.0000",
		"ClusterIP [fd00:10:96::1:5]:80/TCP shop/nobody:http masquerade=never -> reject",
		"ClusterIP [fd00:10:96::1:6]:80/TCP shop/lb:http cluster masquerade=off-cluster -> random [fd00:10:244:1::61]:8080 0.5000 [fd00:10:244:2::62]:8080 0.5000",
		"ClusterIP [fd00:10:96::1:7]:80/TCP shop/inside:http local masquerade=off-cluster -> random [fd00:10:244:1::71]:8080 1.0000",
		"ClusterIP [fd00:10:96::1:8]:80/TCP shop/inside-away:http local masquerade=never -> drop",
		"ClusterIP [fd00:10:96::1:9]:53/UDP shop/plain cluster masquerade=off-cluster -> random [fd00:10:244:1::91]:5353 1.0000",
		"ExternalIP [2001:db8:1::4]:80/TCP shop/faraway:http local masquerade=never -> drop",
		"ExternalIP [2001:db8:1::6]:80/TCP shop/lb:http cluster masquerade=always -> random [fd00:10:244:1::61]:8080 0.5000 [fd00:10:244:2::62]:8080 0.5000",
		"LoadBalancer [2001:db8:2::6]:80/TCP shop/lb:http cluster masquerade=always -> random [fd00:10:244:1::61]:8080 0.5000 [fd00:10:244:2::62]:8080 0.5000",
		"NodePort *:30082/TCP shop/sticky:http cluster masquerade=always affinity=10800s -> random [fd00:10:244:1::21]:8080 0.5000 [fd00:10:244:2::22]:8080 0.5000",
		"NodePort *:30083/TCP shop/local:http local masquerade=never -> random [fd00:10:244:1::31]:8080 1.0000",
		"NodePort *:30084/TCP shop/faraway:http local masquerade=never -> drop",
		"NodePort *:30085/TCP shop/nobody:http masquerade=never -> reject",
		"NodePort *:30086/TCP shop/lb:http cluster masquerade=always -> random [fd00:10:244:1::61]:8080 0.5000 [fd00:10:244:2::62]:8080 0.5000",
	})
}

func TestDecodeProbabilityIsExact(t *testing.T) {
	table := decode(t, read(t, "made/shapes-nft.txt"))
	for _, f := range table.Frontends {
		for _, b := range f.Backends {
			if want := 1 / float64(len(f.Backends)); math.Abs(b.Probability-want) > 1e-6 {
				t.Errorf("%s -> %s: probability %v, want %v within 1e-6", f.Endpoint(), b.Address, b.Probability, want)
			}
		}
	}
}

// edit changes one thing in a dump; a change that does not apply proves nothing.
func edit(t *testing.T, dump, before, after string) string {
	t.Helper()
	if !strings.Contains(dump, before) {
		t.Fatalf("the dump does not contain %q", before)
	}
	return strings.ReplaceAll(dump, before, after)
}

// What kube-proxy writes under other settings, or iptables-save in other words.
func TestDecodeVariants(t *testing.T) {
	const inService = `! -s 10.244.0.0/16 -d 10.96.1.1/32`
	for _, test := range []struct {
		name          string
		before, after string
		want          string // "": as before
	}{
		{
			"masqueradeAll", inService, `-d 10.96.1.1/32`,
			"ClusterIP 10.96.1.1:80/TCP shop/three:http cluster masquerade=always -> random 10.244.1.11:8080 0.3333 10.244.1.12:8080 0.3333 10.244.2.13:8080 0.3333",
		},
		{
			"masquerade decided in KUBE-SERVICES",
			`-A KUBE-SERVICES -d 10.96.1.1/32 `,
			"-A KUBE-SERVICES -d 10.96.1.1/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ\n-A KUBE-SERVICES -d 10.96.1.1/32 ",
			"ClusterIP 10.96.1.1:80/TCP shop/three:http cluster masquerade=always -> random 10.244.1.11:8080 0.3333 10.244.1.12:8080 0.3333 10.244.2.13:8080 0.3333",
		},
		{
			"masquerade for some other address",
			inService, `! -s 10.244.0.0/16 -d 10.96.99.1/32`,
			"ClusterIP 10.96.1.1:80/TCP shop/three:http cluster masquerade=never -> random 10.244.1.11:8080 0.3333 10.244.1.12:8080 0.3333 10.244.2.13:8080 0.3333",
		},
		{
			"source ranges reach every backend alike",
			"-A KUBE-FW-PV4EPRVIIQ32IMYP -s 198.18.0.0/15 ", "-A KUBE-FW-PV4EPRVIIQ32IMYP -s 198.18.0.0/16 ", "",
		},
		{"pods told by bridge", `! -s 10.244.0.0/16 -d 10.96.`, `! -i cni0 -d 10.96.`, ""},
		{"pods told by interface prefix", `-s 10.244.0.0/16 -m comment --comment "pod traffic`, `-i veth+ -m comment --comment "pod traffic`, ""},
		{"cluster of many endpoints, no comments", ` -m comment --comment "shop/three:http -> 10.244.1.12:8080"`, "", ""},
		{"list mask of old iptables", " --mask 255.255.255.255 --rsource", " --rsource", ""},
		{"counters at the end", " -j KUBE-SVC-SV6Z2RSVTP52NI55", " -c 12 720 -j KUBE-SVC-SV6Z2RSVTP52NI55", ""},
		{"no localhost node ports", "-m addrtype --dst-type LOCAL -j KUBE-NODEPORTS", "! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS", ""},
		{"a quote in a name", "shop/three:http cluster IP", `a \"quoted\" b\\c\'s cluster IP`, `ClusterIP 10.96.1.1:80/TCP a "quoted" b\c's cluster masquerade=off-cluster -> random 10.244.1.11:8080 0.3333 10.244.1.12:8080 0.3333 10.244.2.13:8080 0.3333`},
		{"the same rule twice", "-A KUBE-NODEPORTS -p tcp -m comment --comment \"shop/sticky:http\"", "-A KUBE-NODEPORTS -p tcp -m tcp --dport 30082 -j KUBE-EXT-25FJTMN2OLOPNGWS\n-A KUBE-NODEPORTS -p tcp -m comment --comment \"shop/sticky:http\"", "NodePort *:30082/TCP cluster masquerade=always affinity=10800s -> random 10.244.1.21:8080 0.5000 10.244.2.22:8080 0.5000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := slices.Clone(shapes)
			if test.want != "" {
				endpoint := strings.Fields(test.want)[1]
				want[slices.IndexFunc(want, func(w string) bool { return strings.Contains(w, " "+endpoint+" ") })] = test.want
			}
			expect(t, show(decode(t, edit(t, read(t, "made/shapes-nft.txt"), test.before, test.after))), want)
		})
	}
}

func TestDecodeNodePortAddresses(t *testing.T) {
	const entry = `-A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" `
	dump := edit(t, read(t, "made/shapes-nft.txt"), entry+"-m addrtype --dst-type LOCAL -j KUBE-NODEPORTS",
		entry+"-d 172.18.0.3/32 -j KUBE-NODEPORTS\n"+entry+"-d 192.168.7.3/32 -j KUBE-NODEPORTS")
	var got []string
	for _, line := range show(decode(t, dump)) {
		if strings.Contains(line, "3008") {
			got = append(got, line)
		}
	}
	expect(t, got, []string{
		// A rejection is for every local address, whatever the node ports' are.
		"NodePort *:30085/TCP shop/nobody:http masquerade=never -> reject",
		"NodePort 172.18.0.3:30082/TCP shop/sticky:http cluster masquerade=always affinity=10800s -> random 10.244.1.21:8080 0.5000 10.244.2.22:8080 0.5000",
		"NodePort 172.18.0.3:30083/TCP shop/local:http local masquerade=never -> random 10.244.1.31:8080 1.0000",
		"NodePort 172.18.0.3:30084/TCP shop/faraway:http local masquerade=never -> drop",
		"NodePort 172.18.0.3:30086/TCP shop/lb:http cluster masquerade=always -> random 10.244.1.61:8080 0.5000 10.244.2.62:8080 0.5000",
		"NodePort 192.168.7.3:30082/TCP shop/sticky:http cluster masquerade=always affinity=10800s -> random 10.244.1.21:8080 0.5000 10.244.2.22:8080 0.5000",
		"NodePort 192.168.7.3:30083/TCP shop/local:http local masquerade=never -> random 10.244.1.31:8080 1.0000",
		"NodePort 192.168.7.3:30084/TCP shop/faraway:http local masquerade=never -> drop",
		"NodePort 192.168.7.3:30086/TCP shop/lb:http cluster masquerade=always -> random 10.244.1.61:8080 0.5000 10.244.2.62:8080 0.5000",
	})
}

// One thing changed in a whole dump: it must show, as a line kept, and as the
// absence of exactly the frontends it touches.
func TestDecodeFaults(t *testing.T) {
	const (
		three  = "10.96.1.1:80/TCP"
		sticky = "10.96.1.2:80/TCP *:30082/TCP"
		lb     = "10.96.1.6:80/TCP 198.51.100.6:80/TCP 203.0.113.6:80/TCP *:30086/TCP"
	)
	for _, test := range []struct {
		name          string
		before, after string
		gone          string   // endpoints
		unparsed      []string // parts of the lines, in order
	}{
		{
			"unsupported revision", " --to-destination 10.244.1.11:8080", " [unsupported revision]",
			three, []string{"[unsupported revision]", "-A KUBE-SERVICES -d 10.96.1.1/32"},
		},
		{
			"frontend with a condition", "-A KUBE-SERVICES -d 10.96.1.1/32", "-A KUBE-SERVICES -s 10.0.0.0/8 -d 10.96.1.1/32",
			three, []string{"-s 10.0.0.0/8"},
		},
		{
			"frontend with an unknown condition", "-A KUBE-SERVICES -d 10.96.1.1/32 -p tcp", "-A KUBE-SERVICES -d 10.96.1.1/32 -p tcp -m socket",
			three, []string{"-m socket"},
		},
		{
			"frontend of no known kind", "three:http cluster IP\" -m tcp --dport 80 -j KUBE-SVC-", "three:http\" -m tcp --dport 80 -j KUBE-SVC-",
			three, []string{"-A KUBE-SERVICES -d 10.96.1.1/32"},
		},
		{
			"frontend that leads nowhere", "--dport 80 -j KUBE-SVC-SV6Z2RSVTP52NI55", "--dport 80 -j ACCEPT",
			three, []string{"-j ACCEPT"},
		},
		{
			"range of ports", "\"shop/three:http cluster IP\" -m tcp --dport 80 -j KUBE-SVC", "\"shop/three:http cluster IP\" -m tcp --dport 80:90 -j KUBE-SVC",
			three, []string{"80:90"},
		},
		{
			"a second way for one address", "-A KUBE-SERVICES -d 10.96.1.2/32", "-A KUBE-SERVICES -d 10.96.1.1/32",
			"10.96.1.2:80/TCP", []string{`shop/sticky:http cluster IP" -m tcp --dport 80 -j KUBE-SVC`},
		},
		{
			"choice in turns", "--mode random --probability 0.33333333349", "--mode nth --every 3 --packet 0",
			three, []string{"-A KUBE-SERVICES -d 10.96.1.1/32", "--mode nth"},
		},
		{
			"choice beyond certainty", "--probability 0.33333333349", "--probability 1.33333333349",
			three, []string{"-A KUBE-SERVICES -d 10.96.1.1/32", "1.33333333349"},
		},
		{
			"choice that leaves some traffic over", ` -> 10.244.2.13:8080" -j`, ` -> 10.244.2.13:8080" -m statistic --mode random --probability 0.5 -j`,
			three, []string{"-A KUBE-SERVICES -d 10.96.1.1/32"},
		},
		{
			"a rule nothing gets to", ` -m statistic --mode random --probability 0.33333333349 -j`, ` -j`,
			three, []string{"-A KUBE-SERVICES -d 10.96.1.1/32", "-> 10.244.1.12:8080", "-> 10.244.2.13:8080"},
		},
		{
			"backend of another protocol", `-p udp -m comment --comment "shop/plain" -m udp -j DNAT`, `-p tcp -m comment --comment "shop/plain" -m tcp -j DNAT`,
			"10.96.1.9:53/UDP", []string{"-A KUBE-SERVICES -d 10.96.1.9/32"},
		},
		{
			"backend without a port", "--to-destination 10.244.1.91:5353", "--to-destination 10.244.1.91",
			"10.96.1.9:53/UDP", []string{"--to-destination 10.244.1.91", "-A KUBE-SERVICES -d 10.96.1.9/32"},
		},
		{
			"hairpin of another backend", "-s 10.244.1.91/32", "-s 10.244.1.92/32",
			"10.96.1.9:53/UDP", []string{"-A KUBE-SERVICES -d 10.96.1.9/32"},
		},
		{
			"affinity that no backend keeps", "-m recent --set --name KUBE-SEP-2S3TRIF3BVTBK3NA --mask 255.255.255.255 --rsource ", "",
			sticky, []string{`"shop/sticky:http" -m tcp --dport 30082`, "-A KUBE-SERVICES -d 10.96.1.2/32"},
		},
		{
			"affinity by network", "--name KUBE-SEP-2S3TRIF3BVTBK3NA --mask 255.255.255.255", "--name KUBE-SEP-2S3TRIF3BVTBK3NA --mask 255.255.255.0",
			sticky, []string{`"shop/sticky:http" -m tcp --dport 30082`, "--set", "-A KUBE-SERVICES -d 10.96.1.2/32", "--rcheck"},
		},
		{
			"affinity to another backend's list", "--reap --name KUBE-SEP-2S3TRIF3BVTBK3NA", "--reap --name KUBE-SEP-I7BIE3FETI3O4WLC",
			sticky, []string{`"shop/sticky:http" -m tcp --dport 30082`, "-A KUBE-SERVICES -d 10.96.1.2/32", "--rcheck"},
		},
		{
			"affinity of two durations", "10.244.2.22:8080\" -m recent --rcheck --seconds 10800", "10.244.2.22:8080\" -m recent --rcheck --seconds 60",
			sticky, []string{`"shop/sticky:http" -m tcp --dport 30082`, "-A KUBE-SERVICES -d 10.96.1.2/32"},
		},
		{
			"external traffic with a condition", "-A KUBE-EXT-PV4EPRVIIQ32IMYP -j KUBE-SVC", "-A KUBE-EXT-PV4EPRVIIQ32IMYP -p tcp -j KUBE-SVC",
			"198.51.100.6:80/TCP 203.0.113.6:80/TCP *:30086/TCP",
			[]string{"-A KUBE-EXT-PV4EPRVIIQ32IMYP -p tcp", "-A KUBE-NODEPORTS", "-A KUBE-SERVICES -d 198.51.100.6/32", "-A KUBE-SERVICES -d 203.0.113.6/32"},
		},
		{
			"a stranger's rule in a Service's chain", "-A KUBE-SVC-PV4EPRVIIQ32IMYP -m comment --comment \"shop/lb:http -> 10.244.1.61:8080\"", "-A KUBE-SVC-PV4EPRVIIQ32IMYP -s 192.0.2.1/32 -j RETURN\n-A KUBE-SVC-PV4EPRVIIQ32IMYP -m comment --comment \"shop/lb:http -> 10.244.1.61:8080\"",
			lb, []string{"-A KUBE-NODEPORTS", "-A KUBE-SERVICES -d 10.96.1.6/32", "-A KUBE-SERVICES -d 198.51.100.6/32", "-A KUBE-SERVICES -d 203.0.113.6/32", "-j RETURN"},
		},
		{
			"a source range that leads elsewhere", "-A KUBE-FW-PV4EPRVIIQ32IMYP -s 198.18.0.0/15 -m comment --comment \"shop/lb:http loadbalancer IP\" -j KUBE-EXT-PV4EPRVIIQ32IMYP", "-A KUBE-FW-PV4EPRVIIQ32IMYP -s 198.18.0.0/15 -j KUBE-EXT-25FJTMN2OLOPNGWS",
			"203.0.113.6:80/TCP", []string{"-A KUBE-FW-PV4EPRVIIQ32IMYP -s 198.18.0.0/15", "-A KUBE-SERVICES -d 203.0.113.6/32"},
		},
		{
			"localhost that leads elsewhere", "-A KUBE-NODEPORTS -p tcp -m comment --comment \"shop/sticky:http\"", "-A KUBE-NODEPORTS -d 127.0.0.0/8 -p tcp -m tcp --dport 30082 -m nfacct --nfacct-name  localhost_nps_accepted_pkts -j KUBE-EXT-PV4EPRVIIQ32IMYP\n-A KUBE-NODEPORTS -p tcp -m comment --comment \"shop/sticky:http\"",
			"", []string{"127.0.0.0/8"},
		},
		{
			"node ports that nothing leads to", "-m addrtype --dst-type LOCAL -j KUBE-NODEPORTS", "-m addrtype --dst-type BROADCAST -j KUBE-NODEPORTS",
			"*:30082/TCP *:30083/TCP *:30086/TCP", []string{"--dport 30082", "--dport 30083", "--dport 30084", "--dport 30086", "BROADCAST"},
		},
		{
			"a rejection beside backends", "-A KUBE-SERVICES -d 10.96.1.5/32 ", "-A KUBE-SERVICES -d 10.96.1.1/32 ",
			"10.96.1.5:80/TCP", []string{"shop/nobody:http has no endpoints"},
		},
		{
			"a rejection for another reason", "inside-away:http has no local endpoints", "inside-away:http is closed",
			"10.96.1.8:80/TCP", []string{"is closed"},
		},
		{
			"an unknown chain of kube-proxy's", "-A KUBE-SEP-KPA5AHXJZ6D3CKD6 -s", "-A KUBE-XLB-OLD -j RETURN\n-A KUBE-SEP-KPA5AHXJZ6D3CKD6 -s",
			"", []string{"KUBE-XLB-OLD"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dump := edit(t, read(t, "made/shapes-nft.txt"), test.before, test.after)
			table := decode(t, strings.ReplaceAll(dump, ":KUBE-SERVICES", ":KUBE-XLB-OLD - [0:0]\n:KUBE-SERVICES"))
			var want, got []string
			for _, line := range shapes {
				endpoint := strings.Fields(line)[1]
				if !slices.Contains(strings.Fields(test.gone), endpoint) {
					want = append(want, endpoint)
				}
			}
			for _, line := range show(collect.ServiceTable{Frontends: table.Frontends}) {
				got = append(got, strings.Fields(line)[1])
			}
			expect(t, got, want)
			if len(table.Unparsed) != len(test.unparsed) {
				t.Fatalf("unparsed %v, want %q", table.Unparsed, test.unparsed)
			}
			for i, line := range table.Unparsed {
				if !strings.Contains(line.Text, test.unparsed[i]) {
					t.Errorf("unparsed %s, want %q", line, test.unparsed[i])
				}
			}
		})
	}
}

// Another mode of kube-proxy is not mistaken for an empty table.
func TestDecodeIPVSModeIsUnparsed(t *testing.T) {
	table := decode(t, ipvs)
	if len(table.Frontends) != 0 || len(table.Unparsed) != 4 {
		t.Errorf("got %q, want no frontend and the rules of IPVS mode unparsed", show(table))
	}
}

// Rules without the jumps of the kernel's own chains do nothing.
func TestDecodeUnhooked(t *testing.T) {
	dump := read(t, "made/shapes-nft.txt")
	nat := strings.Index(dump, "*nat")
	for _, test := range []struct {
		name, dump string
		frontends  int
		unparsed   int
	}{
		{"nat", dump[:nat] + edit(t, dump[nat:], `-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES`, ""), 6, 14},
		{"filter", edit(t, dump[:nat], `-A INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES`, "") + dump[nat:], 16, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			table := decode(t, test.dump)
			if len(table.Frontends) != test.frontends || len(table.Unparsed) != test.unparsed {
				t.Errorf("%d frontends and %d lines unparsed, want %d and %d:\n%s", len(table.Frontends), len(table.Unparsed),
					test.frontends, test.unparsed, strings.Join(show(table), "\n"))
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	dump := read(t, "made/shapes-nft.txt")
	for _, test := range []struct{ name, dump, want string }{
		{"truncated", dump[:strings.Index(dump, "-A KUBE-SVC-SV6Z2")], "line 142: "},
		{"truncated in a line", dump[:strings.Index(dump, " cluster IP")], "a quote is not closed"},
		{"two dumps", dump + dump, "the second table of this name"},
		{"no COMMIT", edit(t, dump, "COMMIT\n", ""), "table filter has no COMMIT"},
		{"table left out", edit(t, dump, "*nat\n", "# Table `nat' is incompatible, use 'nft' tool.\n*nat\n"), "the table is left out"},
		{"no dump", "iptables-save: command not found\n", `line 1: iptables-save: command not found: stands outside a table`},
		{"no rule", "*nat\nKUBE-SERVICES\nCOMMIT\n", "line 2: KUBE-SERVICES: neither a rule nor a chain"},
		{"rule outside a table", "-A KUBE-SERVICES -j ACCEPT\n", "stands outside a table"},
		{"rule of an undeclared chain", "*nat\n-A KUBE-SERVICES -j ACCEPT\nCOMMIT\n", `table nat declares no chain "KUBE-SERVICES"`},
		{"jump to a missing chain", edit(t, dump, ":KUBE-SEP-V4763SXNHVDCCZPL - [0:0]\n", ""), `line 114: -A KUBE-SEP-V4763SXNHVDCCZPL`},
		{"jump to a missing service", edit(t, dump, "-j KUBE-SVC-SV6Z2RSVTP52NI55", "-j KUBE-SVC-GONE"), `declares no chain "KUBE-SVC-GONE"`},
		{"option without value", "*nat\n:X - [0:0]\n-A X -j\nCOMMIT\n", "line 3: -A X -j: nothing follows -j"},
	} {
		t.Run(test.name, func(t *testing.T) {
			table, err := Decode([]byte(test.dump))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("error %v, want one of a line with %q", err, test.want)
			}
			if len(table.Frontends) != 0 {
				t.Errorf("%d frontends beside an error", len(table.Frontends))
			}
		})
	}
}

// A dump cut after any line but one that ends a table is no dump.
func TestDecodeNoticesEveryCut(t *testing.T) {
	dump := read(t, "kube-proxy-iptables/worker/iptables-nft-save.txt")
	inside := false
	for i := range len(dump) {
		if dump[i] != '\n' {
			continue
		}
		line := dump[strings.LastIndexByte(dump[:i], '\n')+1 : i]
		switch {
		case line[0] == '*':
			inside = true
		case line == "COMMIT":
			inside = false
		}
		if _, err := Decode([]byte(dump[:i+1])); (err != nil) != inside {
			t.Errorf("cut after %q: error %v", line, err)
		}
	}
}
