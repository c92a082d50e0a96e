package calico

import (
	"strings"
	"testing"
)

func TestDecodeIPv6(t *testing.T) {
	const text = "fd00:96::1 port 80 proto 6 id 1 count 2 local 1\n\t1:0\t [fd00:244::1]:8080\n\t1:1\t [fd00:244::2]:8080\n" +
		"fd00::6 port 30081 proto 6 id 1 count 2 local 1 flags external-local\n\t1:0\t [fd00:244::1]:8080\n\t1:1\t [fd00:244::2]:8080\n" +
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff port 30081 proto 6 id 1 count 2 local 1 flags external-local\n\t1:0\t [fd00:244::1]:8080\n\t1:1\t [fd00:244::2]:8080\n" +
		"fd00:96::2 port 80 proto 17 id 2 count 0 local 0\n"
	table := decode(t, Raw{NATText: []byte(text)})
	compare(t, summaries(table), []string{
		"ClusterIP [fd00:96::1]:80/TCP random cluster fd00:244::1=0.5 fd00:244::2=0.5",
		"ClusterIP [fd00:96::2]:80/UDP cluster reject",
		"NodePort *:30081/TCP random local fd00:244::1=1",
		"NodePort [fd00::6]:30081/TCP random local fd00:244::1=1",
	})
	compare(t, texts(table.Unparsed), nil)
}

// What the maps do not tell has no kind, as without a NodePort that has the wildcard
// row: the node's addresses are not known then.
func TestKindsUnknown(t *testing.T) {
	const backends = "\t1:0\t 10.1.0.1:8080\n"
	row := func(head string) string { return head + "\n" + backends }
	tests := []struct {
		name, text string
		want       []string
	}{
		{
			"internal policy local alone",
			row("10.96.0.1 port 80 proto 6 id 1 count 1 local 1 flags internal-local") +
				row("172.18.0.6 port 30081 proto 6 id 1 count 1 local 1 flags internal-local"),
			[]string{"10.96.0.1:80/TCP random 10.1.0.1=1", "172.18.0.6:30081/TCP random 10.1.0.1=1"},
		},
		{
			"an ExternalIP that is the node's address",
			row("10.96.0.1 port 80 proto 6 id 1 count 1 local 1") +
				row("172.18.0.6 port 30081 proto 6 id 1 count 1 local 1") +
				row("255.255.255.255 port 30081 proto 6 id 1 count 1 local 1") +
				strings.ReplaceAll(row("10.96.0.2 port 443 proto 6 id 2 count 1 local 1")+
					row("172.18.0.6 port 443 proto 6 id 2 count 1 local 1"), "1:0", "2:0"),
			[]string{
				"10.96.0.2:443/TCP random cluster 10.1.0.1=1", "172.18.0.6:443/TCP random cluster 10.1.0.1=1",
				"ClusterIP 10.96.0.1:80/TCP random cluster 10.1.0.1=1",
				"NodePort *:30081/TCP random cluster 10.1.0.1=1", "NodePort 172.18.0.6:30081/TCP random cluster 10.1.0.1=1",
			},
		},
		{
			"both policies local",
			row("10.96.0.1 port 80 proto 6 id 1 count 1 local 1 flags internal-local") +
				row("172.18.0.6 port 30081 proto 6 id 1 count 1 local 1 flags external-local, internal-local"),
			[]string{"172.18.0.6:30081/TCP random local 10.1.0.1=1", "ClusterIP 10.96.0.1:80/TCP random local 10.1.0.1=1"},
		},
		{
			"one number for port and NodePort",
			row("10.96.0.1 port 30081 proto 6 id 1 count 1 local 1") +
				row("172.18.0.6 port 30081 proto 6 id 1 count 1 local 1") +
				row("255.255.255.255 port 30081 proto 6 id 1 count 1 local 1"),
			[]string{"10.96.0.1:30081/TCP random cluster 10.1.0.1=1", "172.18.0.6:30081/TCP random cluster 10.1.0.1=1", "NodePort *:30081/TCP random cluster 10.1.0.1=1"},
		},
		{
			"source ranges in text that does not print them",
			row("10.96.0.1 port 80 proto 6 id 1 count 1 local 0") +
				row("203.0.113.6 port 80 proto 6 id 1 count 1 local 0") +
				"203.0.113.6 port 80 proto 6 id 1 count -1 local 0\n",
			[]string{"203.0.113.6:80/TCP random cluster 10.1.0.1=1", "ClusterIP 10.96.0.1:80/TCP random cluster 10.1.0.1=1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, summaries(decode(t, Raw{NATText: []byte(tt.text)})), tt.want)
		})
	}
}
