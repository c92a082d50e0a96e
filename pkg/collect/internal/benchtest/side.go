package benchtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// Files are what is decoded, by name.
type Files map[string][]byte

// Decode is the decoder in question.
type Decode func(Files) (collect.ServiceTable, error)

// side is one way of reading the files of a directory. What it returns is what it
// leaves in memory.
type side struct {
	name string
	read func(dir string) (any, error)
}

const (
	decoding = "decode"
	lines    = "lines"
	anyJSON  = "any"
	nothing  = "nothing"
)

// sides are the decoder, the line reader and, where every file is JSON,
// encoding/json into any; then what reads nothing. All read from disk.
func sides(files []string, decode Decode) []side {
	list := []side{
		{decoding, func(dir string) (any, error) {
			read, err := load(dir)
			if err != nil {
				return nil, err
			}
			table, err := decode(read)
			runtime.KeepAlive(read) // a caller may need it, so that it counts
			return table, err
		}},
		{lines, func(dir string) (any, error) { return countLines(dir) }},
	}
	if !slices.ContainsFunc(files, func(f string) bool { return !strings.HasSuffix(f, ".json") }) {
		list = append(list, side{anyJSON, unmarshal})
	}
	return append(list, side{nothing, func(string) (any, error) { return nil, nil }})
}

func load(dir string) (Files, error) {
	entries, err := os.ReadDir(dir)
	files := Files{}
	for _, e := range entries {
		if err == nil {
			files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name()))
		}
	}
	return files, err
}

// unmarshal knows nothing of what it reads.
func unmarshal(dir string) (any, error) {
	files, err := load(dir)
	var all []any
	for _, raw := range files {
		var value any
		err = errors.Join(err, json.Unmarshal(raw, &value))
		all = append(all, value)
	}
	return all, err
}

// countLines looks for the end of every line and keeps none. A line longer than
// the buffer comes in pieces, so that a file in one line costs what one of many
// lines costs.
func countLines(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range entries {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return 0, err
		}
		r := bufio.NewReaderSize(f, 64<<10)
		for err == nil || errors.Is(err, bufio.ErrBufferFull) {
			if _, err = r.ReadSlice('\n'); err == nil {
				n++
			}
		}
		_ = f.Close()
		if err != io.EOF {
			return 0, err
		}
	}
	return n, nil
}
