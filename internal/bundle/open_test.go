package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"service-dataplane/internal/spec"
)

func TestRoundTrip(t *testing.T) {
	p := pack(t, nil)
	b, err := Open(t.Context(), p.path, spec.Lock{})
	if err != nil {
		t.Fatal(err)
	}
	if differs := p.same(t, b); differs != "" {
		t.Error(differs)
	}
	all := parts(t, p.path)
	if last := all[len(all)-2:]; last[0].name != indexFile || last[1].name != digestFile {
		t.Errorf("the last files are %s and %s", last[0].name, last[1].name)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(all[len(all)-2].content))); b.SHA256 != sum {
		t.Errorf("the bundle is known by %s, want %s, the index's digest", b.SHA256, sum)
	}
	for _, e := range p.index.entries() {
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(p.contents[e.File]))); e.SHA256 != want || e.Bytes != int64(len(p.contents[e.File])) {
			t.Errorf("entry %+v, want %d bytes with %s", e, len(p.contents[e.File]), want)
		}
	}
}

// TestRoundTripOfNames: what no plain tar header holds is kept too, and files
// lie behind it where they should.
func TestRoundTripOfNames(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 1<<13)
	for _, name := range []string{"images/" + strings.Repeat("long/", 60) + "node.tar", "images/Knoten-ß.tar", "images/with space\nand line.tar"} {
		p := pack(t, func(w *Writer, index *Index) {
			e, err := w.add(name, int64(len(content)), strings.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			index.Planes[0].Archives = append(index.Planes[0].Archives, e)
		})
		p.contents[name] = content
		b, err := Open(t.Context(), p.path, spec.Lock{})
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if differs := p.same(t, b); differs != "" {
			t.Errorf("%q: %.400s", name, differs)
		}
	}
}

