package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// drawing is a walk as boxes, lines and words from top to bottom. It is as wide
// as a phone, whose reader has the same letters as that of a large screen.
type drawing struct {
	Label         string
	Width, Height int
	Boxes         []box
	Lines         []stroke
	Stops         []stop
	Words         []word
}

type box struct {
	X, Y, W, H int
	Class      string
}

type stroke struct{ D, Class string }

// stop is a hop: a dot on the line, and words that lead to its own line below.
type stop struct {
	Href, Title     string
	X, Y            int // of the dot
	Left, Top, W, H int // of what can be clicked
	Class           string
	Words           []word
}

type word struct {
	X, Y        int
	Class, Text string
}

// Measures in units of the drawing, which are pixels on a phone.
const (
	width   = 352
	rail    = 18 // of the line all connections take
	gap     = 12
	indent  = 7
	mono    = 6.7 // width of a letter of a chain's name
	sans    = 5.7 // of a note, about
	nameRow = 15
	noteRow = 14
)

// pen draws downwards: y is how far it got.
type pen struct {
	drawing
	y int
}

func (p *pen) box(b box) { p.Boxes = append(p.Boxes, b) }
func (p *pen) line(class, d string, at ...any) {
	p.Lines = append(p.Lines, stroke{fmt.Sprintf(d, at...), class})
}
func (p *pen) word(x, y int, class, text string) { p.Words = append(p.Words, word{x, y, class, text}) }

// draw is the drawing of a walk.
func (s source) draw(w walked) drawing {
	p := &pen{drawing: drawing{Width: width}}
	t := w.walk.Trace
	p.Label = fmt.Sprintf("The way of a new connection of the %s to %s through the kernel of %s: %s, to %s",
		s.prober(w.entry), t.Packet.Destination, w.walk.Node, plural(len(w.Hops), "hop"), plural(len(t.Backends), "backend"))

	p.box(box{0, 0, width, 46, "client"})
	p.word(12, 19, "name", s.prober(w.entry))
	p.word(12, 37, "address", t.Packet.Source.String())
	p.line("all", "M%d,46V78", rail)
	p.word(rail+12, 67, "note", "dials")
	p.word(rail+44, 67, "address strong", t.Packet.Destination.String())

	p.y = 78
	top, first := p.y, len(p.Boxes)
	p.box(box{}) // the kernel, once its height is known
	p.word(rail+12, p.y+20, "name", "kernel of "+w.walk.Node)
	p.word(rail+12, p.y+37, "place", s.place(w.entry))
	p.line("all", "M%d,%dV%d", rail, p.y, p.y+48)
	p.y += 48
	for _, passed := range w.walk.Passed {
		if len(passed.Hops) == 0 {
			p.straight(noteRow + 10)
			p.word(rail+12, p.y-8, "note", passed.Encoding+" leaves it as it is")
		}
	}
	steps := stepsOf(w.Hops)
	open := s.steps(p, steps, t)
	p.straight(10)
	p.Boxes[first] = box{0, top, width, p.y - top, "kernel"}
	if t.Stopped == nil {
		s.ends(p, t, w.walk.Node, open)
	}
	p.Height = p.y + 1
	return p.drawing
}

// straight lets the line of all connections run on, unless it has forked.
func (p *pen) straight(by int) {
	p.line("all", "M%d,%dV%d", rail, p.y, p.y+by)
	p.y += by
}

// step is hops one after the other, or branches beside each other.
type step struct {
	hops     []hop
	branches [][]hop
}

// stepsOf finds where a way forks: at a hop that not all connections get to, and
// again at each of its depth that follows.
func stepsOf(hops []hop) []step {
	var steps []step
	for i := 0; i < len(hops); {
		end := i
		var branches [][]hop
		for end < len(hops) && !hops[end].whole && hops[end].Depth >= hops[i].Depth && !hops[end].Stopped {
			if hops[end].Depth == hops[i].Depth {
				branches = append(branches, nil)
			}
			last := len(branches) - 1
			branches[last] = append(branches[last], hops[end])
			end++
		}
		// What follows a fork goes by shares too, and is not said to be of a branch.
		forked := slices.ContainsFunc(steps, func(s step) bool { return s.branches != nil })
		if len(branches) > 1 && !forked {
			steps = append(steps, step{branches: branches})
			i = end
			continue
		}
		steps = append(steps, step{hops: hops[i : i+1]})
		i++
	}
	return steps
}

