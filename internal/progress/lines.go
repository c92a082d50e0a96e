package progress

import "bytes"

// LineWriter calls Line for each whole line written to it, without its line
// end. It lets a child process report what it is at.
type LineWriter struct {
	Line func(string)
	rest []byte
}

func (w *LineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.rest = rest
		w.Line(string(bytes.TrimRight(line, "\r")))
	}
}
