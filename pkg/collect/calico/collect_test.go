package calico

import (
	"slices"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	want := map[string]string{
		NATFile:       "crictl exec 5f2c calico-node -bpf nat dump --json",
		NATTextFile:   "crictl exec 5f2c calico-node -bpf nat dump",
		AffinityFile:  "crictl exec 5f2c calico-node -bpf nat aff --json",
		ConntrackFile: "crictl exec 5f2c calico-node -bpf conntrack dump --json",
		VersionFile:   "crictl exec 5f2c calico-node -v",
		CgroupFile:    "crictl exec 5f2c bpftool -j cgroup show /run/calico/cgroup",
	}
	var files, unnamed []string
	for _, command := range Commands("5f2c") {
		files = append(files, command.File)
		if got := strings.Join(command.Argv, " "); got != want[command.File] {
			t.Errorf("%s: %q, want %q", command.File, got, want[command.File])
		}
	}
	for _, command := range Commands("") {
		unnamed = append(unnamed, command.File)
	}
	if len(files) != len(want) || !slices.Equal(files, unnamed) {
		t.Errorf("files %v and, without a container, %v", files, unnamed)
	}
}

// Subcommands that change the node: none of them, ever.
func TestCommandsOnlyRead(t *testing.T) {
	for _, command := range Commands("5f2c") {
		for _, word := range []string{"connect-time", "clean", "cleanup", "set", "del", "remove", "reset", "write", "flush", "add"} {
			if slices.Contains(command.Argv, word) {
				t.Errorf("%v changes the node", command.Argv)
			}
		}
	}
}

func TestCommandsAbsent(t *testing.T) {
	for _, command := range Commands("5f2c") {
		said := map[bool]string{
			true:  "Error: unknown flag: --json\nUsage:\n  calico-bpf nat dump [<ip> <port> <proto>] [flags]\n",
			false: `time="…" level=fatal msg="execing command in container: task 5f2c not found"`,
		}
		if command.File == CgroupFile {
			said[true] = `OCI runtime exec failed: exec failed: unable to start container process: exec: "bpftool": executable file not found in $PATH`
		}
		if !slices.Contains(command.Argv, "--json") && command.File != CgroupFile {
			if command.Absent != nil {
				t.Errorf("%s can be absent beside a running calico-node", command.File)
			}
			continue
		}
		for absent, text := range said {
			if command.Absent.MatchString(text) != absent {
				t.Errorf("%s: %q told as absence: %t", command.File, text, !absent)
			}
		}
	}
}

func TestDecodeVersion(t *testing.T) {
	version, line, err := DecodeVersion(read(t, "worker", VersionFile))
	if err != nil || version != "v3.31.7" || line.Number != 1 || line.Text != "Version:      v3.31.7" {
		t.Errorf("%q, %s, %v", version, line, err)
	}
	for name, text := range map[string]string{
		"nothing":             "",
		"a built one without": "Version:      \nBuild date:   \n",
		"a message":           "flag provided but not defined: -v\n",
	} {
		version, line, err := DecodeVersion([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), VersionFile+": ") || version != "" || line.Number != 0 {
			t.Errorf("%s: %q, %s, %v", name, version, line, err)
		}
	}
}
