package ipvs

import (
	"net/netip"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

func TestRoles(t *testing.T) {
	raw := evidence(t, "kinds")
	roles, err := newRoles(raw.IPSet, raw.DummyAddrs)
	if err != nil {
		t.Fatal(err)
	}
	clusterIP := role{collect.ClusterIP, collect.PolicyCluster, collect.MasqueradeOffCluster}
	tests := []struct {
		protocol, address string
		want              role
	}{
		{"TCP", "10.96.0.1:443", clusterIP},
		{"UDP", "10.96.0.10:53", clusterIP},
		{"SCTP", "10.96.77.3:7000", clusterIP},
		{"TCP", "192.0.2.10:80", external(collect.LoadBalancer, false)},
		{"TCP", "192.0.2.11:80", external(collect.LoadBalancer, true)},
		{"TCP", "198.51.100.7:80", external(collect.ExternalIP, false)},
		{"TCP", "198.51.100.8:80", external(collect.ExternalIP, true)},
		{"TCP", "172.18.0.3:30081", external(collect.NodePort, false)},
		{"TCP", "172.18.0.3:30082", external(collect.NodePort, true)},
		{"UDP", "172.18.0.3:30500", external(collect.NodePort, false)},
		{"SCTP", "172.18.0.3:30700", external(collect.NodePort, true)},
		{"UDP", "[fd00:10:96::a]:53", clusterIP},
		{"TCP", "[fc00:f853:ccd:e793::3]:30083", external(collect.NodePort, false)},
		// Its set's name is cut to 31 characters.
		{"SCTP", "[fc00:f853:ccd:e793::3]:30701", external(collect.NodePort, true)},
	}
	for _, tt := range tests {
		got, ok := roles.of(VirtualService{Protocol: tt.protocol, Address: netip.MustParseAddrPort(tt.address)})
		if !ok || got != tt.want {
			t.Errorf("%s %s: %+v, %v; want %+v", tt.protocol, tt.address, got, ok, tt.want)
		}
	}

	for _, none := range []struct{ why, protocol, address string }{
		{"in no set", "TCP", "203.0.113.9:80"},
		{"another protocol's node port", "UDP", "172.18.0.3:30081"},
		{"the other family's node port", "TCP", "[fc00:f853:ccd:e793::3]:30081"},
		{"SCTP on another address", "SCTP", "172.18.0.4:30700"},
		{"another protocol", "UDP", "10.96.0.1:443"},
		{"a protocol no Service has", "ICMP", "10.96.0.1:443"},
	} {
		got, ok := roles.of(VirtualService{Protocol: none.protocol, Address: netip.MustParseAddrPort(none.address)})
		if ok {
			t.Errorf("%s: %s %s is %+v", none.why, none.protocol, none.address, got)
		}
	}
}

func TestRolesErrors(t *testing.T) {
	tests := []struct{ name, ipset, dummy, want string }{
		{"a list, not a save", "Name: KUBE-CLUSTER-IP\n", "", "line 1"},
		{"three words of a list", "Size in memory: 216\n", "", "line 1"},
		{"add before create", "add KUBE-CLUSTER-IP 10.96.0.1,tcp:443\n", "", "line 1"},
		{"created twice", "create a hash:ip family inet\ncreate a hash:ip family inet\n", "", "line 2"},
		{"another type", "create KUBE-CLUSTER-IP hash:ip family inet\nadd KUBE-CLUSTER-IP 10.96.0.1\n", "", "line 2"},
		{"no protocol", "create KUBE-CLUSTER-IP hash:ip,port family inet\nadd KUBE-CLUSTER-IP 10.96.0.1,443\n", "", "line 2"},
		{"no address", "create KUBE-CLUSTER-IP hash:ip,port family inet\nadd KUBE-CLUSTER-IP kube,tcp:443\n", "", "line 2"},
		{"a service name for a port", "create KUBE-NODE-PORT-TCP bitmap:port range 0-65535\nadd KUBE-NODE-PORT-TCP https\n", "", "line 2"},
		{"not JSON", "", "4: kube-ipvs0: <BROADCAST,NOARP>", DummyFile},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newRoles([]byte(tt.ipset), []byte(tt.dummy))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one naming %q", err, tt.want)
			}
		})
	}
}

// Sets of other programs may hold anything.
func TestRolesIgnoreOtherSets(t *testing.T) {
	ipset := `create other hash:net family inet hashsize 1024 maxelem 65536 timeout 600 comment bucketsize 12 initval 0x09f32a3b
add other 10.0.0.0/8 timeout 599 comment "two words"
`
	if _, err := newRoles([]byte(ipset), nil); err != nil {
		t.Error(err)
	}
}

func TestAddresses(t *testing.T) {
	// Old iproute2 prints an empty object for every device it leaves out.
	got, err := Addresses([]byte(`[{},{"ifname":"kube-ipvs0","addr_info":[{"family":"inet","local":"10.96.0.1"}]}]`))
	if err != nil || len(got) != 1 || got[0] != netip.MustParseAddr("10.96.0.1") {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTickRate(t *testing.T) {
	tests := []struct {
		name, text string
		want       int
	}{
		{"recorded, CONFIG_HZ=250", "now at 750696798079 nsecs\njiffies: 4295079912\n", 250},
		{"CONFIG_HZ=100", "now at 86400000000000 nsecs\njiffies: 4303577290\n", 100},
		{"CONFIG_HZ=300", "now at 86400000000000 nsecs\njiffies: 4320797290\n", 300},
		{"CONFIG_HZ=1000", "now at 86400000000000 nsecs\njiffies: 4381067296\n", 1000},
		{"too early to tell", "now at 300100000000 nsecs\njiffies: 4294967300\n", 0},
		{"no rate fits", "now at 86400000000000 nsecs\njiffies: 4300000000\n", 0},
		{"no tick counter", "now at 750696798079 nsecs\n", 0},
		{"empty", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tickRate([]byte(tt.text)); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
