package lab

import (
	"os"
	"path/filepath"

	"service-dataplane/internal/schema"
)

// WriteSchemas writes the JSON Schemas of result, scenario and experiment files
// to dir and returns the files that changed. repo has the sources whose comments
// they quote.
func WriteSchemas(repo, dir string) (changed []string, err error) {
	schemas, err := schema.Files(os.DirFS(repo))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, content := range schemas {
		files[filepath.Join(dir, name)] = content
	}
	return replaceFiles(files)
}
