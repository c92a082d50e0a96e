package cilium

import (
	"fmt"
	"strings"
	"testing"
)

func TestBackendAddressesWorker(t *testing.T) {
	got, err := BackendAddresses(read(t, "worker", LBFile), read(t, "worker", FrontendsFile))
	if err != nil {
		t.Fatal(err)
	}
	const want = "map[1:172.18.0.4:6443 2:10.245.0.75:53 3:10.245.0.75:53 4:10.245.0.75:9153 5:10.245.0.17:53 " +
		"6:10.245.0.17:53 7:10.245.0.17:9153 8:10.245.1.86:8080 9:10.245.2.76:8080]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestBackendAddressesIPv6(t *testing.T) {
	got, err := BackendAddresses(read(t, "made", LBFile), read(t, "made", FrontendsFile))
	if err != nil {
		t.Fatal(err)
	}
	const want = "map[8:10.245.1.86:8080 9:10.245.2.76:8080 10:10.245.2.77:8080 11:[fd00:245:1::86]:8080 12:[fd00:245:2::76]:8080]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestBackendAddressesChange(t *testing.T) {
	const lb = `{"10.0.0.1:80/TCP (1)": ["10.1.0.1:8080/TCP (1) (1)"], "10.0.0.2:80/TCP (1)": ["10.1.0.1:8080/TCP (2) (1)"]}`
	const frontends = "{\"10.0.0.1:80/TCP (1)\": [\"7 0[0] (1) [0x0 0x0]\"],\n\"10.0.0.2:80/TCP (1)\": [\"7 0[0] (2) [0x0 0x0]\"]}"
	tests := []struct{ name, old, new, want string }{
		{"as they are", "", "", "map[7:10.1.0.1:8080]"},
		{"in one dump only", "10.0.0.2:80", "10.0.0.3:80", "map[7:10.1.0.1:8080]"},
		{"a backend that is gone", "10.1.0.1:8080/TCP (2) (1)", "backend 7 not found", "map[7:10.1.0.1:8080]"},
		{"a frontend with another number", `"10.1.0.1:8080/TCP (2) (1)"`, `"10.1.0.9:8080/TCP (3) (1)"`, "map[7:10.1.0.1:8080]"},
		{"a slot that disagrees with its key", `"10.1.0.1:8080/TCP (2) (1)"`, `"10.1.0.9:8080/TCP (2) (2)"`, "map[7:10.1.0.1:8080]"},
		{"two addresses", `"10.1.0.1:8080/TCP (2) (1)"`, `"10.1.0.9:8080/TCP (2) (1)"`, FrontendsFile + ": line 2: backend 7 is 10.1.0.9:8080, elsewhere 10.1.0.1:8080"},
		{"truncated", "}", "", LBFile + ": line 1: unexpected end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addresses, err := BackendAddresses([]byte(strings.Replace(lb, tt.old, tt.new, 1)), []byte(frontends))
			got := fmt.Sprint(addresses)
			if err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if _, err := BackendAddresses([]byte(lb), []byte("{")); err == nil || !strings.HasPrefix(err.Error(), FrontendsFile+": line 1") {
		t.Errorf("error %v, want one of the second file", err)
	}
}
