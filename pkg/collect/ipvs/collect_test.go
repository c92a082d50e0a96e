package ipvs

import "testing"

func TestCommandsAbsent(t *testing.T) {
	// What the commands print on a node without it.
	stderr := map[string]string{
		ConnectionsFile: "cat: /proc/net/ip_vs_conn: No such file or directory\n",
		ServicesFile:    "cat: /proc/net/ip_vs: No such file or directory\n",
		StatsFile:       "cat: /proc/net/ip_vs_stats: No such file or directory\n",
		DummyFile:       "Device \"kube-ipvs0\" does not exist.\n",
		IPSetFile:       "ipset v7.17: Cannot open session to kernel.\n",
		TimerListFile:   "grep: /proc/timer_list: No such file or directory\n",
	}
	if first := Commands()[0].File; first != ConnectionsFile {
		t.Errorf("%s is read first, and connections expire meanwhile", first)
	}
	for _, command := range Commands() {
		if !command.Absent.MatchString(stderr[command.File]) {
			t.Errorf("%s: %q is not told as absence", command.File, stderr[command.File])
		}
		if command.Absent.MatchString("Operation not permitted") {
			t.Errorf("%s: a refusal is told as absence", command.File)
		}
	}
}
