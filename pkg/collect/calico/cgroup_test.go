package calico

import (
	"strings"
	"testing"

	"service-dataplane/pkg/collect"
)

func TestDecodeAttached(t *testing.T) {
	programs, err := DecodeAttached(read(t, "control-plane", CgroupFile))
	if err != nil {
		t.Fatal(err)
	}
	want := Program{
		ID: 2294, AttachType: "cgroup_inet4_connect", Flags: "multi", Name: "calico_connect_v4",
		Line: collect.Line{Text: `{"id":2294,"attach_type":"cgroup_inet4_connect","attach_flags":"multi","name":"calico_connect_v4","attach_btf_name":"","attach_btf_obj_id":0,"attach_btf_id":0}`},
	}
	if len(programs) != 2 || programs[0] != want || programs[1].Name != "calico_connect_v46" {
		t.Errorf("got %+v", programs)
	}
}

// On the worker bpftool's open file had the number 3, as has the device
// cali733325c021f there: `bpftool net` lists programs 2581 and 2582 at it.
func TestDecodeAttachedOfDevice(t *testing.T) {
	programs, err := DecodeAttached(read(t, "worker", CgroupFile))
	if err != nil {
		t.Fatal(err)
	}
	var names, devices []string
	for _, p := range programs {
		if p.OfDevice() {
			devices = append(devices, p.Name)
		} else {
			names = append(names, p.Name)
		}
	}
	compare(t, names, []string{"calico_connect_v4", "calico_connect_v46"})
	compare(t, devices, []string{"cali_tc_preamble", "cali_tc_preamble"})
}

func TestDecodeAttachedForms(t *testing.T) {
	tests := []struct{ name, text, attachType string }{
		{"an older bpftool", `[{"id":1,"attach_type":"connect4","attach_flags":"multi","name":"calico_connect_v4"}]`, "connect4"},
		{"a type without a name", `[{"id":1,"attach_type":99,"attach_flags":"","name":"x"}]`, "type 99"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			programs, err := DecodeAttached([]byte(tt.text))
			if err != nil || len(programs) != 1 || programs[0].AttachType != tt.attachType {
				t.Errorf("%+v, %v", programs, err)
			}
		})
	}
	if programs, err := DecodeAttached([]byte("[]\n")); err != nil || len(programs) != 0 {
		t.Errorf("none: %v, %v", programs, err)
	}
}

func TestDecodeAttachedErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "line 1: unexpected end"},
		{"truncated", `[{"id":1,`, "line 1: unexpected end"},
		{"bpftool fails", `{"error":"can't open cgroup /run/calico/cgroup"}`, "bpftool: can't open cgroup /run/calico/cgroup"},
		{"an object", `{"id":1}`, "{…} where [ is due"},
		{"no type", `[{"id":1}]`, `{"id":1}: want an id and an attach_type`},
		{"a word for the id", `[{"id":"1"}]`, "json: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			programs, err := DecodeAttached([]byte(tt.text))
			if err == nil {
				t.Fatalf("decoded as %+v", programs)
			}
			if !strings.HasPrefix(err.Error(), CgroupFile+": "+tt.want) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
		})
	}
}
