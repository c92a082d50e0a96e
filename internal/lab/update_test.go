package lab

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"service-dataplane/internal/results"
)

func TestUpdateWritesWhatVerifyMisses(t *testing.T) {
	c := copyOf(t)
	page := "service-path/nftables/" + results.ReadmeFile
	c.write(page, []byte("rendered by an older version\n"))
	c.remove(results.ReadmeFile)
	c.remove(results.PageFile)

	changed, err := Update(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(c.dir, results.ReadmeFile), filepath.Join(c.dir, results.PageFile), filepath.Join(c.dir, page)}
	if !reflect.DeepEqual(changed, want) {
		t.Errorf("changed %v, want %v", changed, want)
	}
	verified, err := Verify(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verified {
		if v.Failed() {
			t.Errorf("%s after an update: %+v", v.Dir, v.Differences)
		}
	}
	if changed, err := Update(c.dir); err != nil || len(changed) > 0 {
		t.Errorf("a second update changed %v (%v)", changed, err)
	}
}

func TestUpdateRefusesAlteredRawFiles(t *testing.T) {
	c := copyOf(t)
	page := "service-path/iptables/" + results.ReadmeFile
	c.write(page, []byte("stale\n"))
	c.replace("service-path/nftables/raw/worker/nft-ruleset.json", `endpoint-`, "endpoint+")
	if changed, err := Update(c.dir); err == nil || !strings.Contains(err.Error(), "nft-ruleset.json") || len(changed) > 0 {
		t.Errorf("changed %v, error %v; want none and one that names the file", changed, err)
	}
	if string(c.read(page)) != "stale\n" {
		t.Error("an update that was refused wrote a page")
	}
}

func TestUpdateOfNothing(t *testing.T) {
	if _, err := Update(t.TempDir()); err == nil {
		t.Error("a directory without results gives no error")
	}
}

func TestWithoutPaths(t *testing.T) {
	tests := []struct{ argv, want string }{
		{"runner run service-path --scenario iptables", "runner run service-path --scenario iptables"},
		{"runner run --results /elsewhere --scenario iptables", "runner run --scenario iptables"},
		{"runner run --repo=/tree --work-dir=/scratch --keep", "runner run --keep"},
		{"runner run --results", "runner run"},
		{"runner run --bundle /mnt/bundle.tar --scenario cilium", "runner run --scenario cilium"},
		{"runner run --bundle=/mnt/bundle.tar", "runner run"},
	}
	for _, test := range tests {
		if got := strings.Join(withoutPaths(strings.Fields(test.argv)), " "); got != test.want {
			t.Errorf("withoutPaths(%s) = %s, want %s", test.argv, got, test.want)
		}
	}
}
