package page

import "strings"

// font tells how wide a letter is, in units of the drawing. It is that of a wide
// face: in a reader's own, words take less.
type font func(r rune) float64

// mono are names and addresses, sans all else.
var (
	mono = font(func(r rune) float64 {
		if r > 0x2100 {
			return 13
		}
		return 6.75
	})
	sans  = proportional(12)
	small = proportional(11.5)
)

func proportional(size float64) font {
	return func(r rune) float64 {
		of := .62
		switch {
		case r > 0x2100:
			of = 1.1
		case strings.ContainsRune(" !'(),-./:;I[]fijlrt|", r):
			of = .41
		case strings.ContainsRune("+<=>#~mwMOQW@%&", r):
			of = .95
		case r >= 'A' && r <= 'Z', r > 0x7f:
			of = .75
		}
		return of * size
	}
}

func (f font) width(text string) (sum float64) {
	for _, r := range text {
		sum += f(r)
	}
	return sum
}

// clip leaves of a text what there is room for.
func (f font) clip(text string, room int) string {
	if f.width(text) <= float64(room) {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && f.width(string(runes)+"…") > float64(room) {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// wrap breaks a text into lines there is room for: behind a mark that ends a part
// of a name where there is one, else within it.
func (f font) wrap(text string, room int) []string {
	var lines []string
	rest := []rune(strings.TrimSpace(text))
	for f.width(string(rest)) > float64(room) {
		most := 1
		for most < len(rest) && f.width(string(rest[:most+1])) <= float64(room) {
			most++
		}
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
