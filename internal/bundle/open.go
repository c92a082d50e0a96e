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
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"service-dataplane/internal/spec"
)

// Bundle is an opened bundle whose files are what its index says.
type Bundle struct {
	Index
	// SHA256 of the index, which has those of all files, in hex. A directory has
	// none.
	SHA256 string
	path   string
	// at is where each file begins in the bundle; nil for a directory.
	at map[string]section
}

type section struct{ offset, bytes int64 }

// Open reads a bundle from beginning to end and compares every file with the
// index. Nothing is unpacked: files are read where they lie. A directory of
// plain archives is a bundle too; lock says what its images are for.
func Open(ctx context.Context, path string, lock spec.Lock) (*Bundle, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.IsDir() {
		return openDir(ctx, path, lock)
	}
	b := &Bundle{path: path, at: map[string]section{}}
	sums := map[string]string{}
	for archive := tar.NewReader(file); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, b.refuse("is no bundle, or one cut off: %v", err)
		}
		if _, twice := sums[header.Name]; twice || header.Typeflag != tar.TypeReg {
			return nil, b.refuse("%s is there twice or is no file", header.Name)
		}
		offset, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, whileAlive{ctx, archive}); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return nil, cause
			}
			return nil, b.refuse("%s is cut off: %v", header.Name, err)
		}
		// What is read later are the bytes as they lie: a sparse file's are others.
		if end, err := file.Seek(0, io.SeekCurrent); err != nil || end-offset != header.Size {
			return nil, b.refuse("%s does not lie in it as one piece", header.Name)
		}
		sums[header.Name] = hex.EncodeToString(hash.Sum(nil))
		b.at[header.Name] = section{offset, header.Size}
	}
	if err := b.readIndex(sums); err != nil {
		return nil, err
	}
	return b, b.compare(sums)
}

func (b *Bundle) refuse(format string, args ...any) error {
	return fmt.Errorf("bundle %s: %s", b.path, fmt.Sprintf(format, args...))
}

func (b *Bundle) readIndex(sums map[string]string) error {
	for _, name := range []string{indexFile, digestFile} {
		if _, ok := b.at[name]; !ok {
			return b.refuse("has no %s: not made by runner bundle create, or cut off", name)
		}
	}
	text, err := b.read(Entry{File: indexFile})
	if err != nil {
		return err
	}
	sum, err := b.read(Entry{File: digestFile})
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(sum)) != sums[indexFile] {
		return b.refuse("%s is not what %s says: SHA-256 %s", indexFile, digestFile, sums[indexFile])
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&b.Index); err != nil {
		return b.refuse("%s: %v", indexFile, err)
	}
	if err := b.check(); err != nil {
		return b.refuse("%v", err)
	}
	b.SHA256 = sums[indexFile]
	return nil
}

// compare finds what the index has otherwise than the bundle, both ways.
func (b *Bundle) compare(sums map[string]string) error {
	var all []error
	known := map[string]bool{indexFile: true, digestFile: true}
	for _, e := range b.entries() {
		known[e.File] = true
		switch at, ok := b.at[e.File]; {
		case !ok:
			all = append(all, b.refuse("%s is missing", e.File))
		case at.bytes != e.Bytes || sums[e.File] != e.SHA256:
			all = append(all, b.refuse("%s is not what the index says: %d bytes with SHA-256 %s, want %d with %s",
				e.File, at.bytes, sums[e.File], e.Bytes, e.SHA256))
		}
	}
	for name := range b.at {
		if !known[name] {
			all = append(all, b.refuse("%s is not in the index", name))
		}
	}
	return errors.Join(all...)
}

// Open opens a file of the bundle.
func (b *Bundle) Open(e Entry) (io.ReadCloser, error) {
	if b.at == nil {
		return os.Open(filepath.Join(b.path, filepath.FromSlash(e.File)))
	}
	at, ok := b.at[e.File]
	if !ok {
		return nil, b.refuse("%s is missing", e.File)
	}
	file, err := os.Open(b.path)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, at.offset, at.bytes), file}, nil
}

// Extract writes a file of the bundle to disk.
func (b *Bundle) Extract(e Entry, target string, mode os.FileMode) error {
	source, err := b.Open(e)
	if err != nil {
		return err
	}
	defer source.Close()
	file, err := os.OpenFile(target, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	return errors.Join(err, file.Chmod(mode), file.Close())
}

// Chart loads the chart of a data plane.
func (b *Bundle) Chart(p Plane) (*chart.Chart, error) {
	file, err := b.Open(p.Chart)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	loaded, err := loader.LoadArchive(file)
	if err != nil {
		return nil, b.refuse("%s: %v", p.Chart.File, err)
	}
	if loaded.Name() != p.Name || loaded.Metadata.Version != p.Version {
		return nil, b.refuse("%s is chart %s %s, want %s %s", p.Chart.File, loaded.Name(), loaded.Metadata.Version, p.Name, p.Version)
	}
	return loaded, nil
}

func (b *Bundle) read(e Entry) ([]byte, error) {
	file, err := b.Open(e)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}