// TestOneByte: a bundle with another byte anywhere is refused. Where nothing is
// kept it may be opened, and then is what it was.
func TestOneByte(t *testing.T) {
	t.Parallel()
	p := pack(t, nil)
	b, err := Open(t.Context(), p.path, spec.Lock{})
	if err != nil {
		t.Fatal(err)
	}
	const block, sumAt, sumEnd = 512, 148, 156
	slack := map[int64]string{}
	for name, at := range b.at {
		for i := at.offset + at.bytes; i%block != 0; i++ {
			slack[i] = "padding"
		}
		for i := at.offset - block + sumAt; i < at.offset-block+sumEnd; i++ {
			slack[i] = "the header's own checksum, in octal with zeros and blanks around it"
		}
		if name == digestFile {
			slack[at.offset+at.bytes-1] = "end of line"
		}
	}
	file, err := os.OpenFile(p.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	was, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	for i := range int64(len(was)) {
		mask := byte(1) << ((i + i/block) % 8) // another bit of the same field in the next block
		if _, err := file.WriteAt([]byte{was[i] ^ mask}, i); err != nil {
			t.Fatal(err)
		}
		b, err := Open(t.Context(), p.path, spec.Lock{})
		switch {
		case err != nil:
			if !strings.HasPrefix(err.Error(), "bundle "+p.path+": ") {
				t.Errorf("byte %d: error %q does not begin with which bundle", i, err)
			}
		case slack[i] == "":
			t.Errorf("byte %d is %#x and was %#x, and the bundle is opened", i, was[i]^mask, was[i])
		default:
			opened++
			if differs := p.same(t, b); differs != "" {
				t.Errorf("byte %d, %s: %s", i, slack[i], differs)
			}
		}
		if _, err := file.WriteAt(was[i:i+1], i); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := Open(t.Context(), p.path, spec.Lock{}); err != nil || p.same(t, b) != "" || opened == 0 {
		t.Errorf("the bundle as it was: %v; opened %d others, and tar's padding is no content", err, opened)
	}
}

// TestCutOff: of a bundle that is cut off nothing is taken, wherever that is. A
// tar without the zeros at its end is whole.
func TestCutOff(t *testing.T) {
	t.Parallel()
	p := pack(t, nil)
	b, err := Open(t.Context(), p.path, spec.Lock{})
	if err != nil {
		t.Fatal(err)
	}
	whole := b.at[digestFile].offset + b.at[digestFile].bytes
	info, err := os.Stat(p.path)
	if err != nil {
		t.Fatal(err)
	}
	for size := info.Size() - 1; size >= 0; size-- {
		if err := os.Truncate(p.path, size); err != nil {
			t.Fatal(err)
		}
		b, err := Open(t.Context(), p.path, spec.Lock{})
		if err == nil && size < whole {
			t.Errorf("opened with %d bytes of %d", size, info.Size())
		}
		if err == nil && size >= whole && p.same(t, b) != "" {
			t.Errorf("with %d bytes of %d: %s", size, info.Size(), p.same(t, b))
		}
		// 63 of 64 digits are another digest.
		if says := "cut off"; err != nil && size < whole-1 && !strings.Contains(err.Error(), says) {
			t.Errorf("%d bytes of %d: says %q, want %q", size, info.Size(), err, says)
		}
	}
}

// TestBehindTheEnd: what stands behind a tar's end is none of it.
func TestBehindTheEnd(t *testing.T) {
	p := pack(t, nil)
	raw, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	for name, behind := range map[string][]byte{"zeros": make([]byte, 8<<10), "itself": raw, "text": []byte("text")} {
		if err := os.WriteFile(p.path, slices.Concat(raw, behind), 0o644); err != nil {
			t.Fatal(err)
		}
		b, err := Open(t.Context(), p.path, spec.Lock{})
		if name == "zeros" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && p.same(t, b) != "" {
			t.Errorf("%s: %s", name, p.same(t, b))
		}
	}
}

// TestOpenRefuses: each row is one fault of a bundle that is whole otherwise.
func TestOpenRefuses(t *testing.T) {
	type all = []part
	const node, chart = nodeFile, "charts/cilium-1.20.2.tgz"
	tests := []struct {
		name   string
		change func(all) all
		says   []string // nil where it opens
	}{
		{"nothing", func(a all) all { return a }, nil},
		{"another order", func(a all) all { slices.Reverse(a); return a }, nil},
		{"an entry is missing", func(a all) all { return without(a, chart) }, []string{chart + " is missing"}},
		{"two are", func(a all) all { return without(a, chart, node) }, []string{chart + " is missing", node + " is missing"}},
		{"an extra entry", func(a all) all { return append(a, part{"images/more.tar", "more", tar.TypeReg}) }, []string{"images/more.tar is not in the index"}},
		{"an extra entry without content", func(a all) all { return append(a, part{"more", "", tar.TypeReg}) }, []string{"more is not in the index"}},
		{"an entry twice", func(a all) all { return append(a, a[0]) }, []string{nodeFile + " is there twice"}},
		{"an entry again with other content", func(a all) all { return append(a, part{node, "other", tar.TypeReg}) }, []string{node + " is there twice"}},
		{"the index twice", func(a all) all { return append(a, a[len(a)-2]) }, []string{indexFile + " is there twice"}},
		{"a directory", func(a all) all { return append(a, part{"images/", "", tar.TypeDir}) }, []string{"images/ is there twice or is no file"}},
		{"a symbolic link", func(a all) all { return append(without(a, node), part{node, chart, tar.TypeSymlink}) }, []string{node + " is there twice or is no file"}},
		{"a hard link", func(a all) all { return append(without(a, node), part{node, chart, tar.TypeLink}) }, []string{node + " is there twice or is no file"}},
		{"a name of another form", func(a all) all { return append(without(a, node), part{"./" + node, "the node image", tar.TypeReg}) },
			[]string{node + " is missing", "./" + node + " is not in the index"}},
		{"other content of that size", func(a all) all { return edit(t, a, node, "the", "THE") }, []string{node + " is not what the index says: 14 bytes with SHA-256 ", ", want 14 with "}},
		{"other content of another size", func(a all) all { return edit(t, a, node, "the", "a") }, []string{node + " is not what the index says: 12 bytes", ", want 14 with "}},
		{"another size in the index alone", func(a all) all { return reindex(t, a, `"bytes": 14,`, `"bytes": 15,`) }, []string{node + " is not what the index says: 14 bytes", ", want 15 with "}},
		{"contents exchanged", func(a all) all { a[0].content, a[1].content = a[1].content, a[0].content; return a }, []string{nodeFile + " is not what", "echo/echo is not what"}},

		{"no digest file", func(a all) all { return without(a, digestFile) }, []string{"has no " + digestFile}},
		{"no index", func(a all) all { return without(a, indexFile) }, []string{"has no " + indexFile}},
		{"neither", func(a all) all { return without(a, indexFile, digestFile) }, []string{"has no " + indexFile}},
		{"no file at all", func(all) all { return nil }, []string{"has no " + indexFile, "not made by runner bundle create"}},
		{"an index changed without its digest", func(a all) all { return edit(t, a, indexFile, "c0792f1", "d0792f1") }, []string{indexFile + " is not what " + digestFile + " says"}},
		{"an empty digest", func(a all) all { return append(without(a, digestFile), part{digestFile, "", tar.TypeReg}) }, []string{indexFile + " is not what " + digestFile + " says"}},
		{"a digest as sha256sum writes it", func(a all) all { return edit(t, a, digestFile, "\n", "  "+indexFile+"\n") }, []string{indexFile + " is not what " + digestFile + " says"}},

		{"another version", func(a all) all { return reindex(t, a, spec.APIVersion, "service-dataplane/v2") },
			[]string{indexFile + " is of service-dataplane/v2 Bundle, want " + spec.APIVersion + " Bundle", "another version"}},
		{"another kind", func(a all) all { return reindex(t, a, `"kind": "Bundle"`, `"kind": "Run"`) }, []string{spec.APIVersion + " Run, want " + spec.APIVersion + " Bundle"}},
		{"an unknown field", func(a all) all { return reindex(t, a, `"revision"`, `"weather": "fine", "revision"`) }, []string{indexFile, `"weather"`}},
		{"an unknown field within", func(a all) all { return reindex(t, a, `"file"`, `"mode": 420, "file"`) }, []string{indexFile, `"mode"`}},
		{"another type", func(a all) all { return reindex(t, a, `"bytes": 14,`, `"bytes": "14",`) }, []string{indexFile, "bytes"}},
		{"no time", func(a all) all { return reindex(t, a, "2026-11-29T", "2026-11-31T") }, []string{indexFile, "2026-11-31T"}},
		{"an index that is no JSON", func(a all) all { return reindex(t, a, "{", "{{") }, []string{indexFile}},
		{"an empty index", func(a all) all { return seal(append(without(a, indexFile), part{indexFile, "", tar.TypeReg})) }, []string{indexFile, "EOF"}},
		{"an index that says nothing", func(a all) all { return seal(append(without(a, indexFile), part{indexFile, "{}", tar.TypeReg})) }, []string{"another version"}},
		{"no node image", func(a all) all { return reindex(t, a, `"id": "sha256:1"`, `"id": ""`) }, []string{"no node image or no workload"}},
		{"a node image without a name", func(a all) all {
			return reindex(t, a, `"localhost/service-dataplane/node:v1.35.0-`+contentKey+`"`, `""`)
		}, []string{"no node image or no workload"}},
		{"no workload", func(a all) all { return reindex(t, a, `"localhost/service-dataplane/echo:0123"`, `""`) }, []string{"no node image or no workload"}},
		{"an entry without a name", func(a all) all { return reindex(t, a, `"`+chart+`"`, `""`) }, []string{"incomplete entry"}},
		{"an entry without a size", func(a all) all { return reindex(t, a, `"bytes": 14,`, ``) }, []string{"incomplete entry", node}},
		{"an entry of a negative size", func(a all) all { return reindex(t, a, `"bytes": 14,`, `"bytes": -14,`) }, []string{"incomplete entry", node}},
		{"an entry with half a digest", func(a all) all {
			sum := fmt.Sprintf("%x", sha256.Sum256([]byte("the node image")))
			return reindex(t, a, sum, sum[:32])
		}, []string{"incomplete entry", node}},
	}
	original := parts(t, pack(t, nil).path)
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			path := file(t, build(t, test.change(slices.Clone(original))))
			_, err := Open(t.Context(), path, spec.Lock{})
			if (err != nil) != (test.says != nil) {
				t.Fatalf("error %v, want %q", err, test.says)
			}
			for _, says := range test.says {
				if !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
					t.Errorf("says %q, want %q", err, says)
				}
			}
		})
	}
}

