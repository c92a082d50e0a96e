package collect

// Verdict of a check.
type Verdict string

// The verdicts. A check that could not be made is inconclusive; one that the
// scenario does not ask for, or the host cannot answer, is skipped. Both say
// why.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Skip         Verdict = "skip"
	Inconclusive Verdict = "inconclusive"
)

// Check is one statement about the evidence.
type Check struct {
	ID string `json:"id"`
	// Statement is what passing means, as one sentence.
	Statement string  `json:"statement"`
	Verdict   Verdict `json:"verdict"`
	// Reason explains a verdict other than pass, and what a pass does not
	// show where that matters.
	Reason string `json:"reason,omitempty"`
	// Findings are the places that decided: every one that contradicts the
	// statement, or for a pass the ones worth quoting.
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is one place in the raw files and what it shows.
type Finding struct {
	Node string `json:"node,omitempty"`
	Text string `json:"text"`
	Ref  Ref    `json:"ref,omitzero"`
}

// Overall is the verdict of a run: the worst of its checks. A skipped one is no
// reason against it.
func Overall(checks []Check) Verdict {
	verdict := Pass
	for _, c := range checks {
		switch c.Verdict {
		case Fail:
			return Fail
		case Inconclusive:
			verdict = Inconclusive
		}
	}
	return verdict
}
