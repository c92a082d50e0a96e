package cilium

import (
	"slices"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	want := map[string]string{
		StatusFile:    "crictl exec 5f2c cilium-dbg status -o json",
		HealthFile:    "crictl exec 5f2c cilium-health status -o json",
		VersionFile:   "crictl exec 5f2c cilium-dbg version -o json",
		ServicesFile:  "crictl exec 5f2c cilium-dbg service list -o json",
		LBFile:        "crictl exec 5f2c cilium-dbg bpf lb list -o json",
		FrontendsFile: "crictl exec 5f2c cilium-dbg bpf lb list --frontends -o json",
		ConntrackFile: "crictl exec 5f2c cilium-dbg bpf ct list global",
		ConfigFile:    "crictl exec 5f2c cilium-dbg config --all",
		CgroupFile:    "crictl exec 5f2c bpftool cgroup tree /run/cilium/cgroupv2",
	}
	commands := Commands("5f2c", "/run/cilium/cgroupv2")
	var files, unnamed []string
	for _, command := range commands {
		files = append(files, command.File)
		if got := strings.Join(command.Argv, " "); got != want[command.File] {
			t.Errorf("%s: %q, want %q", command.File, got, want[command.File])
		}
	}
	for _, command := range Commands("", "") {
		unnamed = append(unnamed, command.File)
	}
	if len(files) != len(want) || !slices.Equal(files, unnamed) {
		t.Errorf("files %v and, without a container, %v", files, unnamed)
	}
}

func TestCommandsAbsent(t *testing.T) {
	const noHealth = `Error: Cannot get status: Get "http://localhost/v1beta/status": dial unix /var/run/cilium/health.sock: connect: no such file or directory`
	const noRight = `Error: Cannot get status: Get "http://localhost/v1beta/status": dial unix /var/run/cilium/health.sock: connect: permission denied`
	for _, command := range Commands("5f2c", "/") {
		if command.File != HealthFile {
			if command.Absent != nil {
				t.Errorf("%s can be absent beside a running agent", command.File)
			}
			continue
		}
		if !command.Absent.MatchString(noHealth) {
			t.Error("health checking that is off is not told as absence")
		}
		if command.Absent.MatchString(noRight) {
			t.Error("a refusal is told as absence")
		}
	}
}
