package progress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// relayMark begins every line of a relay: the same stream has other lines as well.
const relayMark = "@progress "

// event is one thing that a reporter shows.
type event struct {
	// Kind is begin, end, heading, note or detail.
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
	// Failed is set where a step ends that failed.
	Failed bool `json:"failed,omitempty"`
}

// NewRelay returns a reporter that shows nothing itself: it writes what there is
// to show as lines for a Player in another process.
func NewRelay(out io.Writer) *Reporter { return &Reporter{out: out, relay: true} }

// send writes an event; the reporter is locked.
func (r *Reporter) send(e event) {
	line, _ := json.Marshal(e) // strings and a bool
	fmt.Fprintf(r.out, "%s%s\n", relayMark, line)
}

// Player shows what a relay wrote, with this process's clock.
type Player struct {
	show *Reporter
	// end of the running step; nil where none runs.
	end  chan error
	done chan struct{}
}

// NewPlayer returns a player that shows through a reporter.
func NewPlayer(show *Reporter) *Player { return &Player{show: show} }

// Play shows a line of a relay. It returns false for any other line.
func (p *Player) Play(line string) bool {
	encoded, ok := strings.CutPrefix(line, relayMark)
	var e event
	if !ok || json.Unmarshal([]byte(encoded), &e) != nil {
		return false
	}
	switch e.Kind {
	case "begin":
		p.Stop(errors.New("another step began"))
		end, done := make(chan error, 1), make(chan struct{})
		p.end, p.done = end, done
		go func() {
			defer close(done)
			// The step's error is its own process's to explain.
			_ = p.show.Run(context.Background(), Step{Name: e.Text, Run: func(context.Context) error { return <-end }})
		}()
	case "end":
		var failed error
		if e.Failed {
			failed = errors.New("failed")
		}
		p.Stop(failed)
	case "heading":
		p.show.Heading("%s", e.Text)
	case "note":
		p.show.Note("%s", e.Text)
	case "detail":
		p.show.Detail("%s", e.Text)
	default:
		return false
	}
	return true
}

// Stop ends the running step, if there is one.
func (p *Player) Stop(err error) {
	if p.end == nil {
		return
	}
	p.end <- err
	<-p.done
	p.end = nil
}