func TestOpenOfNoBundle(t *testing.T) {
	raw, err := os.ReadFile(pack(t, nil).path)
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(raw); errors.Join(err, w.Close()) != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		content []byte
		says    string
	}{
		"empty":                {nil, "has no " + indexFile},
		"zeros":                {make([]byte, 10<<10), "has no " + indexFile},
		"a line":               {[]byte("not a tar\n"), "is no bundle"},
		"text":                 {bytes.Repeat([]byte("not a tar\n"), 1000), "is no bundle"},
		"compressed":           {zipped.Bytes(), "is no bundle"},
		"without its first KB": {raw[1<<10:], ""},
		"off by one":           {raw[1:], "is no bundle"},
	} {
		path := file(t, test.content)
		if _, err := Open(t.Context(), path, spec.Lock{}); err == nil || !strings.Contains(err.Error(), "bundle "+path) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, want %s and %q", name, err, path, test.says)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "nosuch.tar"), spec.Lock{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	dir := t.TempDir()
	if _, err := Open(t.Context(), dir, lock(t)); err == nil || !strings.Contains(err.Error(), dir+" has neither") {
		t.Errorf("an empty directory: %v", err)
	}
}

// TestOpenEndsWithContext, be it long before or in the middle of a file.
func TestOpenEndsWithContext(t *testing.T) {
	p := pack(t, func(w *Writer, index *Index) {
		e, err := w.add("images/large.tar", 1<<20, io.LimitReader(zeros{}, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		index.Planes[0].Archives = append(index.Planes[0].Archives, e)
	})
	interrupted := errors.New("interrupted")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	if _, err := Open(cancelled, p.path, spec.Lock{}); !errors.Is(err, interrupted) {
		t.Errorf("error %v, want the context's cause", err)
	}
	for asked := range 30 {
		if _, err := Open(&countdown{t.Context(), asked}, p.path, spec.Lock{}); !errors.Is(err, errCountdown) {
			t.Errorf("ended when asked %d times: error %v, want the context's", asked, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// sparse is the tar entry of a file of size bytes that has data at an offset
// and holes around it, as GNU tar --sparse writes one in PAX format 0.1.
func sparse(tb testing.TB, name string, size, offset int, data string) []byte {
	tb.Helper()
	var records strings.Builder
	for _, r := range [][2]string{
		{"GNU.sparse.size", strconv.Itoa(size)}, {"GNU.sparse.numblocks", "1"},
		{"GNU.sparse.map", fmt.Sprintf("%d,%d", offset, len(data))}, {"GNU.sparse.name", name},
	} {
		record := " " + r[0] + "=" + r[1] + "\n"
		length := len(record) + 2
		if length > 99 {
			tb.Fatal("a record too long for this")
		}
		fmt.Fprintf(&records, "%02d%s", length, record)
	}
	raw := build(tb, []part{{"pax", records.String(), tar.TypeReg}, {name, data, tar.TypeReg}})
	raw = raw[:len(raw)-1024]
	raw[156] = 'x'
	var sum int
	copy(raw[148:156], "        ")
	for _, c := range raw[:512] {
		sum += int(c)
	}
	copy(raw[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return raw
}

// TestSparse: what is hashed is what is read later. Files with holes are not
// where they lie.
func TestSparse(t *testing.T) {
	const name, data, size, offset = nodeFile, "data", 2000, 700
	content := strings.Repeat("\x00", offset) + data + strings.Repeat("\x00", size-offset-len(data))
	all := parts(t, pack(t, nil).path)
	all = reindex(t, all, fmt.Sprintf("%x", sha256.Sum256([]byte("the node image"))), fmt.Sprintf("%x", sha256.Sum256([]byte(content))))
	all = reindex(t, all, `"bytes": 14,`, fmt.Sprintf(`"bytes": %d,`, size))
	path := file(t, slices.Concat(sparse(t, name, size, offset, data), build(t, without(all, name))))
	b, err := Open(t.Context(), path, spec.Lock{})
	if err != nil {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("refused with %q, want %s named", err, name)
		}
		return
	}
	if got := contents(t, b)[name]; got != content {
		t.Errorf("%s is %.20q…, and was hashed as %.20q…", name, got, content)
	}
}

func TestOpenOfWhatIsNotThere(t *testing.T) {
	p := pack(t, nil)
	b, err := Open(t.Context(), p.path, spec.Lock{})
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "target")
	if err := b.Extract(Entry{File: "nosuch"}, target, 0o644); err == nil || !strings.Contains(err.Error(), p.path+": nosuch is missing") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is written: %v", err)
	}
	if err := os.Remove(p.path); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(p.index.Node.Archive); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a bundle that was removed: %v", err)
	}
}

// TestExtract: the mode is what was asked for, whatever lay there and whatever
// the umask.
func TestExtract(t *testing.T) {
	p := pack(t, nil)
	b, err := Open(t.Context(), p.path, spec.Lock{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		before string
		mode   os.FileMode
	}{
		{"a program", "", 0o755},
		{"a file", "", 0o644},
		{"one for all to write", "", 0o666},
		{"one for its owner", "", 0o600},
		{"over a longer one", strings.Repeat("old", 1000), 0o755},
		{"over a shorter one", "x", 0o644},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "target")
			if test.before != "" {
				if err := os.WriteFile(target, []byte(test.before), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Extract(p.index.Echo.Binary, target, test.mode); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(target)
			if info, _ := os.Stat(target); err != nil || string(content) != p.contents["echo/echo"] || info.Mode() != test.mode {
				t.Errorf("%q %v, %v; want mode %v", content, info.Mode(), err, test.mode)
			}
		})
	}
	if err := b.Extract(p.index.Echo.Binary, filepath.Join(t.TempDir(), "nosuch", "echo"), 0o755); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a directory that is not there: %v", err)
	}
}

// TestReadAtOnce: readers of one bundle do not move each other.
func TestReadAtOnce(t *testing.T) {
	p := pack(t, nil)
	b, err := Open(t.Context(), p.path, spec.Lock{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := b.Open(p.index.Node.Archive)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(first, head); err != nil {
		t.Fatal(err)
	}
	if differs := p.same(t, b); differs != "" {
		t.Error(differs)
	}
	rest, err := io.ReadAll(first)
	if got := string(head) + string(rest); err != nil || got != p.contents[nodeFile] {
		t.Errorf("%q, %v", got, err)
	}
}

func TestChart(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.tgz")
	if err := os.WriteFile(garbage, []byte("no chart"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, archive string
		says          string // "" where it is the chart
	}{
		{"the chart", saveChart(t, dir, "cilium", "1.20.2"), ""},
		{"of another version", saveChart(t, dir, "cilium", "1.19.8"), "is chart cilium 1.19.8, want cilium 1.20.2"},
		{"another chart", saveChart(t, dir, "calico", "1.20.2"), "is chart calico 1.20.2, want cilium 1.20.2"},
		{"none", garbage, "charts/other.tgz: "},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			p := pack(t, func(w *Writer, index *Index) {
				e, err := w.Add(t.Context(), "charts/other.tgz", test.archive)
				if err != nil {
					t.Fatal(err)
				}
				index.Planes[0].Archives = append(index.Planes[0].Archives, index.Planes[0].Chart)
				index.Planes[0].Chart = e
			})
			b, err := Open(t.Context(), p.path, spec.Lock{})
			if err != nil {
				t.Fatal(err)
			}
			plane, ok := b.Plane("cilium", "1.20.2")
			if !ok {
				t.Fatal("the bundle has no Cilium 1.20.2")
			}
			loaded, err := b.Chart(plane)
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), p.path) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v, %v; want %q", loaded, err, test.says)
				}
				return
			}
			if err != nil || loaded.Name() != "cilium" || loaded.Metadata.Version != "1.20.2" || len(loaded.Templates) != 1 {
				t.Errorf("%+v, %v", loaded, err)
			}
		})
	}
}

