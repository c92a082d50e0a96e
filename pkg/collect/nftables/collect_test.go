package nftables

import "testing"

func TestCommands(t *testing.T) {
	files := map[string]bool{}
	for _, c := range Commands() {
		if files[c.File] || len(c.Argv) == 0 || c.Argv[0] != "nft" {
			t.Errorf("command %+v", c)
		}
		files[c.File] = true
	}
	// What an nft without JSON says, and one that may not look.
	absent := Commands()[0].Absent
	if !absent.MatchString("JSON support not compiled-in\n") || absent.MatchString("Operation not permitted (you must be root)") {
		t.Errorf("absent is %v", absent)
	}
}
