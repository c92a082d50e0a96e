package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"service-dataplane/internal/progress"
)

// words is how many of the console's last lines an error quotes.
const words = 12

// console is what a guest says, line by line.
type console struct {
	progress.LineWriter
	lines chan string // closed when the guest has ended
	// tail are the last lines that were no progress.
	tail []string
}

func newConsole() *console {
	c := &console{lines: make(chan string, 64)}
	c.Line = func(line string) { c.lines <- line }
	return c
}

// until reads up to a line that begins with word.
func (c *console) until(ctx context.Context, word string, limit time.Duration) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return fmt.Errorf("the guest ended before it said %q", word)
			}
			c.keep(line)
			if strings.HasPrefix(line, word) {
				return nil
			}
		case <-late.C:
			return fmt.Errorf("the guest did not say %q within %v", word, limit)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// replay shows the job's progress until the guest ends.
func (c *console) replay(show *progress.Reporter) {
	player := progress.NewPlayer(show)
	for line := range c.lines {
		if !player.Play(line) {
			c.keep(line)
		}
	}
	player.Stop(errors.New("the guest ended"))
}

// drain lets a guest end that nobody listens to any more.
func (c *console) drain() {
	for line := range c.lines {
		c.keep(line)
	}
}

// keep remembers a line without what moves a terminal's cursor.
func (c *console) keep(line string) {
	line = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, line))
	if line == "" {
		return
	}
	c.tail = append(c.tail, line)
	if len(c.tail) > words {
		c.tail = c.tail[1:]
	}
}
