package report

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/ipvs"
)

// stage is one step of a packet's path through a node's rules, quoted.
type stage struct {
	// what happens there, as Markdown.
	what string
	file string
	// lines of the file in its order.
	lines []quoted
	// encoding it belongs to.
	encoding string
	// passing: the lines are of connections, and every node has its own.
	passing bool
}

// quoted is a line as it stands in the file, and what it says in words where
// that helps. Two nodes that say the same have equal keys.
type quoted struct {
	collect.Line
	note, key string
	// height is how many lines of the file it takes where that is not one.
	height int
}

func quote(lines ...collect.Line) []quoted {
	var out []quoted
	for _, l := range lines {
		out = append(out, quoted{Line: l, key: l.Text})
	}
	return out
}

// inFile puts lines in the order of their file.
func inFile(lines []quoted) {
	slices.SortStableFunc(lines, func(a, b quoted) int { return cmp.Compare(a.Number, b.Number) })
}

// nftTextFile is what people read of the ruleset of nftables.
const nftTextFile = "nft-ruleset.txt"

// servicePath quotes what one table of a node has for its Service's frontends.
// Stages without lines are left out.
func servicePath(raw fs.FS, table collect.NodeTable, frontends []collect.Frontend) ([]stage, error) {
	var stages []stage
	var err error
	switch table.Encoding {
	case "iptables":
		stages, err = fromFile(raw, table.File, frontends, iptablesPath)
	case "nftables":
		// The JSON form has no lines; the text beside it is the same ruleset.
		stages, err = fromFile(raw, path.Join(path.Dir(table.File), nftTextFile), frontends, nftablesPath)
	case "ipvs":
		for _, part := range []struct {
			file string
			find func([]collect.Line, []collect.Frontend) []stage
		}{{path.Base(table.File), ipvsPath}, {ipvs.IPSetFile, ipsetPath}, {leftoverFile, masqueradeRules}} {
			more, partErr := fromFile(raw, path.Join(path.Dir(table.File), part.file), frontends, part.find)
			stages, err = append(stages, more...), errors.Join(err, partErr)
		}
	}
	return slices.DeleteFunc(stages, func(s stage) bool { return len(s.lines) == 0 }), err
}

func fromFile(raw fs.FS, file string, frontends []collect.Frontend, find func([]collect.Line, []collect.Frontend) []stage) ([]stage, error) {
	data, err := optional(raw, file)
	if err != nil {
		return nil, err
	}
	stages := find(linesOf(data), frontends)
	for i := range stages {
		stages[i].file = file
	}
	return stages, nil
}

func linesOf(data []byte) []collect.Line {
	var lines []collect.Line
	for text := range strings.Lines(string(data)) {
		lines = append(lines, collect.Line{Number: len(lines) + 1, Text: strings.TrimRight(text, "\r\n")})
	}
	return lines
}
