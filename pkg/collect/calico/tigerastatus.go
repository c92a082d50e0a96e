package calico

import (
	"fmt"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// Status is what the Tigera operator says of one of its components: "calico",
// "ippools", "kubeproxy-monitor", …
type Status struct {
	Component string
	// A condition the object does not have is zero: a component that has only
	// begun has Degraded alone. Conditions of other types are not read.
	Available, Progressing, Degraded Condition
}

// Condition is a condition of an object.
type Condition struct {
	// Status is "True", "False" or "Unknown".
	Status string
	Reason string
	// Message of Degraded says what to do about it.
	Message string
	// Line of the message or, without one, of the type.
	Line collect.Line
}

// True says that the condition is there and holds.
func (c Condition) True() bool { return c.Status == "True" }

// DecodeTigeraStatus reads the output of `kubectl get tigerastatus -o json`, a List,
// or what the API server answers, a TigeraStatusList (Tigera operator v1.40, api/v1/tigerastatus_types.go). No component yet is an
// empty list. An error names the line.
func DecodeTigeraStatus(raw []byte) ([]Status, error) {
	list := readObject("List", raw, "TigeraStatusList")
	var all []Status
	for _, item := range list.items("items") {
		one := object{kind: "TigeraStatus", root: item}
		var s Status
		if s.Component, _ = one.text("metadata", "name"); s.Component == "" {
			one.keep(item.Errorf("no name"))
		}
		for _, condition := range one.items("status", "conditions") {
			one.keep(s.add(condition))
		}
		if one.err != nil {
			return nil, one.err
		}
		all = append(all, s)
	}
	if list.err != nil {
		return nil, list.err
	}
	return all, nil
}

// add keeps a condition; the last one of a type counts.
func (s *Status) add(from jsonlines.Value) error {
	var c struct {
		Type    string `json:"type"`
		Status  string `json:"status"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	if err := from.Decode(&c); err != nil {
		return err
	}
	at := "type"
	if c.Message != "" {
		at = "message"
	}
	condition := Condition{
		Status:  c.Status,
		Reason:  c.Reason,
		Message: c.Message,
		Line: collect.Line{
			Number: from.LineOf(at),
			Text:   fmt.Sprintf("%s %s=%s %s: %s", s.Component, c.Type, c.Status, c.Reason, c.Message),
		},
	}
	switch c.Type {
	case "Available":
		s.Available = condition
	case "Progressing":
		s.Progressing = condition
	case "Degraded":
		s.Degraded = condition
	}
	return nil
}
