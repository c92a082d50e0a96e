package calico

import (
	"bytes"
	"fmt"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// parseJSON reads a file that is one JSON value, whose lines have no number where
// it stands on a single one. The error names the file.
func parseJSON(file string, raw []byte) (jsonlines.Value, error) {
	whole, err := jsonlines.Parse(raw)
	if err != nil {
		return jsonlines.Value{}, fmt.Errorf("%s: %w", file, err)
	}
	if !bytes.ContainsRune(whole.Raw, '\n') {
		whole.Line = 0
	}
	return whole, nil
}

// quote is the value with all that is in it.
func quote(v jsonlines.Value) collect.Line {
	return collect.Line{Number: v.Line, Text: v.Compact()}
}
