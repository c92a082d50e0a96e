package capture

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"service-dataplane/pkg/collect"
)

// IndexFile lists every record, below raw/.
const IndexFile = "index.json"

// Recorder writes raw files and their index. It may be used concurrently.
type Recorder struct {
	dir     string
	mu      sync.Mutex
	records []collect.Record
}

// NewRecorder records below dir, which it creates.
func NewRecorder(dir string) (*Recorder, error) {
	return &Recorder{dir: dir}, os.MkdirAll(dir, 0o755)
}

// Add keeps one answer. File, Bytes and SHA256 of the record are set from the
// record's own File and stdout.
func (r *Recorder) Add(record collect.Record, stdout []byte) error {
	sum := sha256.Sum256(stdout)
	record.Bytes, record.SHA256 = len(stdout), hex.EncodeToString(sum[:])
	file := filepath.Join(r.dir, filepath.FromSlash(record.File))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, stdout, 0o644); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, record)
	return nil
}

// WriteIndex writes the index of what was added so far, in one order whatever
// finished first.
func (r *Recorder) WriteIndex() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.records, func(a, b collect.Record) int { return cmp.Compare(a.File, b.File) })
	index, err := json.MarshalIndent(r.records, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, IndexFile), append(index, '\n'), 0o644)
}

// Failed returns the records that failed, for a word to whoever watches.
func (r *Recorder) Failed() []collect.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.records), func(rec collect.Record) bool { return rec.Outcome != collect.Failed })
}