// FuzzOpen: whatever is opened has every file that its index describes, with
// that digest, and no other.
func FuzzOpen(f *testing.F) {
	p := pack(f, nil)
	raw, err := os.ReadFile(p.path)
	if err != nil {
		f.Fatal(err)
	}
	all := parts(f, p.path)
	bare := reindex(f, slices.Clone(all), `"revision": "c0792f1",`, ``)
	f.Add(raw)
	f.Add(build(f, bare))
	f.Add(build(f, without(slices.Clone(all), digestFile)))
	f.Add(sparse(f, nodeFile, 2000, 700, "data"))
	f.Add([]byte{})
	path := filepath.Join(f.TempDir(), "fuzzed.tar")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		b, err := Open(t.Context(), path, spec.Lock{})
		if err != nil {
			return
		}
		if err := b.check(); err != nil {
			t.Errorf("opened with an index that is none: %v", err)
		}
		known := map[string]bool{indexFile: true, digestFile: true}
		for _, e := range b.entries() {
			known[e.File] = true
			content, err := b.read(e)
			if sum := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || int64(len(content)) != e.Bytes || sum != e.SHA256 {
				t.Errorf("%+v is %d bytes with %s, %v", e, len(content), sum, err)
			}
		}
		for name := range b.at {
			if !known[name] {
				t.Errorf("%q is in no index", name)
			}
		}
		index, err := b.read(Entry{File: indexFile})
		if sum := fmt.Sprintf("%x", sha256.Sum256(index)); err != nil || sum != b.SHA256 {
			t.Errorf("the index has SHA-256 %s, %v; known by %s", sum, err, b.SHA256)
		}
	})
}
