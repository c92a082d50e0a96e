package results

import "service-dataplane/pkg/collect"

// Document is evidence.json: what a run recorded, decoded, and what was judged
// of it.
type Document struct {
	Evidence collect.Evidence `json:"evidence"`
	Checks   []collect.Check  `json:"checks"`
}
