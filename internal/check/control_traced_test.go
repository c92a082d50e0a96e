package check

import (
	"strings"

	"service-dataplane/pkg/collect"
)

// tracedControls change rules that no service table has, in front of kube-proxy's
// and behind them: the tables stay as they have to be, the ways do not.
func tracedControls() []control {
	const (
		services    = `^-A PREROUTING .*-j KUBE-SERVICES\n`
		postrouting = `^-A POSTROUTING .*-j KUBE-POSTROUTING\n`
		masquerade  = "-A POSTROUTING -p tcp -m tcp --dport 8080 -j MASQUERADE\n"
	)
	return []control{
		{"somebody else's rule takes a ClusterIP", "iptables", func(r *recorded) {
			to := strings.ReplaceAll(r.backend("worker"), `\`, "")
			r.replace("worker2/"+nftSave, services, "-A PREROUTING -d "+r.find("worker2/"+nftSave, `-d (\S+) .*echo-server:http cluster IP`)+
				" -p tcp -m tcp --dport 80 -j DNAT --to-destination "+to+":8080\n${0}")
		}, []turn{{"traffic.traced", collect.Fail, "", byName}}},
		{"somebody else's rule rejects what a NodePort gets", "iptables", func(r *recorded) {
			r.replace("worker/"+nftSave, `^-A FORWARD `, "-A FORWARD -p tcp -m tcp --dport 8080 -j REJECT --reject-with icmp-port-unreachable\n${0}")
		}, []turn{{"traffic.traced", collect.Fail, "", "client/nodeport-worker.jsonl"}}},
		{"somebody else's rule masquerades", "iptables", func(r *recorded) {
			r.replace("worker2/"+nftSave, postrouting, masquerade+"${0}")
		}, []turn{{"traffic.traced", collect.Fail, "", byName}}},
		{"somebody else's rule masquerades what IPVS sends on", "ipvs", func(r *recorded) {
			r.replace("worker2/"+nftSave, postrouting, masquerade+"${0}")
		}, []turn{{"traffic.traced", collect.Fail, "", byName}}},
		{"the mark that is set is not the one that is masqueraded", "nftables", func(r *recorded) {
			r.replace("worker/nft-ruleset.txt", `(chain mark-for-masquerade \{\s*meta mark set meta mark \| )0x00004000`, "${1}0x00002000")
		}, []turn{{"traffic.traced", collect.Fail, "", "client/nodeport-worker.jsonl"}}},
		{"somebody else's rule is not understood", "iptables", func(r *recorded) {
			r.replace("worker2/"+nftSave, postrouting, "-A POSTROUTING -p tcp -j STRANGE\n${0}")
		}, []turn{{"traffic.traced", collect.Inconclusive, "", "worker2/" + nftSave}}},
		{"a rule that asks for what is not known and changes nothing", "iptables", func(r *recorded) {
			r.replace("worker2/"+nftSave, postrouting, "-A POSTROUTING -o eth9 -j RETURN\n${0}-A POSTROUTING -m strange --rule -j ACCEPT\n")
		}, nil},
	}
}
