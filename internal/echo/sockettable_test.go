package echo

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRemoteOf(t *testing.T) {
	tests := []struct {
		name  string
		table string
		inode uint64
		want  string
	}{
		{"connected IPv4 socket", "tcp", 44898, "127.0.0.1:18099"},
		{"listener has no remote", "tcp", 576, "0.0.0.0:0"},
		{"connected IPv6 socket", "tcp6", 44900, "[::1]:18099"},
		{"other end of the same connection", "tcp6", 44901, "[::1]:43916"},
		{"IPv4 client of a dual-stack listener", "tcp6", 44899, "127.0.0.1:58642"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := remoteOf(fixture(t, test.table), test.inode)
			if err != nil {
				t.Fatal(err)
			}
			if want := netip.MustParseAddrPort(test.want); got != want {
				t.Errorf("remote is %s, want %s", got, want)
			}
		})
	}
}

func TestRemoteOfRefuses(t *testing.T) {
	const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	row := func(remote, inode string) string {
		return "   0: 0100007F:E512 " + remote + " 01 00000000:00000000 00:00000000 00000000     0        0 " + inode + " 2 00000000a6c7ae37 20 0 0 10 -1\n"
	}
	tests := []struct {
		name  string
		table string
		inode uint64
		want  string
	}{
		{"nothing", "", 7, "no socket with inode 7"},
		{"no header", row("0100007F:46B3", "7"), 7, "line 1"},
		{"socket not there", header + row("0100007F:46B3", "8"), 7, "no socket with inode 7"},
		{"inode of no process", header + row("0100007F:46B3", "0"), 0, "inode 0"},
		{"row cut short, of another socket", header + "   0: 0100007F:E512 0100007F:46B3 01\n" + row("0100007F:46B3", "7"), 7, "line 2"},
		{"inode no number", header + row("0100007F:46B3", "x"), 7, "line 2: inode"},
		{"address of three bytes", header + row("00007F:46B3", "7"), 7, "line 2: remote address"},
		{"address no hex", header + row("0100007G:46B3", "7"), 7, "line 2: remote address"},
		{"no port", header + row("0100007F", "7"), 7, "line 2: remote address"},
		{"port too large", header + row("0100007F:146B3", "7"), 7, "line 2: remote address"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := remoteOf([]byte(test.table), test.inode)
			if err == nil {
				t.Fatalf("remote is %s, want an error", got)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %q, want %q in it", err, test.want)
			}
		})
	}
}

func FuzzRemoteOf(f *testing.F) {
	f.Add(fixture(f, "tcp"), uint64(44898))
	f.Add(fixture(f, "tcp6"), uint64(44899))
	f.Fuzz(func(t *testing.T, table []byte, inode uint64) {
		remote, err := remoteOf(table, inode)
		if err == nil && (!remote.IsValid() || remote.Addr().Is4In6()) {
			t.Errorf("remote is %q without an error", remote)
		}
	})
}

func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "proc-net", name))
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}
