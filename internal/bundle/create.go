package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Writer writes a bundle. It is there under its name only once it is whole.
type Writer struct {
	target string
	file   *os.File
	tar    *tar.Writer
}

// NewWriter begins a bundle.
func NewWriter(target string) (*Writer, error) {
	file, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+"-")
	if err != nil {
		return nil, err
	}
	return &Writer{target: target, file: file, tar: tar.NewWriter(file)}, nil
}

// Add copies a file into the bundle.
func (w *Writer) Add(ctx context.Context, name, file string) (Entry, error) {
	source, err := os.Open(file)
	if err != nil {
		return Entry{}, err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return Entry{}, err
	}
	return w.add(name, info.Size(), whileAlive{ctx, source})
}

func (w *Writer) add(name string, size int64, content io.Reader) (Entry, error) {
	err := w.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644, Format: tar.FormatPAX})
	if err != nil {
		return Entry{}, err
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w.tar, hash), content); err != nil {
		return Entry{}, fmt.Errorf("write %s into the bundle: %w", name, err)
	}
	return Entry{File: name, Bytes: size, SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}

// Commit writes the index and gives the bundle its name.
func (w *Writer) Commit(index Index) error {
	if err := index.check(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	sum := fmt.Appendf(nil, "%x\n", sha256.Sum256(text))
	for _, file := range []struct {
		name    string
		content []byte
	}{{indexFile, text}, {digestFile, sum}} {
		if _, err := w.add(file.name, int64(len(file.content)), bytes.NewReader(file.content)); err != nil {
			return err
		}
	}
	if err := errors.Join(w.tar.Close(), w.file.Chmod(0o644), w.file.Close()); err != nil {
		return err
	}
	return os.Rename(w.file.Name(), w.target)
}

// Discard takes away what a bundle without Commit has left. After Commit it
// does nothing.
func (w *Writer) Discard() {
	w.file.Close()
	os.Remove(w.file.Name())
}

// whileAlive ends reading with the context: copies take seconds a gigabyte.
type whileAlive struct {
	ctx context.Context
	io.Reader
}

func (r whileAlive) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
