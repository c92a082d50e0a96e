// Command runc-bounded is an OCI runtime: runc, asked only for capabilities
// this host holds. An engine that requests every capability the kernel knows
// (Docker 20.10 for a privileged container) cannot start one where the
// capability bounding set lacks CAP_SYS_RESOURCE; runc then refuses with
// "unable to apply caps: operation not permitted".
//
// It edits the capability lists of the bundle's config.json (create, run) or
// of the process file (exec), then replaces itself with runc.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "runc-bounded:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if file := specFile(args[1:]); file != "" {
		held, err := boundingSet("/proc/self/status")
		if err != nil {
			return err
		}
		if err := rewrite(file, held); err != nil {
			return fmt.Errorf("limit the capabilities of %s: %w", file, err)
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	return syscall.Exec(runc, append([]string{runc}, args[1:]...), os.Environ())
}

// specFile returns the file that names the capabilities of the process runc
// is about to start, or "" for a command that starts none.
func specFile(args []string) string {
	value := func(names ...string) string {
		for i, arg := range args {
			for _, name := range names {
				if arg == name && i+1 < len(args) {
					return args[i+1]
				}
				if v, ok := strings.CutPrefix(arg, name+"="); ok {
					return v
				}
			}
		}
		return ""
	}
	switch {
	case slices.Contains(args, "exec"):
		return value("--process", "-p")
	case slices.Contains(args, "create"), slices.Contains(args, "run"):
		return filepath.Join(value("--bundle", "-b"), "config.json")
	}
	return ""
}

// boundingSet reads the CapBnd line of a proc_pid_status(5) file.
func boundingSet(statusFile string) (uint64, error) {
	status, err := os.ReadFile(statusFile)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if hex, ok := strings.CutPrefix(line, "CapBnd:"); ok {
			return strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
		}
	}
	return 0, fmt.Errorf("%s has no CapBnd line", statusFile)
}

func rewrite(file string, held uint64) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	limited, err := limit(raw, held)
	if err != nil {
		return err
	}
	return os.WriteFile(file, limited, 0o600)
}

// limit returns the OCI runtime spec (or process) without the capabilities
// whose bit is not in held. All other content is kept.
func limit(spec []byte, held uint64) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(spec))
	decoder.UseNumber() // limits can exceed what a float64 holds
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	process := document
	if p, ok := document["process"].(map[string]any); ok {
		process = p
	}
	sets, _ := process["capabilities"].(map[string]any)
	for name, set := range sets {
		list, ok := set.([]any)
		if !ok {
			continue
		}
		sets[name] = slices.DeleteFunc(list, func(capability any) bool {
			bit := slices.Index(capabilities, fmt.Sprint(capability))
			return bit >= 0 && held&(1<<bit) == 0
		})
	}
	return json.Marshal(document)
}

// capabilities in the order of their bits: linux/capability.h, 6.18.
var capabilities = strings.Fields(`
CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_KILL
CAP_SETGID CAP_SETUID CAP_SETPCAP CAP_LINUX_IMMUTABLE CAP_NET_BIND_SERVICE
CAP_NET_BROADCAST CAP_NET_ADMIN CAP_NET_RAW CAP_IPC_LOCK CAP_IPC_OWNER
CAP_SYS_MODULE CAP_SYS_RAWIO CAP_SYS_CHROOT CAP_SYS_PTRACE CAP_SYS_PACCT
CAP_SYS_ADMIN CAP_SYS_BOOT CAP_SYS_NICE CAP_SYS_RESOURCE CAP_SYS_TIME
CAP_SYS_TTY_CONFIG CAP_MKNOD CAP_LEASE CAP_AUDIT_WRITE CAP_AUDIT_CONTROL
CAP_SETFCAP CAP_MAC_OVERRIDE CAP_MAC_ADMIN CAP_SYSLOG CAP_WAKE_ALARM
CAP_BLOCK_SUSPEND CAP_AUDIT_READ CAP_PERFMON CAP_BPF CAP_CHECKPOINT_RESTORE`)
