package workflow

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fake is a runner that does what FAKE_ variables say.
const fake = `#!/usr/bin/env bash
case $1 in
doctor) echo "host: can run" ;;
run)
  printf '%b' "$FAKE_STDOUT"
  printf '%b' "$FAKE_STDERR" >&2
  if [[ -n $FAKE_RUN ]]; then
    mkdir -p "$5/service-path/$FAKE_RUN"
    touch "$5/service-path/$FAKE_RUN/run.yaml"
  fi
  exit "$FAKE_CODE"
  ;;
*)
  echo "page of $*"
  exit "${FAKE_DIFF:-0}"
  ;;
esac
`

// ciJob calls hack/ci-job.sh with a fake runner.
func ciJob(t *testing.T, dir string, env []string, argv ...string) (code int, stdout, summary string) {
	t.Helper()
	runner, page := filepath.Join(dir, "runner"), filepath.Join(dir, "summary.md")
	if err := os.WriteFile(runner, []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(repo, "hack", "ci-job.sh"), argv...)
	cmd.Env = append(os.Environ(), append(env, "RUNNER="+runner, "GITHUB_STEP_SUMMARY="+page)...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	written, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out), string(written)
}

// TestJobRun: what was not shown is never green without a word.
func TestJobRun(t *testing.T) {
	const skipped = `service-path on ipvs-lc: skip\nip_vs_lc: no such module\n`
	tests := []struct {
		name, code, stdout, stderr, want, not string
	}{
		{"every check passed", "0", `service-path on ipvs: pass (11.0 s)\n`, "", "service-path on ipvs: pass", "::"},
		{"one skipped beside others", "0", `service-path on ipvs: pass (11.0 s)\n` + skipped, "",
			"::warning title=skipped service-path on ipvs-lc::ip_vs_lc: no such module\n", "::error"},
		{"a check failed", "1", `service-path on ipvs: fail (11.0 s)\n`, "", "::error title=ipvs ipvs-lc::a check failed\n", "::warning"},
		{"no such scenario", "2", "", `error: there is no x in scenarios\n`,
			"::error title=ipvs ipvs-lc::usage or configuration: there is no x in scenarios\n", ""},
		{"the host cannot", "3", "", `error: disk: 1.0 GiB free\n`, "::error title=ipvs ipvs-lc::this host cannot run it: disk: 1.0 GiB free\n", ""},
		{"all skipped", "4", skipped, "", "::error title=skipped service-path on ipvs-lc::ip_vs_lc: no such module\n", "::warning"},
		{"killed", "137", "", "", "the runner ended with exit code 137\n", ""},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			dir := t.TempDir()
			env := []string{"FAKE_CODE=" + test.code, "FAKE_STDOUT=" + test.stdout, "FAKE_STDERR=" + test.stderr, "FAKE_RUN="}
			code, stdout, summary := ciJob(t, dir, env, "run", "ipvs,ipvs-lc", dir)
			if want := test.code; want != strconv.Itoa(code) {
				t.Errorf("exit code %d, want %s", code, want)
			}
			if !strings.Contains(stdout, test.want) || test.not != "" && strings.Contains(stdout, test.not) {
				t.Errorf("stdout has not %q, or has %q:\n%s", test.want, test.not, stdout)
			}
			if !strings.Contains(summary, "host: can run") || test.code != "0" && !strings.Contains(summary, "exit code "+test.code) {
				t.Errorf("the summary lacks what doctor says, or the exit code:\n%s", summary)
			}
		})
	}
}

// TestJobAfterRun: results are reported and compared where there are some, and a
// difference is the job's exit code.
func TestJobAfterRun(t *testing.T) {
	tests := []struct {
		name, run, diff string
		reported        bool
		code            int
		want            string
	}{
		{"nothing was run", "", "1", false, 0, "no"},
		{"as committed", "iptables", "0", true, 0, "page of diff results"},
		{"not as committed", "iptables", "1", true, 1, "page of diff results"},
		{"nothing is committed", "userspace", "1", true, 0, "no"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			dir := t.TempDir()
			ciJob(t, dir, []string{"FAKE_CODE=0", "FAKE_STDOUT=", "FAKE_STDERR=", "FAKE_RUN=" + test.run}, "run", "x", dir)
			if code, _, _ := ciJob(t, dir, nil, "report", dir); code != 0 || exists(t, filepath.Join(dir, "junit.xml")) != test.reported {
				t.Errorf("report: exit code %d, or junit.xml is not as wanted (%t)", code, test.reported)
			}
			code, _, summary := ciJob(t, dir, []string{"FAKE_DIFF=" + test.diff}, "compare", dir)
			if code != test.code {
				t.Errorf("compare: exit code %d, want %d", code, test.code)
			}
			// Behind an empty line: the report ends with a table.
			if compared := strings.Contains(summary, "\n\npage of diff results"); compared != (test.want != "no") {
				t.Errorf("compared is %t:\n%s", compared, summary)
			}
		})
	}
}

func TestJobUsage(t *testing.T) {
	for _, argv := range [][]string{nil, {"run", "iptables"}, {"report"}, {"start", "x"}} {
		if code, _, _ := ciJob(t, t.TempDir(), nil, argv...); code != 2 {
			t.Errorf("%q: exit code %d, want 2", argv, code)
		}
	}
}
