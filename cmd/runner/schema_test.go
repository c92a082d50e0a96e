package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSchema is `runner schema`: it writes what is not as it should be.
func TestSchema(t *testing.T) {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bare := tree(t)
	t.Chdir(t.TempDir())
	write := func() string {
		out, err := runner(t.Context(), "schema", "--repo", repo, "docs/schema")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const all = "wrote docs/schema/evidence.schema.json\nwrote docs/schema/experiment.schema.json\nwrote docs/schema/normalized.schema.json\nwrote docs/schema/scenario.schema.json\n"
	if out := write(); out != all {
		t.Errorf("the first time:\n%s", out)
	}
	if out := write(); out != "nothing to change\n" {
		t.Errorf("again:\n%s", out)
	}
	replace(t, "docs/schema/scenario.schema.json", `"description"`, `"comment"`)
	if out := write(); out != "wrote docs/schema/scenario.schema.json\n" {
		t.Errorf("after one was changed:\n%s", out)
	}
	if _, err := runner(t.Context(), "schema", "--repo", bare, "docs/schema"); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "are not in this tree") {
		t.Errorf("a tree without sources: %v", err)
	}
}
