package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// withoutSysResource is a bounding set that lacks bit 24 and bits above 40.
const withoutSysResource = 0x1fffeffffff

func TestSpecFile(t *testing.T) {
	tests := []struct{ args, want string }{
		{"--root /run/runc --log-format json create --bundle /b --pid-file /p id", "/b/config.json"},
		{"--root=/run/runc run -b /b id", "/b/config.json"},
		{"create --bundle=/b id", "/b/config.json"},
		{"create id", "config.json"},
		{"--log /l exec --process /tmp/process.json --detach id", "/tmp/process.json"},
		{"state id", ""},
		{"delete --force id", ""},
		{"", ""},
	}
	for _, test := range tests {
		if got := specFile(strings.Fields(test.args)); got != test.want {
			t.Errorf("specFile(%s) = %q, want %q", test.args, got, test.want)
		}
	}
}

func TestLimitTakesOutWhatIsNotHeld(t *testing.T) {
	tests := []struct{ name, spec, want string }{
		{"a container",
			`{"process":{"capabilities":{"bounding":["CAP_CHOWN","CAP_SYS_RESOURCE"],"effective":["CAP_SYS_RESOURCE"]},"args":["sh"]}}`,
			`{"process":{"capabilities":{"bounding":["CAP_CHOWN"],"effective":[]},"args":["sh"]}}`},
		{"a process of exec",
			`{"capabilities":{"permitted":["CAP_SYS_RESOURCE","CAP_BPF"]},"cwd":"/"}`,
			`{"capabilities":{"permitted":["CAP_BPF"]},"cwd":"/"}`},
		{"a capability newer than the list", `{"capabilities":{"bounding":["CAP_NEW"]}}`, `{"capabilities":{"bounding":["CAP_NEW"]}}`},
		{"no capabilities", `{"process":{"args":["sh"]}}`, `{"process":{"args":["sh"]}}`},
		{"large numbers are kept", `{"linux":{"resources":{"memory":{"limit":9223372036854775807}}}}`,
			`{"linux":{"resources":{"memory":{"limit":9223372036854775807}}}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := limit([]byte(test.spec), withoutSysResource)
			if err != nil {
				t.Fatal(err)
			}
			var g, w any
			if json.Unmarshal(got, &g) != nil || json.Unmarshal([]byte(test.want), &w) != nil || !reflect.DeepEqual(g, w) {
				t.Errorf("limit = %s, want %s", got, test.want)
			}
			if strings.Contains(test.want, "9223372036854775807") && !strings.Contains(string(got), "9223372036854775807") {
				t.Errorf("a number lost digits: %s", got)
			}
		})
	}
	if _, err := limit([]byte("{"), withoutSysResource); err == nil {
		t.Error("a broken spec gives no error")
	}
}

func TestBoundingSet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "status")
	if err := os.WriteFile(file, []byte("Name:\tx\nCapBnd:\t000001fffeffffff\nCapAmb:\t0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := boundingSet(file); got != withoutSysResource || err != nil {
		t.Errorf("boundingSet = %x, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("Name:\tx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := boundingSet(file); err == nil {
		t.Error("a file without CapBnd gives no error")
	}
}

func TestCapabilitiesAreInTheOrderOfTheirBits(t *testing.T) {
	for bit, name := range map[int]string{0: "CAP_CHOWN", 12: "CAP_NET_ADMIN", 21: "CAP_SYS_ADMIN", 24: "CAP_SYS_RESOURCE", 39: "CAP_BPF", 40: "CAP_CHECKPOINT_RESTORE"} {
		if capabilities[bit] != name {
			t.Errorf("bit %d is %s, want %s", bit, capabilities[bit], name)
		}
	}
}
