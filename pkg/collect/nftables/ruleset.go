package nftables

import (
	"bytes"
	"encoding/json"
	"fmt"

	"service-dataplane/pkg/collect"
)

// ruleset is what both forms of a listing are read into. Rules, keys and
// verdicts are held in nft's text syntax whichever form they came from, so
// that one interpreter reads both.
type ruleset struct {
	tables []*table
}

type table struct {
	family, name string
	chains       []*chain
	sets         []*set // sets and maps
	unparsed     []collect.Line
	// unknown are attributes of the table itself that are not understood.
	unknown []source
	src     source

	chainNamed map[string]*chain
	setNamed   map[string]*set
}

type chain struct {
	name string
	// base is type, hook and policy of a base chain, "nat prerouting accept";
	// "" for a chain that is only jumped to.
	base string
	// priority orders base chains of one hook; unknown where it cannot be read.
	priority int
	unknown  bool
	rules    []rule
	src      source
}

type rule struct {
	text string // without the comment; "" where it is not understood
	src  source
}

type set struct {
	name    string
	seconds int // the timeout of its elements; 0 is none
	elems   []element
	// unknown are what of the set is not understood: any key may be there.
	unknown []source
	src     source
}

// element is a key of a set, or a key and a verdict of a map.
type element struct {
	key, verdict, comment string
	src                   source
}

// source is where something stands in the listing. It is a Line once asked for one,
// since most are not, and that of JSON is a copy.
type source struct {
	text collect.Line // of the text form
	json []byte       // of the JSON form: the element as nft printed it
}

func (s source) line() collect.Line {
	if s.json == nil {
		return s.text
	}
	var compact bytes.Buffer
	compact.Grow(len(s.json))
	_ = json.Compact(&compact, s.json) // it has been decoded, so it is valid
	return collect.Line{Text: compact.String()}
}

// isKubeProxy says whether the table is one that kube-proxy's nftables mode
// writes. Of any other table only the names of its chains are kept.
func (t *table) isKubeProxy() bool {
	return t.name == "kube-proxy" && (t.family == "ip" || t.family == "ip6")
}

// skip keeps what is not understood.
func (t *table) skip(src source) { t.unparsed = append(t.unparsed, src.line()) }

// skipAttribute keeps an attribute of the table that is not understood.
func (t *table) skipAttribute(src source) {
	t.unknown = append(t.unknown, src)
	t.skip(src)
}

// skipIn keeps what of a set is not understood.
func (t *table) skipIn(s *set, src source) {
	s.unknown = append(s.unknown, src)
	t.skip(src)
}

func (t *table) String() string { return "table " + t.family + " " + t.name }

func (r *ruleset) find(family, name string) *table {
	for _, t := range r.tables {
		if t.family == family && t.name == name {
			return t
		}
	}
	return nil
}

func newTable(family, name string, src source) *table {
	return &table{
		family: family, name: name, src: src,
		chainNamed: map[string]*chain{}, setNamed: map[string]*set{},
	}
}

// add appends a table. nft lists every name once; what does not is not the
// output of one nft.
func (r *ruleset) add(t *table) error {
	if r.find(t.family, t.name) != nil {
		return fmt.Errorf("%v is listed twice", t)
	}
	r.tables = append(r.tables, t)
	return nil
}

func (t *table) addChain(c *chain) error {
	if t.chainNamed[c.name] != nil {
		return fmt.Errorf("chain %s of %v is listed twice", c.name, t)
	}
	t.chainNamed[c.name] = c
	t.chains = append(t.chains, c)
	return nil
}

func (t *table) addSet(s *set) error {
	if t.setNamed[s.name] != nil {
		return fmt.Errorf("set or map %s of %v is listed twice", s.name, t)
	}
	t.setNamed[s.name] = s
	t.sets = append(t.sets, s)
	return nil
}

// elements returns what the set or map of a name holds.
func (t *table) elements(name string) []element {
	if s := t.setNamed[name]; s != nil {
		return s.elems
	}
	return nil
}
