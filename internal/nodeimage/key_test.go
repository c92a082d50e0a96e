package nodeimage

import "testing"

// TestBuilderIsEmbedded: code that makes images and is not in the key would
// leave an image in use that other code made.
func TestBuilderIsEmbedded(t *testing.T) {
	for _, file := range []string{"build.go", "rootfs.go", "components.go"} {
		if content, err := builder.ReadFile(file); err != nil || len(content) == 0 {
			t.Errorf("%s: %d bytes, %v", file, len(content), err)
		}
	}
}