// steps draws the hops. Where they end in branches that each lead to one backend,
// it returns which.
func (s source) steps(p *pen, steps []step, t collect.Trace) []collect.TracedBackend {
	for i, st := range steps {
		if st.branches == nil {
			p.stop(lane{x: rail, right: width, class: "all"}, st.hops[0], !st.hops[0].whole)
			continue
		}
		to := backendsOf(st.branches, t.Backends)
		if len(st.branches) > 2 {
			p.below(st.branches, s.classes(to))
			continue
		}
		if i == len(steps)-1 && to != nil {
			p.beside(st.branches, s.classes(to), false)
			return to
		}
		p.beside(st.branches, s.classes(to), true)
	}
	return nil
}

// beside draws two branches in columns, and joins them where the way goes on.
func (p *pen) beside(branches [][]hop, classes []string, join bool) {
	const bend = 26
	top, bottom := p.y, p.y
	column := width / 2
	for i, branch := range branches {
		x := rail + i*column
		class := at(classes, i)
		p.line(class, "M%d,%dC%d,%d %d,%d %d,%d", rail, top, rail, top+bend/2, x, top+bend/2, x, top+bend)
		p.y = top + bend
		for k, h := range branch {
			p.stop(lane{x, (i + 1) * column, class, true}, h, k == 0 || h.Share != branch[k-1].Share)
		}
		bottom = max(bottom, p.y)

	}
	for i := range branches {
		x := rail + i*column
		p.line(at(classes, i), "M%d,%dV%d", x, top+bend, bottom)
		if join {
			p.line(at(classes, i), "M%d,%dC%d,%d %d,%d %d,%d", x, bottom, x, bottom+bend/2, rail, bottom+bend/2, rail, bottom+bend)
		}
	}
	p.y = bottom
	if join {
		p.y += bend
	}
}

// below draws branches one under the other, off the line that all come by.
func (p *pen) below(branches [][]hop, classes []string) {
	const out = 22
	for i, branch := range branches {
		class, top := at(classes, i), p.y
		p.y += 8
		p.line(class, "M%d,%dC%d,%d %d,%d %d,%d", rail, top, rail, top+10, rail+out, top+2, rail+out, top+16)
		start := p.y
		for k, h := range branch {
			p.stop(lane{x: rail + out, right: width, class: class}, h, k == 0 || h.Share != branch[k-1].Share)
		}
		p.line(class, "M%d,%dV%d", rail+out, top+16, start)
		p.line("all", "M%d,%dV%d", rail, top, p.y)
	}
}

// lane is where hops are drawn: on a line, and up to a right edge.
type lane struct {
	x, right int
	class    string
	// narrow lanes have the share of connections above a hop, and no indent.
	narrow bool
}

// stop draws a hop, with its share where it is said.
func (p *pen) stop(l lane, h hop, share bool) {
	left, y := l.x+12, p.y
	if !l.narrow {
		left += indent * h.Depth
	}
	room := l.right - left - 8
	s := stop{Href: "#" + h.ID, Title: h.Line.At, X: l.x, Class: l.class}
	if h.Stopped {
		s.Class = "stopped"
	}
	switch {
	case share && l.narrow:
		y += nameRow
		s.Words = append(s.Words, word{left, y - 1, "share", h.Share})
	case share:
		s.Words = append(s.Words, word{l.right - 10, y + nameRow + 1, "share end", h.Share})
		room -= 34
	}
	s.Y = y + 12
	for _, part := range wrap(h.Where, int(float64(room)/mono)) {
		y += nameRow
		s.Words = append(s.Words, word{left, y + 1, "chain", part})
	}
	for _, part := range wrap(h.Note, int(float64(room)/sans)) {
		y += noteRow
		s.Words = append(s.Words, word{left, y + 1, "note", part})
	}
	y = max(y+9, p.y+24)
	s.Left, s.Top, s.W, s.H = l.x-9, p.y, l.right-l.x+5, y-p.y
	p.Stops = append(p.Stops, s)
	p.line(l.class, "M%d,%dV%d", l.x, p.y, y)
	p.y = y
}

