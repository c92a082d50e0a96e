package command

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	kindexec "sigs.k8s.io/kind/pkg/exec"
)

// Timed is a command with a deadline of its own.
type Timed struct {
	Argv  []string
	Limit time.Duration
}

// prologue defines the function each command of a session runs under. It
// answers with a line "exit-code milliseconds stdout-bytes stderr-bytes" and
// then the bytes of both. timeout(1) ends with 124 where its limit ran out.
const prologue = `
d=$(mktemp -d) || exit
trap 'rm -rf "$d"' EXIT
answer() {
	local limit=$1 start=$EPOCHREALTIME end code
	shift
	timeout --kill-after=1 "$limit" "$@" >"$d/out" 2>"$d/err" </dev/null
	code=$?
	end=$EPOCHREALTIME
	printf '%d %d %d %d\n' $code $(((${end/[.,]/} - ${start/[.,]/}) / 1000)) $(stat -c %s "$d/out" "$d/err")
	cat "$d/out" "$d/err"
}
`

// timedOut is the exit code of timeout(1).
const timedOut = 124

// Session runs commands one after another through one bash, which shell starts
// somewhere: starting a process through a container engine costs more than most
// of them take. The answers of the commands that ended stand even where the
// session is lost; the error says why there are no more.
func Session(ctx context.Context, shell []string, commands []Timed) ([]Answer, error) {
	var stdout bytes.Buffer
	err := Run(ctx, Command{Argv: shell, Stdin: strings.NewReader(script(commands)), Stdout: &stdout})
	answers, parseErr := parseAnswers(&stdout, commands)
	if err == nil {
		err = parseErr
	}
	return answers, err
}

func script(commands []Timed) string {
	var b strings.Builder
	b.WriteString(prologue)
	for _, c := range commands {
		fmt.Fprintf(&b, "answer %g %s\n", c.Limit.Seconds(), kindexec.PrettyCommand(c.Argv[0], c.Argv[1:]...))
	}
	return b.String()
}

// parseAnswers reads what a session wrote. A session that broke off gives the
// answers before the break.
func parseAnswers(r io.Reader, commands []Timed) ([]Answer, error) {
	in := bufio.NewReader(r)
	var answers []Answer
	for _, c := range commands {
		header, err := in.ReadString('\n')
		if err != nil {
			return answers, fmt.Errorf("the session ended before %v: %w", c.Argv, err)
		}
		var code, milliseconds, outBytes, errBytes int
		if _, err := fmt.Sscanf(header, "%d %d %d %d\n", &code, &milliseconds, &outBytes, &errBytes); err != nil || outBytes < 0 || errBytes < 0 {
			return answers, fmt.Errorf("the session answered %q to %v", header, c.Argv)
		}
		var out, stderr bytes.Buffer
		if _, err := io.CopyN(&out, in, int64(outBytes)); err != nil {
			return answers, fmt.Errorf("the session ended within the output of %v: %w", c.Argv, err)
		}
		if _, err := io.CopyN(&stderr, in, int64(errBytes)); err != nil {
			return answers, fmt.Errorf("the session ended within the errors of %v: %w", c.Argv, err)
		}
		answer := Answer{
			Captured: Captured{Stdout: out.Bytes(), Stderr: stderr.Bytes(), ExitCode: code},
			Took:     time.Duration(milliseconds) * time.Millisecond,
		}
		if code == timedOut {
			answer.Err = fmt.Errorf("no answer within %v", c.Limit)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}
