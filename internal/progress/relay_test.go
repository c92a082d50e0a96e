package progress

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestRelayedIsShownAsHere: what a relay writes and a player plays looks as if it
// had run in this process, times aside.
func TestRelayedIsShownAsHere(t *testing.T) {
	script := func(r *Reporter) {
		r.Heading("service-path on %s", "ipvs")
		r.Note("100%% of it")
		_ = r.Run(t.Context(),
			Step{"create", func(context.Context) error { r.Detail("half"); return nil }},
			Step{"collect", func(context.Context) error { return errors.New("broken") }},
		)
	}
	var lines, played, direct strings.Builder
	script(NewRelay(&lines))
	player := NewPlayer(New(&played, false))
	for line := range strings.Lines("SeaBIOS\n" + lines.String()) {
		if ours := player.Play(strings.TrimSpace(line)); ours == strings.HasPrefix(line, "SeaBIOS") {
			t.Errorf("%q is played: %v", line, ours)
		}
	}
	script(New(&direct, false))
	if without(played.String()) != without(direct.String()) {
		t.Errorf("played:\n%swant:\n%s", played.String(), direct.String())
	}
}

// without times at the ends of lines.
func without(shown string) string {
	lines := strings.Split(shown, "\n")
	for i, line := range lines {
		if cut := strings.LastIndex(strings.TrimSuffix(line, " s"), " "); strings.HasSuffix(line, " s") {
			lines[i] = strings.TrimSpace(line[:cut])
		}
	}
	return strings.Join(lines, "\n")
}

// TestPlayerStops: a process that dies in a step leaves it failed, not running.
func TestPlayerStops(t *testing.T) {
	var out strings.Builder
	show := New(&out, false)
	player := NewPlayer(show)
	player.Play(relayMark + `{"kind":"begin","text":"create"}`)
	player.Play(relayMark + `{"kind":"begin","text":"collect"}`)
	player.Stop(errors.New("the guest ended"))
	player.Stop(nil) // nothing runs any more
	if got := show.Timings(); len(got) != 2 || !got[0].Failed || !got[1].Failed {
		t.Errorf("timings %+v, want two failed steps", got)
	}
}

// FuzzPlay: lines come from a console that other programs write to as well.
func FuzzPlay(f *testing.F) {
	for _, line := range []string{"", "@progress", relayMark, relayMark + "{}", relayMark + `{"kind":"end","failed":true}`, relayMark + `{"kind":"begin","text":"x"}`, "[    0.1] " + relayMark} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var out strings.Builder
		player := NewPlayer(New(&out, false))
		ours := player.Play(line)
		player.Stop(nil)
		if !ours && out.Len() > 0 {
			t.Errorf("%q is not played and shows %q", line, out.String())
		}
		if ours && !strings.HasPrefix(line, relayMark) {
			t.Errorf("%q is played", line)
		}
	})
}
