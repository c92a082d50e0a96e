package nftables

import (
	"errors"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// errNotKey: an element's key is not of the form that it is asked for.
var errNotKey = errors.New("not a key of the form that is asked for")

// lookup reads the expressions that end in a verdict map.
func (s *sentence) lookup() (bool, error) {
	if at, ok := s.take("IP daddr . meta l4proto . th dport vmap *"); ok {
		return true, s.verdictOf(at[0], true)
	}
	if at, ok := s.take("meta l4proto . th dport vmap *"); ok {
		return true, s.verdictOf(at[0], false)
	}
	if at, ok := s.take("numgen random mod * vmap *"); ok {
		return true, s.draw(at[0], at[1])
	}
	return false, nil
}

// verdictOf looks the packet up in a map of addresses, protocols and ports, or of
// the last two.
func (s *sentence) verdictOf(what string, withAddress bool) error {
	name, isMap := strings.CutPrefix(what, "@")
	if !isMap {
		return walk.Stopf("a verdict map without a name is not understood")
	}
	e, err := s.find(name, func(key []string) (bool, error) {
		if withAddress {
			if len(key) != 3 {
				return false, errNotKey
			}
			if in, err := contains(key[0], s.state.Destination.Addr()); !in || err != nil {
				return false, err
			}
			key = key[1:]
		}
		if len(key) != 2 {
			return false, errNotKey
		}
		k, ok := portKey(strings.Join(key, " . "))
		if !ok {
			return false, errNotKey
		}
		return k.protocol == s.state.Packet.Protocol && k.port == s.state.Destination.Port(), nil
	})
	if e == nil || err != nil {
		s.fails = true
		return err
	}
	b, ok := simple(words(e.verdict))
	if !ok {
		return walk.StopAt(s.hop("map "+name, e.src.line()), "the verdict %q is not understood", e.verdict)
	}
	s.quotes = append(s.quotes, s.hop("map "+name, e.src.line()))
	s.effect.Verdict, s.effect.Chain = b.Verdict, b.Chain
	return nil
}

// draw spreads the packets over an anonymous map from numbers drawn at random,
// each as likely as the others. A number without an element meets the next rule.
func (s *sentence) draw(mod, vmap string) error {
	n, err := strconv.ParseInt(mod, 10, 32)
	list, ok := items(vmap)
	if err != nil || n < 1 || !ok {
		return walk.Stopf("numgen random mod %s vmap %s is not understood", mod, vmap)
	}
	drawn := map[int64]bool{}
	s.branches = []walk.Branch{}
	for _, item := range list {
		number, verdict, _ := strings.Cut(item, ":")
		i, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
		b, ok := simple(words(verdict))
		if err != nil || i < 0 || i >= n || drawn[i] || !ok {
			return walk.Stopf("%q is not one number and its verdict", strings.TrimSpace(item))
		}
		drawn[i] = true
		b.Part, b.Clear, b.Flip, b.Note = collect.Part(1, n), s.effect.Clear, s.effect.Flip, "the number drawn is "+strings.TrimSpace(number)
		s.branches = append(s.branches, b)
	}
	return nil
}

// find finds the element of a set or map whose key fits. What of it is not
// understood, down to one key, stops the walk unless another key fits.
func (w *walker) find(name string, fits func(key []string) (bool, error)) (*element, error) {
	set := w.setNamed[name]
	if set == nil {
		return nil, walk.Stopf("there is no set or map %s in this table", name)
	}
	var strange *source
	for i, e := range set.elems {
		ok, err := fits(strings.Split(e.key, " . "))
		if err != nil && strange == nil {
			strange = &set.elems[i].src
		}
		if ok && err == nil {
			return &set.elems[i], nil
		}
	}
	if strange == nil && len(set.unknown) > 0 {
		strange = &set.unknown[0]
	}
	if strange != nil {
		return nil, walk.StopAt(w.hop(name, strange.line()), "this is not understood, and may be the element that is looked for")
	}
	return nil, nil
}
