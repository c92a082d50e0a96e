package calico

import (
	"fmt"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// Program is one BPF program that bpftool lists for the cgroup. Felix attaches
// "calico_connect_v4" and, for IPv4 over an IPv6 socket, "calico_connect_v46";
// where UDP is translated as well, programs for sendmsg and recvmsg beside them.
type Program struct {
	// ID in the kernel; it differs from run to run.
	ID int
	// AttachType as bpftool spells it: "cgroup_inet4_connect" ("connect4" in old
	// ones), "type 99" for one it has no name for.
	AttachType string
	// Flags are "multi", "override" or "".
	Flags string
	// Name of the program, 15 characters of it where the kernel has no more.
	Name string
	Line collect.Line
}

// OfDevice tells a program that is not attached to the cgroup at all. bpftool asks
// the kernel for every attach type it knows, and for those of devices (tcx, netkit)
// the kernel takes the number of the open file for that of a device: what it answers
// is attached to whatever device has that number (target_fd and target_ifindex of
// union bpf_attr are one field).
func (p Program) OfDevice() bool {
	return strings.HasPrefix(p.AttachType, "tcx_") || strings.HasPrefix(p.AttachType, "netkit_")
}

// OfCalico tells Calico's own programs at the cgroup from those of others, and
// from what is OfDevice.
func (p Program) OfCalico() bool { return strings.HasPrefix(p.Name, "cali") && !p.OfDevice() }

// DecodeAttached reads the output of `bpftool -j cgroup show PATH` (bpftool 7,
// tools/bpf/bpftool/cgroup.c of the kernel's source): all it lists, also what is
// OfDevice. An empty array is no programs. What bpftool says went wrong is an error.
func DecodeAttached(raw []byte) ([]Program, error) {
	whole, err := parseJSON(CgroupFile, raw)
	if err != nil {
		return nil, err
	}
	if whole.Raw[0] == '{' {
		var answer struct{ Error string }
		if err := whole.Decode(&answer); err == nil && answer.Error != "" {
			return nil, fmt.Errorf("%s: bpftool: %s", CgroupFile, answer.Error)
		}
	}
	items, err := whole.ElementsOrNull()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", CgroupFile, err)
	}
	var programs []Program
	for _, item := range items {
		program, err := parseProgram(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", CgroupFile, err)
		}
		programs = append(programs, program)
	}
	return programs, nil
}

func parseProgram(item jsonlines.Value) (Program, error) {
	var p struct {
		ID    uint32 `json:"id"`
		Type  any    `json:"attach_type"`
		Flags string `json:"attach_flags"`
		Name  string `json:"name"`
	}
	if err := item.Decode(&p); err != nil {
		return Program{}, err
	}
	program := Program{ID: int(p.ID), Flags: p.Flags, Name: p.Name, Line: quote(item)}
	switch attachType := p.Type.(type) {
	case string:
		program.AttachType = attachType
	case float64:
		program.AttachType = fmt.Sprintf("type %v", attachType)
	}
	if program.ID == 0 || program.AttachType == "" {
		return Program{}, item.Errorf("%s: want an id and an attach_type", item.Compact())
	}
	return program, nil
}