// ends draws where connections end up. Where the branches lead to backends, they
// are in that order.
func (s source) ends(p *pen, t collect.Trace, node string, order []collect.TracedBackend) {
	backends := order
	if backends == nil {
		backends = t.Backends
	}
	const height, drop = 92, 28
	if len(backends) == 2 && len(t.Endings) == 0 {
		column := width / 2
		for i, b := range backends {
			x := rail + i*column
			class := s.class(b)
			if order != nil {
				p.line(class, "M%d,%dV%d", x, p.y-10, p.y+drop)
			} else {
				p.line(class, "M%d,%dC%d,%d %d,%d %d,%d", rail, p.y, rail, p.y+drop/2, x, p.y+drop/2, x, p.y+drop)
			}
			s.backend(p, b, node, i*(column+3), p.y+drop, column-3, height)
		}
		p.y += drop + height
		return
	}
	for _, b := range backends {
		p.straight(gap)
		s.backend(p, b, node, 0, p.y, width, height-18)
		p.y += height - 18
	}
	for _, e := range t.Endings {
		p.straight(gap)
		text := string(e.Fate)
		if e.By.File != "" {
			text += " by " + e.By.At()
		}
		if e.By.Note != "" {
			text += ": " + e.By.Note
		}
		lines := wrap(text, 48)
		p.box(box{0, p.y, width, 16 + nameRow*(1+len(lines)), "ending"})
		p.word(12, p.y+19, "share", e.Probability.String()+" of new connections")
		for i, l := range lines {
			p.word(12, p.y+19+nameRow*(i+1), "name", l)
		}
		p.y += 16 + nameRow*(1+len(lines))
	}
}

// backend draws a pod on its node, and whom it sees.
func (s source) backend(p *pen, b collect.TracedBackend, entry string, x, y, w, h int) {
	class := s.class(b)
	p.box(box{x, y, w, h, "pod " + class})
	p.box(box{x + 10, y + 10, 20, 20, "badge " + class})
	p.word(x+20, y+25, "letter "+class, cmp.Or(s.letters[b.Backend.Addr()], "?"))
	p.word(x+38, y+25, "name", "pod on "+cmp.Or(s.nodeOf(b), "no node that is known"))
	p.word(x+12, y+47, "address", b.Backend.String())
	seen := map[collect.Decision]string{
		collect.No: "sees the client’s address", collect.Yes: "sees an address of " + entry, collect.Depends: "source: not decided here",
	}[b.Masqueraded.Decision]
	if w == width {
		p.word(x+w-12, y+25, "share end", b.Probability.String())
		p.word(x+12, y+65, "note", seen)
		return
	}
	for i, part := range wrap(seen, int(float64(w-20)/sans)) {
		p.word(x+12, y+65+noteRow*i, "note", part)
	}
}

// class is the colour of a backend.
func (s source) class(b collect.TracedBackend) string { return s.colour(s.letters[b.Backend.Addr()]) }

// colour of a letter: A, B and those that follow, which take turns.
func (s source) colour(letter string) string {
	if letter == "" {
		return "k-none"
	}
	return fmt.Sprintf("k%d", (letter[0]-'A')%colours)
}

const colours = 4

func (s source) classes(backends []collect.TracedBackend) []string {
	var all []string
	for _, b := range backends {
		all = append(all, s.class(b))
	}
	return all
}

func at(classes []string, i int) string {
	if i < len(classes) {
		return classes[i]
	}
	return "all"
}

// backendsOf are the backends that branches lead to: each is named in the last
// hop of one branch and of no other; nil where that is not so.
func backendsOf(branches [][]hop, backends []collect.TracedBackend) []collect.TracedBackend {
	if len(branches) != len(backends) {
		return nil
	}
	var found []collect.TracedBackend
	for _, branch := range branches {
		last := branch[len(branch)-1]
		named := func(b collect.TracedBackend) bool {
			return slices.Contains(strings.FieldsFunc(last.Note+" "+last.Line.Raw, func(r rune) bool { return strings.ContainsRune(" /,;=", r) }), b.Backend.String())
		}
		i := slices.IndexFunc(backends, named)
		if i < 0 || slices.ContainsFunc(backends[i+1:], named) || slices.ContainsFunc(found, func(b collect.TracedBackend) bool { return b.Backend == backends[i].Backend }) {
			return nil
		}
		found = append(found, backends[i])
	}
	return found
}

// wrap breaks a text into lines of at most so many letters: behind a mark that
// ends a part of a name where there is one, else within it.
func wrap(text string, most int) []string {
	most = max(most, 4)
	var lines []string
	rest := []rune(strings.TrimSpace(text))
	for len(rest) > most {
		cut := most
		for i := most; i > most/2; i-- {
			if strings.ContainsRune(" -/_:,", rest[i-1]) {
				cut = i
				break
			}
		}
		lines = append(lines, strings.TrimSpace(string(rest[:cut])))
		rest = []rune(strings.TrimSpace(string(rest[cut:])))
	}
	if len(rest) > 0 {
		lines = append(lines, string(rest))
	}
	return lines
}
