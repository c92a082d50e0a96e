package main

import (
	"encoding/xml"
	"os"
	"strings"
	"testing"
)

// TestReport is `runner report` on a result whose raw files show a fault: the
// report says so and is whole, so that the exit code is 0.
func TestReport(t *testing.T) {
	repo := tree(t)
	if err := os.CopyFS(repo+"/results/service-path/iptables", os.DirFS("../../results/service-path/iptables")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(repo)
	replace(t, "results/service-path/iptables/raw/worker/iptables-nft-save.txt", "KUBE-SVC-A4KG4DGVQAT3OXM5 ! -s 10.244.0.0/16", "KUBE-SVC-A4KG4DGVQAT3OXM5")

	out, err := runner(t.Context(), "report", "results")
	for _, want := range []string{"| `iptables` | service-path | ✗ fail | 15 of 16 checks passed, 1 failed (`kernel.table`) |\n", "(`results/service-path/iptables/raw/worker/iptables-nft-save.txt"} {
		if exitCode(err) != exitPassed || !strings.Contains(out, want) {
			t.Errorf("no %q (%v) in\n%s", want, err, out)
		}
	}

	out, err = runner(t.Context(), "report", "results", "-o", "junit")
	var report struct {
		Failures int `xml:"failures,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure string `xml:"failure"`
		} `xml:"testsuite>testcase"`
	}
	if decodeErr := xml.Unmarshal([]byte(out), &report); decodeErr != nil || exitCode(err) != exitPassed || report.Failures != 1 || len(report.Cases) != 16 {
		t.Fatalf("%v, %v, %+v", decodeErr, err, report)
	}
	for _, c := range report.Cases {
		if failed := c.Failure != ""; failed != (c.Name == "kernel.table") || failed && !strings.Contains(c.Failure, "results/service-path/iptables/raw/worker/iptables-nft-save.txt:") {
			t.Errorf("%s: %q", c.Name, c.Failure)
		}
	}
}
