package conntrack

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Stats are the counters of connection tracking in one network namespace since
// it was made.
type Stats struct {
	CPUs int
	// Counters by name ("insert_failed", "drop", …), summed over the CPUs; which
	// ones exist depends on the kernel.
	Counters map[string]uint64
}

// DecodeStats reads the output of `conntrack -S` (conntrack-tools 1.4.7): a line
// a CPU. An error names the line that is none; no line at all is an error.
func DecodeStats(raw []byte) (Stats, error) {
	stats := Stats{Counters: map[string]uint64{}}
	seen := map[string]bool{}
	number := 0
	for text := range strings.Lines(string(raw)) {
		number++
		if err := stats.add(strings.Fields(text), seen); err != nil {
			return Stats{}, fmt.Errorf("conntrack -S line %d: %q: %w", number, strings.TrimSpace(text), err)
		}
	}
	if stats.CPUs == 0 {
		return Stats{}, errors.New("conntrack -S: no CPU's counters")
	}
	return stats, nil
}

func (s *Stats) add(words []string, seen map[string]bool) error {
	if len(words) == 0 || !strings.HasPrefix(words[0], "cpu=") {
		return errors.New(`does not begin with "cpu="`)
	}
	if seen[words[0]] {
		return errors.New("the CPU is counted above")
	}
	seen[words[0]] = true
	s.CPUs++
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		count, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
		s.Counters[name] += count
	}
	return nil
}
