package cilium

import (
	"reflect"
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

const heading = "CgroupPath\nID       AttachType      AttachFlags     Name           \n"

func TestDecodeAttachedWorker(t *testing.T) {
	programs, err := DecodeAttached(read(t, "worker", CgroupFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(programs) != 13 {
		t.Fatalf("%d programs, want 13", len(programs))
	}
	want := Program{
		Cgroup: "/run/cilium/cgroupv2", ID: 3648, AttachType: "cgroup_inet4_connect", Name: "cil_sock4_connect",
		Line: collect.Line{Number: 4, Text: "3648     cgroup_inet4_connect multi           cil_sock4_connect"},
	}
	if programs[0] != want {
		t.Errorf("got %+v, want %+v", programs[0], want)
	}
	ours := map[string]int{}
	for _, p := range programs {
		if strings.HasPrefix(p.Name, "cil_") {
			ours[p.Cgroup]++
		}
	}
	if want := map[string]int{"/run/cilium/cgroupv2": 11}; !reflect.DeepEqual(ours, want) {
		t.Errorf("programs of Cilium %v, want %v", ours, want)
	}
	last := programs[12]
	if last.Cgroup != "/run/cilium/cgroupv2/system.slice/systemd-journald.service" || last.Name != "sd_fw_egress" || last.Line.Number != 17 {
		t.Errorf("last program %+v", last)
	}
}

func TestDecodeAttachedLine(t *testing.T) {
	tests := []struct{ name, text, attachType, program string }{
		{"an older bpftool", "3452     connect4        multi           cil_sock4_connect", "connect4", "cil_sock4_connect"},
		{"no flags", "12       cgroup_device                   sd_devices     ", "cgroup_device", "sd_devices"},
		{"override", "12       egress          override        fw             ", "egress", "fw"},
		{"unknown flags", "12       egress          unknown(8)      fw             ", "egress", "fw"},
		{"an unknown type", "12       type 99         multi           fw             ", "type 99", "fw"},
		{"no name", "12       egress          multi                          ", "egress", ""},
		{"an LSM program", "12       lsm_cgroup      multi           hook            bpf_lsm_socket_bind", "lsm_cgroup", "hook"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			programs, err := DecodeAttached([]byte(heading + "/sys/fs/cgroup\n" + tt.text + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if len(programs) != 1 || programs[0].AttachType != tt.attachType || programs[0].Name != tt.program {
				t.Errorf("got %+v", programs)
			}
		})
	}
}

func TestDecodeAttachedNothing(t *testing.T) {
	for _, text := range []string{heading, heading + "/sys/fs/cgroup\n"} {
		if programs, err := DecodeAttached([]byte(text)); err != nil || len(programs) != 0 {
			t.Errorf("%q: %v, %v", text, programs, err)
		}
	}
}

func TestDecodeAttachedErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "no heading"},
		{"half a heading", "CgroupPath\n", "no heading"},
		{"another command", "ID       AttachType      AttachFlags     Name\n", "line 1: "},
		{"a program of no cgroup", heading + "12 egress multi fw\n", "line 3: "},
		{"a word for an ID", heading + "/a\nmany egress multi fw\n", "line 4: "},
		{"an ID alone", heading + "/a\n12\n", "line 4: "},
		{"a blank line", heading + "\n", "line 3: "},
		{"a message", heading + "Error: can't get cgroup ID\n", "line 3: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			programs, err := DecodeAttached([]byte(tt.text))
			if err == nil || !strings.HasPrefix(err.Error(), CgroupFile+": "+tt.want) {
				t.Errorf("error %v and %+v, want one with %q", err, programs, tt.want)
			}
		})
	}
}
