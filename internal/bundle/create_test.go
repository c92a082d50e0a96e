package bundle

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/spec"
)

// names of what lies in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// begin is a writer that has every file of an index, and the index.
func begin(t *testing.T, target string) (*Writer, Index) {
	t.Helper()
	p := pack(t, nil)
	w, err := NewWriter(target)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.index.entries() {
		content := p.contents[e.File]
		if got, err := w.add(e.File, int64(len(content)), strings.NewReader(content)); err != nil || got != e {
			t.Fatalf("%+v, %v; want %+v", got, err, e)
		}
	}
	return w, p.index
}

// TestCommit: what is at the target before and after, whatever becomes of the
// bundle. Nothing of it may be left beside the target.
func TestCommit(t *testing.T) {
	incomplete := func(index Index) Index { index.Echo.Reference = ""; return index }
	for _, test := range []struct {
		name    string
		end     func(w *Writer, index Index) error
		fails   bool
		written bool
	}{
		{"committed", func(w *Writer, i Index) error { return w.Commit(i) }, false, true},
		{"discarded", func(w *Writer, _ Index) error { return nil }, false, false},
		{"discarded twice", func(w *Writer, _ Index) error { w.Discard(); return nil }, false, false},
		{"an index that no reader would take", func(w *Writer, i Index) error { return w.Commit(incomplete(i)) }, true, false},
		{"an index of no bundle", func(w *Writer, _ Index) error { return w.Commit(Index{}) }, true, false},
		{"committed after it was discarded", func(w *Writer, i Index) error { w.Discard(); return w.Commit(i) }, true, false},
		{"a file ended early", func(w *Writer, i Index) error {
			_, err := w.add("short", 2, strings.NewReader("1"))
			return errors.Join(err, w.Commit(i))
		}, true, false},
		{"a file grew", func(w *Writer, _ Index) error {
			_, err := w.add("long", 1, strings.NewReader("12"))
			return err
		}, true, false},
	} {
		for _, before := range []string{"", "an older bundle"} {
			t.Run(strings.ReplaceAll(test.name+" "+before, " ", "-"), func(t *testing.T) {
				dir := t.TempDir()
				target := filepath.Join(dir, "bundle.tar")
				if before != "" {
					if err := os.WriteFile(target, []byte(before), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				state := func() string {
					content, err := os.ReadFile(target)
					if err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Fatal(err)
					}
					return string(content)
				}
				w, index := begin(t, target)
				if got := state(); got != before {
					t.Errorf("before it is committed: %.20q, want %q", got, before)
				}
				if err := test.end(w, index); (err != nil) != test.fails {
					t.Errorf("error %v", err)
				}
				w.Discard()
				if !test.written && state() == before {
					if left := names(t, dir); len(left) != min(1, len(before)) {
						t.Errorf("left is %q", left)
					}
					return
				}
				if _, err := Open(t.Context(), target, spec.Lock{}); err != nil || !test.written {
					t.Fatalf("written, %v; want %v", err, test.written)
				}
				info, err := os.Stat(target)
				if left := names(t, dir); err != nil || info.Mode() != 0o644 || !slices.Equal(left, []string{"bundle.tar"}) {
					t.Errorf("%v, %v; left is %q", info.Mode(), err, left)
				}
			})
		}
	}
}

func TestWriterNeedsPlace(t *testing.T) {
	if _, err := NewWriter(filepath.Join(t.TempDir(), "nosuch", "bundle.tar")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is not there: %v", err)
	}
	dir := t.TempDir()
	target := filepath.Join(dir, "bundle.tar")
	if err := os.MkdirAll(filepath.Join(target, "kept"), 0o755); err != nil {
		t.Fatal(err)
	}
	w, index := begin(t, target)
	if err := w.Commit(index); err == nil || !strings.Contains(err.Error(), target) {
		t.Errorf("over a directory: %v", err)
	}
	w.Discard()
	if left := names(t, dir); !slices.Equal(left, []string{"bundle.tar"}) || !slices.Equal(names(t, target), []string{"kept"}) {
		t.Errorf("left is %q", left)
	}
}

func TestAddFails(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	interrupted := errors.New("interrupted")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	for _, test := range []struct {
		name string
		ctx  context.Context
		file string
		want error // nil where any will do
	}{
		{"no such file", t.Context(), filepath.Join(dir, "nosuch"), fs.ErrNotExist},
		{"a directory", t.Context(), dir, nil},
		{"interrupted before", cancelled, large, interrupted},
		{"interrupted at once", &countdown{t.Context(), 0}, large, errCountdown},
		{"interrupted in the middle", &countdown{t.Context(), 10}, large, errCountdown},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "bundle.tar")
			w, index := begin(t, target)
			defer w.Discard()
			e, err := w.Add(test.ctx, "images/large.tar", test.file)
			if err == nil || e != (Entry{}) || test.want != nil && !errors.Is(err, test.want) {
				t.Fatalf("%+v, %v; want %v", e, err, test.want)
			}
			if test.file != large {
				return
			}
			if !strings.Contains(err.Error(), "images/large.tar") {
				t.Errorf("says %q, want images/large.tar named", err)
			}
			if err := w.Commit(index); err == nil {
				t.Error("a bundle with half a file is committed")
			}
			if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is a bundle: %v", err)
			}
		})
	}
}

// TestWritersBesideEachOther: two of one name do not mix.
func TestWritersBesideEachOther(t *testing.T) {
	target := filepath.Join(t.TempDir(), "bundle.tar")
	first, index := begin(t, target)
	second, _ := begin(t, target)
	defer second.Discard()
	if err := first.Commit(index); err != nil {
		t.Fatal(err)
	}
	index.Revision = "second"
	if err := second.Commit(index); err != nil {
		t.Fatal(err)
	}
	first.Discard()
	if b, err := Open(t.Context(), target, spec.Lock{}); err != nil || b.Revision != "second" {
		t.Errorf("%+v, %v", b, err)
	}
}
