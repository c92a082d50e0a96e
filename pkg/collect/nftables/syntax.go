package nftables

import (
	"strconv"
	"strings"
	"time"
)

// words splits nft's syntax at blanks. A quoted string is one word, and so is
// what stands in braces; "," and ";" are words of their own.
func words(s string) []string {
	var out []string
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return out
		}
		n := len(s)
		switch s[0] {
		case ',', ';', '}':
			n = 1
		case '"':
			n = lengthTo(s, '"')
		case '{':
			n = lengthTo(s, '}')
		default:
			if end := strings.IndexAny(s, " \t,;{}\""); end >= 0 {
				n = end
			}
		}
		out = append(out, s[:n])
		s = s[n:]
	}
}

// lengthTo is the length of what s begins with, up to the byte that ends it.
func lengthTo(s string, end byte) int {
	if i := strings.IndexByte(s[1:], end); i >= 0 {
		return i + 2
	}
	return len(s)
}

// openBraces is how many braces s opens and does not close.
func openBraces(s string) int {
	open := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i += lengthTo(s[i:], '"') - 1 // nft has no escapes
		case '{':
			open++
		case '}':
			open--
		}
	}
	return open
}

// items splits what stands in braces at the commas.
func items(braced string) ([]string, bool) {
	inner, opened := strings.CutPrefix(braced, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	return strings.Split(inner, ","), opened && closed
}

// seconds reads a time as nft prints it: 3h, 1d12h, 2h59m59s944ms.
func seconds(s string) (int, bool) {
	days := 0
	if number, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return 0, false
		}
		days, s = int(n), "0"+rest
	}
	d, err := time.ParseDuration(s)
	return days*86400 + int(d/time.Second), err == nil && d >= 0
}

// parseElement reads "KEY", or in a map "KEY : VERDICT". Between them stand
// the element's comment and, in an affinity set, how long it lives.
func parseElement(s string) (element, bool) {
	var (
		e   element
		key []string
		f   = words(s)
	)
	for i := 0; i < len(f); i++ {
		hasValue := i+1 < len(f)
		switch {
		case f[i] == ":":
			e.key, e.verdict = strings.Join(key, " "), strings.Join(f[i+1:], " ")
			return e, e.verdict != ""
		case f[i] == "comment" && hasValue:
			i++
			e.comment = strings.Trim(f[i], `"`)
		case (f[i] == "timeout" || f[i] == "expires") && hasValue:
			i++
		default:
			key = append(key, f[i])
		}
	}
	e.key = strings.Join(key, " ")
	return e, e.key != ""
}
