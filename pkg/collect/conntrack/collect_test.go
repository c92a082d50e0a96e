package conntrack

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	tests := []struct {
		name           string
		clusterIP      netip.Addr
		port, nodePort uint16
		want           []string
	}{
		{
			name: "NodePort", clusterIP: netip.MustParseAddr("10.96.149.194"), port: 80, nodePort: 30081,
			want: []string{
				"conntrack-clusterip.txt: conntrack -L -p tcp --orig-dst 10.96.149.194 --orig-port-dst 80",
				"conntrack-nodeport.txt: conntrack -L -p tcp --orig-port-dst 30081",
				"conntrack-stats.txt: conntrack -S",
			},
		},
		{
			name: "ClusterIP", clusterIP: netip.MustParseAddr("fd00:10:96::a"), port: 80,
			want: []string{
				"conntrack-clusterip.txt: conntrack -L -p tcp --orig-dst fd00:10:96::a --orig-port-dst 80",
				"conntrack-stats.txt: conntrack -S",
			},
		},
		{name: "no Service", want: []string{"conntrack-stats.txt: conntrack -S"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range Commands(tt.clusterIP, tt.port, tt.nodePort) {
				got = append(got, c.File+": "+strings.Join(c.Argv, " "))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}
