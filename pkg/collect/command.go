package collect

import (
	"regexp"
	"time"
)

// Command is one command a collector runs on a node.
type Command struct {
	// File is the name its standard output gets below raw/<node>/.
	File string
	Argv []string
	// Timeout is the command's own deadline; 0 is DefaultTimeout.
	Timeout time.Duration
	// Absent matches the standard error of a command that failed because
	// what it reads does not exist on this node. That is an answer ("no such
	// table"), not a failure.
	Absent *regexp.Regexp
}

// DefaultTimeout bounds a command that names no deadline of its own.
const DefaultTimeout = 30 * time.Second

// Limit is the deadline that applies to the command.
func (c Command) Limit() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

// Outcome is what became of a command.
type Outcome string

// The outcomes of a command.
const (
	// Captured: it ran and its output is whole.
	Captured Outcome = "captured"
	// NotThere: it ran and said that what it reads does not exist.
	NotThere Outcome = "absent"
	// Failed: it could not be run, exited non-zero or hit its deadline; its
	// output proves nothing.
	Failed Outcome = "failed"
)

// Record is one command that was run: an entry of raw/index.json.
type Record struct {
	// Node is the node's role name ("worker2"), "cluster" for what the API
	// server answered, "client" and "host" for the probes.
	Node string `json:"node"`
	// File is the path of the standard output below raw/.
	File string   `json:"file"`
	Argv []string `json:"argv"`
	// ExitCode is -1 where the command did not run to its end.
	ExitCode int     `json:"exitCode"`
	Outcome  Outcome `json:"outcome"`
	// Stderr as it came; commands warn there and exit 0.
	Stderr string `json:"stderr,omitempty"`
	// Error says why there is no exit code: deadline, connection lost.
	Error string `json:"error,omitempty"`
	// Milliseconds the command took.
	Milliseconds int64 `json:"milliseconds"`
	Bytes        int   `json:"bytes"`
	// SHA256 of the standard output, in hex.
	SHA256 string `json:"sha256"`
}
