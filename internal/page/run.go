package page

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/report"
	"service-dataplane/internal/results"
	"service-dataplane/pkg/collect"
)

// run is a section of the page.
type run struct {
	ID, Name, Title string
	// Dir leads to the result directory.
	Dir     string
	Overall verdict
	Tally   []tally
	// Elsewhere says of evidence that no run of this program made what it is.
	Elsewhere, Guest string
	Shown            []fact
	Said             []finding
	Paths            []way
	NotWalked        []finding
	Entries          []entry
	Checks           []check
	Provenance       []fact
	Problems         []finding
}

// source is what a section is made from, and where its files are.
type source struct {
	report.IndexEntry
	id      string
	letters report.Letters
	gone    map[string]bool
}

func runOf(r report.IndexEntry, id string, shown, recorded []fact) run {
	s := source{r, id, report.LettersOf(r.Evidence.Objects), map[string]bool{}}
	for _, p := range r.Evidence.Problems {
		s.gone[p.File] = r.Run.Imported != nil && p.Text == evidence.NeverCollected
	}
	view := run{
		ID: id, Name: report.Name(r), Title: r.Run.Scenario.Metadata.Title, Dir: escaped(r.Dir) + "/",
		Overall: overall(r.Checks), Tally: tallies(r.Checks), Elsewhere: elsewhere(r.Run.Imported), Guest: guest(r.Run.Guest),
		Shown: shown, Checks: s.checks(r.Checks), Provenance: provenance(r.Run, recorded),
	}
	if r.Run.Experiment.Spec.Refusal != nil {
		view.Shown, view.Said = nil, s.said()
	}
	view.Paths, view.NotWalked = s.paths()
	for _, p := range r.Evidence.Traffic {
		view.Entries = append(view.Entries, s.entry(p))
	}
	for _, p := range r.Evidence.Problems {
		view.Problems = append(view.Problems, finding{p.Node, p.Text, s.line(collect.Ref{File: p.File})})
	}
	return view
}

// href leads to a raw file.
func (s source) href(file string) string {
	if s.gone[file] {
		return ""
	}
	return escaped(path.Join(s.Dir, results.RawDir, file))
}

// escaped is a way below the page, in which no part is taken for a scheme.
func escaped(file string) string {
	segments := strings.Split(file, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return "./" + strings.Join(segments, "/")
}

func elsewhere(i *results.Imported) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf("No run of this program made this evidence. It was recorded on %s on %s, and imported by the map %s. How the commands ended and how long they took is not known; a check that needs a file which was not recorded is skipped.",
		i.Recorded.UTC().Format("2006-01-02 at 15:04:05 UTC"), i.On, i.Map)
}

func guest(g *results.Guest) string {
	if g == nil {
		return ""
	}
	text := fmt.Sprintf("The nodes ran on kernel %s in a virtual machine of %s (%s)", g.KernelRelease, g.Emulator, g.Accelerator)
	if g.Accelerator != "kvm" {
		text += ": its times say nothing of speed"
	}
	return text + "."
}

// said is what an operator says of each of its components.
func (s source) said() []finding {
	var all []finding
	if c := s.Evidence.Mode.Calico; c != nil {
		for _, component := range c.Components {
			all = append(all, finding{component.Name, component.State.Value, s.line(component.State.Ref)})
		}
	}
	return all
}

// provenance is what a run was made with. Of evidence that was recorded elsewhere
// that is not known.
func provenance(r results.Run, recorded []fact) []fact {
	all := recorded
	add := func(name, value string) {
		if value != "" {
			all = append(all, fact{name, []string{value}, true})
		}
	}
	if i := r.Imported; i != nil {
		add("Map", i.Map)
		add("SHA-256 of the map", i.SHA256)
		return all
	}
	revision := r.Harness.Revision
	if r.Harness.Modified {
		revision += ", modified"
	}
	add("Revision", revision)
	add("Command", strings.Join(r.Argv, " "))
	if r.DataPlane != nil {
		add("Installed", r.DataPlane.Name+" "+r.DataPlane.Version)
	}
	add("Node image", r.Image.Reference)
	add("Workload", r.Workload.Reference)
	if h := r.Host; h.OS != "" {
		add("Host", fmt.Sprintf("%s, %s, %s, kernel %s", h.OS, h.Arch, plural(h.CPUs, "CPU"), h.KernelRelease))
	}
	return all
}
