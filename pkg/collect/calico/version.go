package calico

import (
	"fmt"
	"strings"

	"service-dataplane/pkg/collect"
)

// DecodeVersion reads the version ("v3.31.7") and its line from the output of
// `calico-node -v` (pkg/buildinfo, PrintVersion). Without one it is an error.
func DecodeVersion(raw []byte) (string, collect.Line, error) {
	number := 0
	for text := range strings.Lines(string(raw)) {
		number++
		text = strings.TrimSpace(text)
		if version, ok := strings.CutPrefix(text, "Version:"); ok {
			version = strings.TrimSpace(version)
			if version == "" {
				break
			}
			return version, collect.Line{Number: number, Text: text}, nil
		}
	}
	return "", collect.Line{}, fmt.Errorf("%s: no version among %d lines", VersionFile, number)
}
