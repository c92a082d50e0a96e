package command

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestSession runs in this machine's bash what runs on a node.
func TestSession(t *testing.T) {
	commands := []Timed{
		{[]string{"printf", "no line end"}, time.Minute},
		{[]string{"sh", "-c", "echo out; echo 1 2 3 4 >&2; exit 3"}, time.Minute},
		{[]string{"sleep", "30"}, 200 * time.Millisecond},
		{[]string{"cat"}, time.Minute}, // must not read the script
		{[]string{"/nosuch/program"}, time.Minute},
		{[]string{"printf", "%s|", "a b", "$HOME", "'quoted'"}, time.Minute},
	}
	answers, err := Session(t.Context(), []string{"bash"}, commands)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		stdout, stderr string
		exit           int
		failed         bool
	}{
		{stdout: "no line end"},
		{stdout: "out\n", stderr: "1 2 3 4\n", exit: 3},
		{exit: timedOut, failed: true},
		{},
		{exit: 127, stderr: "timeout: failed to run command"},
		{stdout: "a b|$HOME|'quoted'|"},
	}
	for i, a := range answers {
		w := want[i]
		if string(a.Stdout) != w.stdout || !strings.HasPrefix(string(a.Stderr), w.stderr) || a.ExitCode != w.exit || (a.Err != nil) != w.failed {
			t.Errorf("%v: stdout %q, stderr %q, exit code %d, error %v; want %+v", commands[i].Argv, a.Stdout, a.Stderr, a.ExitCode, a.Err, w)
		}
	}
}

func TestSessionThatBreaksOff(t *testing.T) {
	commands := []Timed{{Argv: []string{"first"}}, {Argv: []string{"second"}}}
	tests := []struct {
		name, out, want string
		answers         int
	}{
		{"before the second", "0 1 2 0\nab", "ended before [second]", 1},
		{"within output", "0 1 2 0\nab0 1 9 0\nabc", "within the output of [second]", 1},
		{"within errors", "0 1 2 0\nab0 1 1 9\nabc", "within the errors of [second]", 1},
		{"another program's words", "bash: command not found\n", `answered "bash: command not found\n" to [first]`, 0},
		{"negative length", "0 1 -2 0\n", "answered", 0},
		{"nothing", "", "ended before [first]", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answers, err := parseAnswers(strings.NewReader(test.out), commands)
			if err == nil || !strings.Contains(err.Error(), test.want) || len(answers) != test.answers {
				t.Errorf("%d answers, error %v; want %d and %q", len(answers), err, test.answers, test.want)
			}
		})
	}
}

func FuzzParseAnswers(f *testing.F) {
	f.Add([]byte("0 1 2 0\nab0 1 1 1\nxy"))
	f.Add([]byte("0 1 99999999999 0\n"))
	commands := []Timed{{Argv: []string{"first"}}, {Argv: []string{"second"}}}
	f.Fuzz(func(t *testing.T, out []byte) {
		answers, err := parseAnswers(bytes.NewReader(out), commands)
		if (err == nil) != (len(answers) == len(commands)) {
			t.Errorf("%d answers of %d, error %v", len(answers), len(commands), err)
		}
	})
}

func TestSessionThatCannotStart(t *testing.T) {
	answers, err := Session(t.Context(), []string{"/nosuch/bash"}, []Timed{{[]string{"true"}, time.Minute}})
	if err == nil || !strings.Contains(err.Error(), "/nosuch/bash") || len(answers) != 0 {
		t.Errorf("%d answers, error %v", len(answers), err)
	}
}
