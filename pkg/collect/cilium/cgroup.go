package cilium

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// Program is one BPF program that is attached to a cgroup: the hooks of socket
// LB stand at the root ("cil_sock4_connect" and its kin), beside programs of
// others such as systemd's.
type Program struct {
	// Cgroup is the path, beginning with the root that was asked for.
	Cgroup string
	// ID in the kernel; it differs from run to run.
	ID int
	// AttachType as bpftool spells it: "cgroup_inet4_connect" ("connect4" in old
	// ones), "type 99" for one it has no name for.
	AttachType string
	// Name of the program, 15 characters of it where the kernel has no more.
	Name string
	Line collect.Line
}

// The two lines of the heading; a run that failed prints none.
var cgroupHeading = []string{"CgroupPath", "ID AttachType AttachFlags Name"}

// DecodeAttached reads the output of `bpftool cgroup tree ROOT` (bpftool 7,
// tools/bpf/bpftool/cgroup.c of the kernel's source). The heading alone is no
// programs. An error names the line that is none.
func DecodeAttached(raw []byte) ([]Program, error) {
	var programs []Program
	cgroup := ""
	number := 0
	for text := range strings.Lines(string(raw)) {
		number++
		text = strings.TrimRight(text, " \r\n")
		if number <= len(cgroupHeading) {
			if strings.Join(strings.Fields(text), " ") != cgroupHeading[number-1] {
				return nil, fmt.Errorf("%s: line %d: %q is not the heading %q", CgroupFile, number, text, cgroupHeading[number-1])
			}
			continue
		}
		if strings.HasPrefix(text, "/") {
			cgroup = text
			continue
		}
		program, err := parseProgram(strings.Fields(text))
		if err == nil && cgroup == "" {
			err = errors.New("above every cgroup")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %q: %w", CgroupFile, number, text, err)
		}
		program.Cgroup = cgroup
		program.Line = collect.Line{Number: number, Text: strings.TrimSpace(text)}
		programs = append(programs, program)
	}
	if number < len(cgroupHeading) {
		return nil, fmt.Errorf("%s: no heading", CgroupFile)
	}
	return programs, nil
}

// parseProgram reads ID, attach type, flags and name. The flags and the name may
// be blank; what follows the name says where an LSM program is attached.
func parseProgram(words []string) (Program, error) {
	if len(words) < 2 {
		return Program{}, errors.New("want an ID and an attach type")
	}
	id, err := strconv.ParseUint(words[0], 10, 31)
	if err != nil {
		return Program{}, err
	}
	program := Program{ID: int(id), AttachType: words[1]}
	words = words[2:]
	if program.AttachType == "type" && len(words) > 0 {
		program.AttachType += " " + words[0]
		words = words[1:]
	}
	if len(words) > 0 && (words[0] == "multi" || words[0] == "override" || strings.HasPrefix(words[0], "unknown(")) {
		words = words[1:]
	}
	if len(words) > 0 {
		program.Name = words[0]
	}
	return program, nil
}
