package collect

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Trace is the way of one new connection through the kernel state of one node.
// It follows the raw rules and not the service table, so that the two can be
// compared. The probabilities of Backends and Endings add up to 1 unless the
// walk Stopped.
type Trace struct {
	// Encoding as of ServiceTable.
	Encoding string `json:"encoding" yaml:"encoding"`
	Packet   Packet `json:"packet" yaml:"packet"`
	// Hops in the order of the walk. A hop of greater depth belongs to the last
	// one above it of lesser depth.
	Hops []Hop `json:"hops" yaml:"hops"`
	// Selection is how one of several backends is chosen; "" where nothing is.
	Selection Selection       `json:"selection,omitempty" yaml:"selection,omitempty"`
	Backends  []TracedBackend `json:"backends" yaml:"backends"`
	// Endings are the connections that get no backend.
	Endings []Ending `json:"endings,omitempty" yaml:"endings,omitempty"`
	// Marked says whether rules mark the packet for masquerade, Masqueraded
	// whether it leaves with another source address than the client's.
	Marked      Answer `json:"marked" yaml:"marked"`
	Masqueraded Answer `json:"masqueraded" yaml:"masqueraded"`
	// Stopped is the hop that was not understood; what the trace says besides is
	// the way up to it. Its Note says why.
	Stopped *Hop `json:"stopped,omitempty" yaml:"stopped,omitempty"`
}

// Walk is the way of new connections through what a node's kernel holds, encoding
// by encoding.
type Walk struct {
	// Node is the role of the one whose kernel it is.
	Node string `json:"node" yaml:"node"`
	// Client is who sends them, in words.
	Client string `json:"client" yaml:"client"`
	// Passed are the encodings that they meet first and that leave them as they are.
	Passed []Trace `json:"passed,omitempty" yaml:"passed,omitempty"`
	// Trace is the encoding that decides.
	Trace Trace `json:"trace" yaml:"trace"`
	// Notes say what the walk through one node leaves open.
	Notes []string `json:"notes,omitempty" yaml:"notes,omitempty"`
}

// Hop is one rule, row or element on the way.
type Hop struct {
	Depth int `json:"depth" yaml:"depth"`
	// Probability that a new connection gets here.
	Probability Share `json:"probability" yaml:"probability"`
	// Where is the chain, map or row: "nat KUBE-SERVICES".
	Where string `json:"where" yaml:"where"`
	// File is that of the raw evidence.
	File string `json:"file" yaml:"file"`
	Line Line   `json:"line" yaml:"line"`
	// Note says what happens where the line does not.
	Note string `json:"note,omitempty" yaml:"note,omitempty"`
}

// At is "FILE:LINE", or the file alone where the line has no number.
func (h Hop) At() string {
	if h.Line.Number == 0 {
		return h.File
	}
	return fmt.Sprintf("%s:%d", h.File, h.Line.Number)
}

func (h Hop) String() string {
	return fmt.Sprintf("%s: %s: %s", h.At(), h.Note, h.Line.Text)
}

// TracedBackend is a backend and the part of the connections it gets.
type TracedBackend struct {
	Probability Share          `json:"probability" yaml:"probability"`
	Backend     netip.AddrPort `json:"backend" yaml:"backend"`
	// Name is the pod's, where it is known: "pod:echo-server@worker".
	Name        string `json:"name,omitempty" yaml:"name,omitempty"`
	Marked      Answer `json:"marked" yaml:"marked"`
	Masqueraded Answer `json:"masqueraded" yaml:"masqueraded"`
}

// Ending is a part of the connections that get no backend.
type Ending struct {
	Probability Share `json:"probability" yaml:"probability"`
	Fate        Fate  `json:"fate" yaml:"fate"`
	// By is the rule or row that ends it; for Untranslated the reason is in Note.
	By Hop `json:"by" yaml:"by"`
}

// Decision answers a question about a connection.
type Decision string

// The decisions.
const (
	Yes     Decision = "yes"
	No      Decision = "no"
	Depends Decision = "depends"
)

// Answer is a decision and the line that makes it.
type Answer struct {
	Decision Decision `json:"decision" yaml:"decision"`
	// Reason in words.
	Reason string `json:"reason,omitempty" yaml:"reason,omitempty"`
	// By is the rule; nil where none was met.
	By *Hop `json:"by,omitempty" yaml:"by,omitempty"`
}

// Fate is what becomes of a connection that gets no backend.
type Fate string

// The fates.
const (
	Rejected Fate = "rejected"
	Dropped  Fate = "dropped"
	// NoBackend: the frontend has none, and what the client is told is not in the
	// kernel state.
	NoBackend Fate = "no backend"
	// Untranslated: nothing here takes it for a Service's; it goes on as dialled.
	Untranslated Fate = "untranslated"
)

// Finish gives each backend and ending once, in order, and answers for all
// backends what was answered for each. It leaves a trace that Stopped as it is.
func (t *Trace) Finish() {
	if t.Stopped != nil {
		t.Selection = ""
		return
	}
	slices.SortStableFunc(t.Backends, func(a, b TracedBackend) int {
		return cmp.Or(a.Backend.Compare(b.Backend), cmp.Compare(a.Masqueraded.Decision, b.Masqueraded.Decision))
	})
	var backends []TracedBackend
	for _, b := range t.Backends {
		last := len(backends) - 1
		if last >= 0 && backends[last].Backend == b.Backend && backends[last].Marked.Decision == b.Marked.Decision && backends[last].Masqueraded.Decision == b.Masqueraded.Decision {
			backends[last].Probability = backends[last].Probability.Plus(b.Probability)
			continue
		}
		backends = append(backends, b)
	}
	t.Backends = backends
	var endings []Ending
next:
	for _, e := range t.Endings {
		for i, known := range endings {
			if known.Fate == e.Fate && known.By.File == e.By.File && known.By.Line == e.By.Line {
				endings[i].Probability = known.Probability.Plus(e.Probability)
				continue next
			}
		}
		endings = append(endings, e)
	}
	t.Endings = endings
	t.Marked = overall(backends, func(b TracedBackend) Answer { return b.Marked })
	t.Masqueraded = overall(backends, func(b TracedBackend) Answer { return b.Masqueraded })
	if len(backends) < 2 {
		t.Selection = ""
	}
}

// overall is the one answer of all backends, or says which gets which.
func overall(backends []TracedBackend, of func(TracedBackend) Answer) Answer {
	if len(backends) == 0 {
		return Answer{Decision: No, Reason: "no backend"}
	}
	first := of(backends[0])
	var parts []string
	same := true
	for _, b := range backends {
		answer := of(b)
		same = same && answer.Decision == first.Decision
		if answer.Decision != No {
			parts = append(parts, fmt.Sprintf("%s to %s", answer.Decision, b.Backend))
			if first.Decision == No {
				first = answer
			}
		}
	}
	if same {
		return of(backends[0])
	}
	return Answer{Decision: Depends, Reason: strings.Join(parts, ", ") + ", else no", By: first.By}
}
